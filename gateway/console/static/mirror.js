// The state of a source, as far as its frames have told: what the table shows.

import { matcher } from './view.js'

/** Mirror holds items by id. A list that was longer than the page wants to hold is cut: what comes after its last id is not held. */
export class Mirror {
  constructor(most) {
    this.most = most // items
  }

  items = new Map()
  revision = 0
  generation = 0 // how often everything was replaced
  last // the last id that is held; undefined: all are
  total // how many there were when the list was cut, if that is known
  #changed = new Set() // ids, since they were taken

  reset({ items, revision, more, remaining }) {
    this.items = new Map(items.map((item) => [item.id, item]))
    this.revision = revision
    this.last = more ? items.at(-1)?.id : undefined
    this.total = remaining === undefined ? undefined : items.length + remaining
    this.generation++
    this.#changed.clear()
  }

  /** takeChanges are the ids of what has changed since the call before. */
  takeChanges() {
    const changed = this.#changed
    this.#changed = new Set()
    return changed
  }

  /** apply takes a frame over; an item that it replaces is marked as gone. It returns false when the frame tells nothing new. */
  apply(frame) {
    this.revision = Math.max(this.revision, frame.revision)
    if (frame.type === 'mark') return false
    const { item } = frame
    const held = this.items.get(item.id)
    const beyond = this.last !== undefined && item.id > this.last
    if (frame.type === 'deleted') {
      if (held ? held.revision >= frame.revision : !beyond) return false
      frame.before ??= held
      if (held) {
        held.gone = true
        this.items.delete(item.id)
        this.#changed.add(item.id)
      }
      return true
    }
    if (held && held.revision >= item.revision) return false
    frame.before ??= held
    if (beyond && !held) return true
    if (held) held.gone = true
    this.items.set(item.id, item)
    this.#changed.add(item.id)
    if (this.items.size > this.most * 1.1) this.#cut()
    return true
  }

  #cut() {
    const kept = this.sorted().slice(0, this.most)
    this.items = new Map(kept.map((each) => [each.id, each]))
    this.last = kept.at(-1).id
    this.total = undefined
    this.generation++
  }

  /** sorted is every item, by id. */
  sorted() {
    return [...this.items.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
  }
}

let [matched, pattern] = ['', () => true]

/** matches tells whether an item holds a text, in its name or in its value. */
export function matches(item, text) {
  if (text !== matched) [matched, pattern] = [text, matcher(text)]
  return pattern(item)
}
