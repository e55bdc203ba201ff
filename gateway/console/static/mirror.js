// The state of a source, as far as its frames have told: what the table shows.

/** Mirror holds items by id. A list that was longer than the page wants to hold is cut: what comes after its last id is not held. */
export class Mirror {
  constructor(most) {
    this.most = most // items
  }

  items = new Map()
  revision = 0
  last // the last id that is held; undefined: all are
  #sorted

  reset({ items, revision, more }) {
    this.items = new Map(items.map((item) => [item.id, item]))
    this.revision = revision
    this.last = more ? items.at(-1)?.id : undefined
    this.#sorted = undefined
  }

  /** apply takes a frame over. It returns false when the frame tells nothing new: revisions come again where a watch resumes. */
  apply(frame) {
    this.revision = Math.max(this.revision, frame.revision)
    if (frame.type === 'mark') return false
    const { item } = frame
    const held = this.items.get(item.id)
    const beyond = this.last !== undefined && item.id > this.last
    if (frame.type === 'deleted') {
      if (held ? held.revision >= frame.revision : !beyond) return false
      frame.old ??= held?.value
      if (held) {
        this.items.delete(item.id)
        this.#sorted = undefined
      }
      return true
    }
    if (held && held.revision >= item.revision) return false
    frame.old ??= held?.value
    if (beyond && !held) return true
    if (!held) this.#sorted = undefined
    this.items.set(item.id, item)
    if (this.items.size > this.most * 1.1) this.#cut()
    return true
  }

  #cut() {
    const kept = this.sorted().slice(0, this.most)
    this.items = new Map(kept.map((each) => [each.id, each]))
    this.last = kept.at(-1).id
    this.#sorted = undefined
  }

  /** sorted is every item, by id. */
  sorted() {
    this.#sorted ??= [...this.items.keys()].sort((a, b) => (a < b ? -1 : 1))
    return this.#sorted.map((id) => this.items.get(id))
  }
}

/** matches tells whether an item holds a text, in its name or in its value. */
export function matches(item, text) {
  if (!text) return true
  item.search ??= (item.id + '\n' + (typeof item.value === 'string' ? item.value : JSON.stringify(item.value))).toLowerCase()
  return item.search.includes(text)
}
