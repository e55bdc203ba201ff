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
  #next // the revision of the next older change; undefined: the newest one
  #most // changes that are asked for
  #gaps = new Set()

  constructor(origin) {
    this.#origin = origin
    this.#what = where(origin.collection, { namespace: origin.item.namespace, name: origin.item.name })
    this.#most = Math.max(4, Math.min(atOnce, Math.floor(characters / (origin.item.text?.length ?? 1))))
  }

  /** older reads `count` changes more, unless there are less. */
  async older(count, signal) {
    const found = []
    for (let left = count; left > 0 && !this.complete; ) {
      const read = await lines({ ...this.#what, until: this.#next, order: 'desc', limit: Math.min(left, this.#most) }, signal)
      this.end = read.end
      this.#newest ||= read.end.through
      this.#next = read.end.next
      this.complete = !read.end.next
      left -= read.changes.length
      found.push(...this.#inOrder(read))
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
    const { changes: [change] } = await lines({ ...this.#what, order: 'desc', limit: 1, previous: true }, signal)
    return change && this.#change(change)
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
