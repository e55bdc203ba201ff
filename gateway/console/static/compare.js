// Two states side by side: of one item at two revisions, or of two items of a kind.

import { count, el } from './dom.js'
import { linesOf, maskedPair } from './changes.js'
import { diffText, rowsOf } from './difftext.js'

const suggested = 200 // names of other objects

/**
 * Comparison is the view. Each side is a text: a revision, the name of another item, "shown" (the state that the page shows), or
 * "live". on: {current() (the item that is shown), revealed, known() (revisions that have been read), onChange()}
 */
export class Comparison {
  sides = { left: '', right: 'shown' }
  #origin
  #on
  #inputs = {}
  #names = el('datalist', { id: 'compare-names' })
  #result = el('div', { class: 'compare-result' })
  #reading = new AbortController()

  constructor(origin, on) {
    this.#origin = origin
    this.#on = on
    const side = (name, label) => {
      const input = el('input', {
        id: 'compare-' + name, list: 'compare-names', autocomplete: 'off', spellcheck: 'false', placeholder: 'revision, or name',
        onchange: () => this.choose({ [name]: input.value.trim() }), onfocus: () => this.#suggest(),
      })
      this.#inputs[name] = input
      return el('label', {}, label + ' ', input)
    }
    const swap = el('button', { type: 'button', onclick: () => this.choose({ left: this.sides.right, right: this.sides.left }) }, 'Swap')
    this.element = el('div', { class: 'compare' },
      el('div', { class: 'compare-bar' }, side('left', 'Left'), swap, side('right', 'Right'), this.#names), this.#result)
  }

  /** choose sets the sides that are given, and shows them. */
  async choose(sides) {
    Object.assign(this.sides, sides)
    this.#on.onChange()
    await this.draw()
  }

  /** draw reads both sides and shows them. */
  async draw() {
    this.#reading.abort()
    this.#reading = new AbortController()
    const { signal } = this.#reading
    for (const [name, input] of Object.entries(this.#inputs)) input.value = this.sides[name]
    if (!this.sides.left || !this.sides.right) {
      this.#result.replaceChildren(el('p', { class: 'object-note' }, 'Each side is a revision, “live”, “shown”, or the name of another object. A revision shows what was true then.'))
      return
    }
    try {
      const [left, right] = await Promise.all([this.#read('left', signal), this.#read('right', signal)])
      if (signal.aborted) return
      const [a, b] = maskedPair(left, right, this.#on.revealed)
      const rows = rowsOf(linesOf(a), linesOf(b))
      const differ = rows.filter((row) => row.kind !== 'same').length
      this.#result.replaceChildren(
        el('p', { class: 'object-note', role: 'status' }, differ ? `${count(differ, 'line')} ${differ === 1 ? 'differs' : 'differ'}` : 'Both are the same.'),
        el('div', { class: 'pair heads' }, el('div', {}, headOf(left)), el('div', {}, headOf(right))),
        diffText(rows, { paired: true, language: typeof b === 'string' ? 'text' : 'yaml', label: 'Both sides, aligned' }))
    } catch (error) {
      if (!signal.aborted) this.#result.replaceChildren(el('p', { class: 'object-note bad', role: 'alert' }, error.message))
    }
  }

  async #read(name, signal) {
    const given = this.sides[name]
    if (given === 'shown') return this.#on.current()
    const isRevision = /^[\d,]+$/.test(given)
    const item = given === 'live' ? await this.#origin.read(undefined, signal)
      : isRevision ? await this.#origin.read(Number(given.replaceAll(',', '')), signal) : await this.#origin.other(given).read(undefined, signal)
    if (item) return item
    throw new Error(given === 'live' ? 'It is not there any more.' : isRevision ? `It was not there at revision ${given}.` : `There is no ${given}.`)
  }

  /** #suggest offers the revisions that have been read, and other items. */
  async #suggest() {
    const option = (value, label) => el('option', { value }, label)
    const revisions = this.#on.known().map(({ item }) => option(String(item.revision), `revision ${item.revision}`))
    this.#names.replaceChildren(option('live', 'the live state'), option('shown', 'the state that is shown'), ...revisions)
    this.#others ??= this.#origin.others(suggested).catch(() => [])
    this.#names.append(...(await this.#others).map((id) => option(id, id)))
  }

  #others
}

const headOf = (item) => `${item.id}, revision ${item.revision.toLocaleString('en')}`
