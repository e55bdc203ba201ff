// The table: as many rows as can be seen, whatever there is.

import { ago, brief, el } from './dom.js'

const rowHeight = 32 // px, as in the style sheet
const spare = 6 // rows above and below what is seen
const most = 8 // that flash at the same time; more of them only glow

const cells = {
  key: (item) => [item.name],
  name: (item) => [item.name],
  namespace: (item) => [item.namespace ?? ''],
  value: (item) => brief(item.shown ?? item.value),
  revision: (item) => [String(item.revision)],
  version: (item) => [String(item.version ?? '')],
  generation: (item) => [String(item.version ?? '')],
  age: (item) => [item.created ? ago(item.created) : ''],
}

/** Table shows items in the order in which it gets them. It is a grid for the keyboard and for those who cannot see it. */
export class Table {
  #body
  #head
  #columns = []
  #items = []
  #rows = new Map() // by id, of what is seen
  #active // the id of the row that the keyboard is at
  #onPick

  constructor(element, onPick) {
    this.element = element
    this.#onPick = onPick
    this.#head = el('div', { class: 'row head', role: 'row', 'aria-rowindex': 1 })
    this.#body = el('div', { class: 'body', role: 'rowgroup' })
    element.replaceChildren(this.#head, this.#body)
    element.addEventListener('scroll', () => this.#draw(), { passive: true })
    element.addEventListener('keydown', (event) => this.#key(event))
    element.addEventListener('click', (event) => {
      const row = event.target.closest('.row[data-id]')
      if (row) this.pick(row.dataset.id)
    })
    new ResizeObserver(() => this.#draw()).observe(element)
  }

  columns(names) {
    this.#columns = names
    this.element.dataset.columns = names.length
    this.#head.replaceChildren(...names.map((name) => el('span', { role: 'columnheader', class: name }, name)))
    this.#rows.clear()
    this.#body.replaceChildren()
    this.#active = undefined
    this.element.scrollTop = 0
  }

  /** show draws items; `changed` is the ids of those that flash. */
  show(items, changed = new Set()) {
    this.#items = items
    this.element.setAttribute('aria-rowcount', items.length + 1)
    this.#body.style.height = items.length * rowHeight + 'px'
    this.#draw(changed)
  }

  pick(id) {
    const item = this.#items.find((each) => each.id === id)
    if (!item) return
    this.#activate(id)
    this.#onPick(item)
  }

  #activate(id) {
    this.#active = id
    this.#draw()
  }

  #draw(changed) {
    const { scrollTop, clientHeight } = this.element
    const first = Math.max(0, Math.floor(scrollTop / rowHeight) - spare)
    const end = Math.min(this.#items.length, Math.ceil((scrollTop + clientHeight) / rowHeight) + spare)
    const before = this.#rows
    const flashing = []
    this.#rows = new Map()
    for (let i = first; i < end; i++) {
      const item = this.#items[i]
      let row = before.get(item.id)
      before.delete(item.id)
      if (!row) {
        row = el('div', { class: 'row', role: 'row', id: 'row-' + encodeURIComponent(item.id), 'data-id': item.id })
        this.#body.append(row)
      }
      if (row.item !== item) {
        row.item = item
        row.replaceChildren(...this.#columns.map((name) => el('span', { role: 'gridcell', class: name, title: name === 'key' || name === 'name' ? item.name : undefined }, ...cells[name](item))))
      }
      if (row.index !== i) {
        row.index = i
        row.style.transform = `translateY(${i * rowHeight}px)`
        row.setAttribute('aria-rowindex', i + 2)
      }
      row.setAttribute('aria-selected', item.id === this.#active)
      row.classList.toggle('differs', Boolean(item.differs))
      if (changed?.has(item.id)) flashing.push(row)
      this.#rows.set(item.id, row)
    }
    for (const row of before.values()) row.remove()
    const active = this.#rows.get(this.#active)
    if (active) this.element.setAttribute('aria-activedescendant', active.id)
    else this.element.removeAttribute('aria-activedescendant')
    if (flashing.length) this.#flash(flashing)
  }

  #flash(rows) {
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches
    for (const row of rows) {
      for (const animation of row.getAnimations()) animation.cancel()
      const shade = `color-mix(in srgb, var(--flash) ${rows.length > most ? 16 : 50}%, transparent)`
      row.animate([{ backgroundColor: shade }, { backgroundColor: 'transparent' }], { duration: 1100, easing: still ? 'steps(1, end)' : 'ease-out' })
    }
  }

  #key(event) {
    if (!this.#items.length || event.altKey || event.ctrlKey || event.metaKey) return
    const page = Math.max(1, Math.floor(this.element.clientHeight / rowHeight) - 2)
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }
    const at = this.#items.findIndex((item) => item.id === this.#active)
    if (event.key === 'Enter' && at >= 0) {
      this.#onPick(this.#items[at])
    } else if (event.key in steps) {
      const to = Math.min(this.#items.length - 1, Math.max(0, at + steps[event.key]))
      const top = to * rowHeight
      const room = this.element.clientHeight - 2 * rowHeight
      if (top < this.element.scrollTop) this.element.scrollTop = top
      else if (top > this.element.scrollTop + room) this.element.scrollTop = top - room
      this.#activate(this.#items[to].id)
    } else {
      return
    }
    event.preventDefault()
  }
}
