// What of a state the table shows: the items that hold a text, in an order. Each change costs a pass over what is shown; another text or order
// is worked out in slices, while what was shown before stays.

import { compareKeys, sortKey } from './columns.js'
import { pause } from './follow.js'

const slice = 8 // ms of work at a time
const run = 1_000 // items that are sorted at once
const few = 1_000 // items that are worked out at once

const byId = (a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)

/** matcher tells whether an item holds a text, in its name or in its value, whatever the case of the letters. */
export function matcher(text) {
  if (!text) return () => true
  const pattern = new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'iu')
  return (item) => pattern.test(item.id) || (item.text !== undefined && pattern.test(item.text))
}

/** orderOf makes the comparison of an order {column, descending}; undefined is by id. What is equal is in the order of the ids. */
function orderOf(order) {
  if (!order) return { key: () => undefined, compare: byId }
  const { column, descending } = order
  const sign = descending ? -1 : 1
  const mark = {} // of this order: an item remembers one key
  const key = (item) => {
    if (item.keyOf !== mark) [item.keyOf, item.key] = [mark, sortKey(item, column)]
    return item.key
  }
  return {
    key,
    compare(a, b) {
      const [x, y] = [key(a), key(b)]
      if (x === undefined || y === undefined) return compareKeys(x, y) || byId(a, b) // those without a value are last in both directions
      return sign * compareKeys(x, y) || byId(a, b)
    },
  }
}

/** View shows a state, a Mirror. onReady() is called when what was asked for has been worked out. */
export class View {
  rows = []
  #state
  #wanted = {} // {text, order, generation} that rows are of, or are being worked out for
  #matches = () => true
  #compare = byId
  #job = 0 // the number of the last one
  #building = false
  #onReady

  constructor(onReady) {
    this.#onReady = onReady
  }

  /** busy tells whether rows are of what was asked for before. */
  get busy() {
    return this.#building
  }

  /** show returns the rows of a state that hold a text, in an order: at once those of before, if it takes longer. */
  show(state, { text = '', order } = {}) {
    const wanted = { text, order, generation: state.generation }
    const same = state === this.#state && Object.keys(wanted).every((name) => wanted[name] === this.#wanted[name])
    if (!same) {
      if (state !== this.#state || wanted.generation !== this.#wanted.generation) this.rows = []
      this.#state = state
      this.#wanted = wanted
      this.#matches = matcher(text)
      if (state.items.size > few) this.#build(orderOf(order))
      else this.#buildNow(orderOf(order))
    } else if (!this.busy) {
      this.#update(state.takeChanges())
    }
    return this.rows
  }

  /** #update takes changed items out and puts them where they belong now. */
  #update(ids) {
    if (!ids.size) return
    const fresh = []
    for (const id of ids) {
      const item = this.#state.items.get(id)
      if (item && this.#matches(item)) fresh.push(item)
    }
    fresh.sort(this.#compare)
    this.rows = merged(this.rows, fresh, this.#compare)
  }

  #buildNow({ compare }) {
    this.#job++
    this.#building = false
    this.#compare = compare
    this.#state.takeChanges()
    this.rows = [...this.#state.items.values()].filter(this.#matches).sort(compare)
  }

  async #build({ key, compare }) {
    const job = ++this.#job
    this.#building = true
    let began = performance.now()
    const breathe = async () => {
      if (performance.now() - began < slice) return true
      await pause()
      began = performance.now()
      return this.#job === job
    }
    const done = await this.#work(key, compare, breathe)
    if (!done || this.#job !== job) return
    this.#building = false
    this.#compare = compare
    this.rows = done
    this.#update(this.#state.takeChanges())
    this.#onReady()
  }

  /** #work filters and sorts all items; undefined: something else is wanted meanwhile. */
  async #work(key, compare, breathe) {
    this.#state.takeChanges()
    const found = []
    let n = 0
    for (const item of [...this.#state.items.values()]) {
      if (this.#matches(item)) {
        key(item)
        found.push(item)
      }
      if (++n % 50 === 0 && !await breathe()) return undefined
    }
    let runs = []
    for (let from = 0; from < found.length; from += run) {
      runs.push(found.slice(from, from + run).sort(compare))
      if (!await breathe()) return undefined
    }
    while (runs.length > 1) {
      const next = []
      for (let i = 0; i < runs.length; i += 2) {
        next.push(runs[i + 1] ? await mergedSlowly(runs[i], runs[i + 1], compare, breathe) : runs[i])
        if (!next.at(-1)) return undefined
      }
      runs = next
    }
    return runs[0] ?? []
  }
}

/** merged is a sorted list without the items that are gone, with a short sorted list put in. */
function merged(rows, fresh, compare) {
  const out = []
  let from = 0
  const copy = (end) => {
    for (; from < end; from++) if (!rows[from].gone) out.push(rows[from])
  }
  for (const item of fresh) {
    let [low, high] = [from, rows.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (compare(rows[middle], item) < 0) low = middle + 1
      else high = middle
    }
    copy(low)
    if (rows[from] === item) from++
    out.push(item)
  }
  copy(rows.length)
  return out
}

async function mergedSlowly(a, b, compare, breathe) {
  if (compare(a.at(-1), b[0]) <= 0) return a.concat(b)
  const out = []
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    out.push(j === b.length || (i < a.length && compare(a[i], b[j]) <= 0) ? a[i++] : b[j++])
    if (out.length % run === 0 && !await breathe()) return undefined
  }
  return out
}
