package gateway

// add begins to serve a watch.
func (w *eventLoop) add(wt *session, l conn) {
	wt.stream = nil
	c := &client{session: wt, conn: l, loop: w, next: wt.nextBookmark(), heapIndex: unscheduled}
	wt.watcher.Attach(w.ready, c)
	w.post(func() {
		wt.registration.setLoop(c) // here, and not before: the writer may give it back at once
		w.join(c)
	})
}

// join begins with a client.
func (w *eventLoop) join(c *client) {
	w.tag++
	c.tag = w.tag
	w.clients[c.tag] = c
	w.schedule.put(c)
	if c.conn.join(w, c) {
		w.serve(c)
	}
}

// release lets a goroutine go on with a client: etcd's history must be read, and that takes waiting.
func (w *eventLoop) release(c *client) {
	w.remove(c)
	c.session.watcher.Detach()
	if err := c.conn.release(w, c.session); err != nil {
		c.session.close(err)
	}
}

// close ends a client; without an error, all it got is complete.
func (w *eventLoop) close(c *client, err error) {
	if c.closed {
		return
	}
	w.remove(c)
	c.session.close(err)
	c.conn.close(err) // a handler may return now
}

func (w *eventLoop) remove(c *client) {
	c.closed, c.unsent = true, nil
	delete(w.clients, c.tag)
	w.schedule.remove(c)
}

// recoverSession keeps a mistake of ours from ending more than one stream.
func (w *eventLoop) recoverSession(c *client) {
	if reason := recover(); reason != nil {
		logPanic(w.pool.logger, reason, "path", c.session.counters.path)
		w.close(c, errInternal)
	}
}
