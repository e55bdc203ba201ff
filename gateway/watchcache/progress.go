package watchcache

import "time"

// progressPeriod is the time between two log lines of a fill. A shorter one has none.
const progressPeriod = 5 * time.Second

// Progress is how far a fill has come.
type Progress struct {
	Began time.Time // zero: the cache is not being filled
	Read  int       // objects
	Of    int       // all of them; zero: unknown
}

// progress reports the progress of a fill in the log and in Stats.
type progress struct {
	cache  *Cache
	logged time.Time
}

func (c *Cache) startProgress() *progress {
	p := &progress{c, time.Now()}
	p.set(Progress{Began: p.logged})
	return p
}

func (p *progress) set(now Progress) {
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	p.cache.counters.Filling = now
}

// add counts objects that have been read, before the remaining ones.
func (p *progress) add(objects, remaining int) {
	now := p.cache.Stats().Filling
	now.Read += objects
	now.Of = now.Read + remaining
	p.set(now)
	if time.Since(p.logged) >= progressPeriod {
		p.logged = time.Now()
		p.cache.config.Logger.Info("cache filling", "prefix", p.cache.config.Prefix, "objects", now.Read, "of", now.Of, "seconds", int(time.Since(now.Began).Seconds()))
	}
}

func (p *progress) end() { p.set(Progress{}) }
