// The worker that all tabs of the console share: one stream for each watch, whatever the number of tabs that read it, and one count of each
// list. It has no rights of its own: a stream is that of the token with which it was opened, and only tabs that sent the same token read it.

import { Counts } from './counts.js'
import { Gateway, internals } from './revtail.js'

const { dialectOf, openStream } = internals

const mostLines = 20_000 // of a stream that are kept for tabs that join it, and their characters
const mostChars = 16 << 20
const mostUnread = 8 << 20 // characters that a tab has not acknowledged: above it the tab is cut off, and resumes
const pingEvery = 15_000 // ms
const patience = 60_000 // ms without a word from a tab

const streams = new Map() // from their keys, with what a tab asked for, to the streams that are open
const tabs = new Set()
const counts = new Counts()

const plain = (error) => ({ ...error, message: error.message }) // that can be sent to a tab

/** Stream is one watch of the gateway, and the tabs that read it. */
class Stream {
  #log = [] // {revision, line}: what has come after `from`
  #chars = 0
  #readers = new Set()
  #ending = new AbortController()
  #open = false

  constructor(key, { url, token, transport, path, query, accept, since, silence }) {
    this.key = key
    this.from = since
    this.path = path
    const gateway = new Gateway({ url, token, transport })
    this.#run(openStream(gateway, path, { query, accept, silence, signal: this.#ending.signal }))
  }

  async #run(batches) {
    const dialect = dialectOf(this.path)
    let failure
    try {
      for await (const lines of batches) {
        this.#open = true
        for (const line of lines) this.#keep(line, dialect)
        for (const reader of this.#readers) reader.send(lines)
      }
    } catch (error) {
      failure = error
    }
    this.#leave()
    for (const reader of this.#readers) reader.end(failure)
  }

  #keep(line, dialect) {
    const { revision } = dialect.event(line)
    if (revision === undefined) return
    this.#log.push({ revision, line })
    this.#chars += line.length
    if (this.#log.length <= mostLines && this.#chars <= mostChars) return
    for (const dropped of this.#log.splice(0, Math.ceil(this.#log.length / 4))) {
      this.#chars -= dropped.line.length
      this.from = dropped.revision
    }
  }

  /** join gives a reader what has come since its revision; what it has already is the reader's to skip. */
  join(reader) {
    this.#readers.add(reader)
    if (!this.#open) return
    const first = this.#log.findIndex(({ revision }) => revision >= reader.since)
    reader.send(first < 0 ? [] : this.#log.slice(first).map(({ line }) => line))
  }

  leave(reader) {
    this.#readers.delete(reader)
    if (this.#readers.size) return
    this.#ending.abort()
    this.#leave()
  }

  #leave() {
    const others = (streams.get(this.key) ?? []).filter((each) => each !== this)
    if (others.length) streams.set(this.key, others)
    else streams.delete(this.key)
  }
}

/** keyOf tells streams apart: by the token first, and by everything else but the revision after which they begin. */
function keyOf({ url, token, transport, path, query, accept }) {
  const { since, resourceVersion, ...rest } = query
  return JSON.stringify([token, url, transport, path, accept, Object.entries(rest).sort()])
}

/** Reader is one watch of one tab. */
class Reader {
  #unread = 0

  constructor(tab, id, wanted) {
    this.tab = tab
    this.id = id
    this.since = wanted.since
    const key = keyOf(wanted)
    const shared = (streams.get(key) ?? []).find((stream) => stream.from <= wanted.since)
    this.stream = shared ?? new Stream(key, wanted)
    if (!shared) streams.set(key, [...streams.get(key) ?? [], this.stream])
    this.stream.join(this)
  }

  send(lines) {
    this.#unread += lines.reduce((sum, line) => sum + line.length, 0)
    this.tab.port.postMessage({ lines, id: this.id })
    if (this.#unread > mostUnread) this.end()
  }

  read(chars) {
    this.#unread -= chars
  }

  end(error) {
    this.tab.port.postMessage({ end: true, id: this.id, error: error && plain(error) })
    this.close()
  }

  close() {
    this.stream.leave(this)
    this.tab.readers.delete(this.id)
  }
}

/** Tab is a tab, by its port. */
class Tab {
  readers = new Map()
  #heard = performance.now()

  constructor(port) {
    this.port = port
    port.onmessage = ({ data }) => this.#take(data)
    port.addEventListener('close', () => this.close()) // not in every browser: pings find the others
    port.postMessage({ hello: true })
  }

  #take({ id, open, close, read, count, bye }) {
    this.#heard = performance.now()
    tabs.add(this)
    if (open) this.readers.set(id, new Reader(this, id, open))
    if (read) this.readers.get(id)?.read(read)
    if (close) this.readers.get(id)?.close()
    if (count) this.#count(id, count)
    if (bye) this.close()
  }

  async #count(id, { url, token, path, revision }) {
    const gateway = new Gateway({ url, token })
    try {
      this.port.postMessage({ id, answer: await (path ? counts.count(gateway, path, revision) : counts.newest(gateway)) })
    } catch (error) {
      this.port.postMessage({ id, failure: plain(error) })
    }
  }

  ping() {
    if (performance.now() - this.#heard > patience) this.close()
    else this.port.postMessage({ ping: true })
  }

  /** close ends what the tab reads. A tab that was only frozen learns it when it goes on, and opens its streams again. */
  close() {
    tabs.delete(this)
    for (const reader of [...this.readers.values()]) reader.end()
  }
}

setInterval(() => { for (const tab of tabs) tab.ping() }, pingEvery)
addEventListener('connect', ({ ports: [port] }) => tabs.add(new Tab(port)))
