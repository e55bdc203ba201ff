// What a gateway with --history-dir has recorded of objects: their changes, and how many there were when.

import { request } from './api.js'
import { Origin } from './origin.js'
import { internals, RevtailError } from './revtail.js'

const { inNamespace, members } = internals

const atOnce = 100 // changes that are asked for at most, of large objects less: as many states are in one answer
const characters = 8 << 20 // of them

/** where is a resource, and what of it, as parameters of the history. `path` is the URL path of its list, with or without a namespace. */
export function where(path, { namespace, name } = {}) {
  const parts = /^\/apis?\/(?:([^/]+)\/)?(v[^/]+)\/(?:namespaces\/[^/]+\/)?([^/]+)$/.exec(path)
  const [, group, version, resource] = parts ?? []
  return { resource, group, version, namespace, name }
}

const timeOf = (text) => (text === undefined ? undefined : Date.parse(text))

/** lines reads an answer: {changes, counts, gaps, end}. A response whose last line is not END is not complete, and an error. */
async function lines(query, signal) {
  const { text } = await request('/v1/history?' + new URLSearchParams(Object.entries(query).filter(([, value]) => value !== undefined)), { accept: 'application/x-ndjson, application/json', signal })
  const read = { changes: [], counts: [], gaps: [], end: undefined }
  for (const line of text.split('\n')) {
    if (!line) continue
    const { object, previous, ...rest } = members(line)
    const { type, ...fields } = Object.fromEntries(Object.entries(rest).map(([name, text]) => [name, JSON.parse(text)]))
    if (type === 'ERROR') throw RevtailError.of(0, object)
    if (type === 'END') read.end = { ...fields, time: timeOf(fields.oldestTime) }
    else if (type === 'GAP') read.gaps.push({ type, ...fields })
    else if (type === 'COUNT') read.counts.push({ ...fields, time: timeOf(fields.time), lastTime: timeOf(fields.lastTime) })
    else read.changes.push({ type, ...fields, time: timeOf(fields.time), object, previous })
  }
  if (!read.end) throw new RevtailError(0, 'ConnectionLost', 'the answer of the gateway was cut off')
  return read
}

/** counts is how many changes there were: {counts: [{time, changes, first, last, lastTime}], gaps, end}. length is that of an interval, as 20m. */
export const counts = (what, { length, since, limit }, signal) => lines({ ...what, count: length, since, limit }, signal)

/** Changes are the recorded changes of one object, newest first. Gaps are among them. */
export class Changes {
  end // what is recorded: {oldest, time}
  complete = false // there is nothing older that is recorded
  #origin
  #what
  #newest = 0 // everything up to this revision has been read
  #until // the next older changes end here
  #most // changes that are asked for
  #width // revisions of a window: one of #most revisions has no more changes of one object
  #gaps = new Set()

  constructor(origin) {
    this.#origin = origin
    this.#what = where(origin.collection, { namespace: origin.item.namespace, name: origin.item.name })
    this.#width = this.#most = Math.max(4, Math.min(atOnce, Math.floor(characters / (origin.item.text?.length ?? 1))))
  }

  /** older reads at least `least` changes more, unless there are less. It goes back window by window, so that an answer has few states. */
  async older(least, signal) {
    const found = []
    this.#until ??= (await lines({ ...this.#what, since: '-1s', limit: 1 }, signal)).end.through
    while (found.filter((each) => each.type !== 'GAP').length < least && !this.complete) {
      const since = Math.max(1, this.#until - this.#width + 1)
      const read = await lines({ ...this.#what, since, until: this.#until, limit: this.#most }, signal)
      if (read.end.next) {
        this.#width = Math.max(this.#most, Math.floor(this.#width / 8))
        continue
      }
      this.end = read.end
      this.#newest ||= this.#until
      found.push(...this.#inOrder(read))
      this.#until = since - 1
      if (read.changes.length < this.#most / 4) this.#width *= 4
      this.complete = since <= read.end.oldest + 1
    }
    return found
  }

  /** newer reads what has happened since; undefined: that is too much, and the list is to be read anew. */
  async newer(signal) {
    const read = await lines({ ...this.#what, since: this.#newest + 1, limit: this.#most }, signal)
    if (read.end.next) return undefined
    this.#newest = Math.max(this.#newest, read.end.through)
    return this.#inOrder(read)
  }

  /** at is the change at a revision with the state before: {item, before}; undefined: none is recorded. */
  async at(revision, signal) {
    const { changes: [change] } = await lines({ ...this.#what, since: revision, until: revision, previous: true }, signal)
    return change && this.#change(change)
  }

  /** last is the newest change, with the state before; undefined: none is recorded. */
  async last(signal) {
    const [change] = (await this.older(1, signal)).filter((each) => each.type !== 'GAP')
    return change && this.at(change.revision, signal)
  }

  #change({ object, previous, ...change }) {
    return { ...change, item: object && this.#origin.source.item(object), before: previous && this.#origin.source.item(previous) }
  }

  #inOrder({ changes, gaps }) {
    const news = gaps.filter((gap) => !this.#gaps.has(gap.until))
    for (const gap of news) this.#gaps.add(gap.until)
    const order = (each) => (each.type === 'GAP' ? each.until : each.revision)
    return [...changes.map((each) => this.#change(each)), ...news].sort((a, b) => order(b) - order(a))
  }
}

/** recalled is the last state of an object that was deleted: {item, revision, time} with those of the deletion; undefined: none is recorded. */
export async function recalled(source, id) {
  if (source.kind !== 'resource') return undefined
  const [name, namespace] = id.split('/').reverse()
  const path = (namespace ? inNamespace(source.resource, namespace) : source.resource) + '/' + encodeURIComponent(name)
  const last = await new Changes(new Origin(source, { id, name, namespace, path })).last()
  const item = last?.before ?? last?.item
  return last?.type === 'DELETED' && item ? { item, revision: last.revision, time: last.time } : undefined
}
