// The table: as many rows as can be seen, whatever there is.

import { cell } from './columns.js'
import { el } from './dom.js'

const rowHeight = 28 // px, as in the style sheet
const spare = 6 // rows above and below what is seen
const most = 8 // that flash at the same time; more of them only glow
const tick = 1_000 // ms between two looks at the ages

// The least width of a column, in px, and its share of what is left.
const widths = { name: [130, 5], namespace: [90, 3], value: [140, 9], string: [80, 3], age: [64, 0], bytes: [72, 0] }

function widthOf({ name, type }) {
  const [least, share] = widths[type] ?? [76, 0]
  return [Math.max(least, name.length * 8 + 22), share]
}

const classOf = ({ id, index, type }) => (index === undefined ? id : type)

function cellOf(item, column) {
  const parts = cell(item, column)
  const title = typeof parts[0] === 'string' && parts.length === 1 && column.type !== 'age' ? parts[0] : undefined
  return el('span', { role: 'gridcell', class: classOf(column), title: title || undefined }, ...parts)
}

/** Table shows items in the order in which it gets them. It is a grid for the keyboard and for those who cannot see it. */
export class Table {
  #body
  #head
  #source // its columns, see columns.js
  #version
  #columns = [] // those that are shown
  #wide = false
  #order // {column, descending}
  #items = []
  #rows = new Map() // by id, of what is seen
  #active // the id of the row that the keyboard is at
  #onPick
  #onView

  /** onPick(item) is called when a row is opened, onView() when the user wants another order, or other columns. */
  constructor(element, onPick, onView = () => {}) {
    this.element = element
    this.#onPick = onPick
    this.#onView = onView
    this.#head = el('div', { class: 'row head', role: 'row', 'aria-rowindex': 1 })
    this.#body = el('div', { class: 'body', role: 'rowgroup' })
    element.replaceChildren(el('div', { role: 'rowgroup' }, this.#head), this.#body)
    element.addEventListener('scroll', () => this.#draw(), { passive: true })
    element.addEventListener('keydown', (event) => this.#key(event))
    element.addEventListener('click', (event) => {
      const row = event.target.closest('.row[data-id]')
      if (row) this.pick(row.dataset.id)
    })
    new ResizeObserver(() => this.#draw()).observe(element)
    setInterval(() => this.#age(), tick)
  }

  /** columns takes the columns of another source; those that the gateway tells later are taken over when something is shown. */
  columns(source) {
    this.#source = source
    this.#order = undefined
    this.#active = undefined
    this.element.scrollTop = 0
    this.#layOut()
  }

  /** order is how the rows are to be sorted: {column, descending}; undefined: by id. */
  get order() {
    return this.#order
  }

  /** sort is the order as a text, as in a URL: the name of a column, with a minus before it if it descends; empty: by id. */
  get sort() {
    return this.#order ? (this.#order.descending ? '-' : '') + this.#order.column.id : ''
  }

  set sort(text) {
    const column = this.#source?.all.find(({ id }) => id === text?.replace(/^-/, ''))
    this.#order = column && { column, descending: text.startsWith('-') }
    this.#sorted = column ? undefined : text // the gateway may tell of the column later
    this.#heads()
  }

  #sorted

  /** sortBy sorts by a column; by the same one again: the other way round, then by id. */
  sortBy(column) {
    const again = this.#order?.column.id === column.id
    this.#order = again && this.#order.descending ? undefined : { column, descending: again }
    this.#heads()
    this.#onView()
  }

  /** wide shows all columns, also those that the gateway thinks less of. */
  get wide() {
    return this.#wide
  }

  set wide(wide) {
    if (wide === this.#wide) return
    this.#wide = wide
    this.#layOut()
  }

  #layOut() {
    const { version, all } = this.#source
    this.#version = version
    this.#columns = this.#source.shown(this.#wide)
    const sizes = this.#columns.map(widthOf)
    const { style } = this.element
    style.setProperty('--columns', sizes.map(([least, share]) => (share ? `minmax(${least}px, ${share}fr)` : least + 'px')).join(' '))
    style.setProperty('--least', sizes.reduce((sum, [least]) => sum + least + 14, 60) + 'px')
    const more = all.length > this.#source.shown(false).length
    const wide = el('button', { type: 'button', class: 'wide', 'aria-pressed': this.#wide, title: this.#wide ? 'Fewer columns' : 'More columns', 'aria-label': 'More columns', onclick: () => { this.wide = !this.#wide; this.#onView() } }, this.#wide ? '−' : '+')
    this.#head.replaceChildren(...this.#columns.map((column) => this.#headOf(column)), ...(more ? [el('span', { role: 'columnheader', class: 'more' }, wide)] : []))
    this.element.setAttribute('aria-colcount', this.#columns.length + (more ? 1 : 0))
    if (this.#sorted) this.sort = this.#sorted
    this.#heads()
    this.#rows.clear()
    this.#body.replaceChildren()
    this.#draw()
  }

  #headOf(column) {
    const button = el('button', { type: 'button', title: column.title ? column.title + ' Click to sort.' : 'Click to sort.', onclick: () => this.sortBy(column) }, column.name)
    button.addEventListener('focus', () => this.#rove(button))
    return el('span', { role: 'columnheader', class: classOf(column) }, button)
  }

  #buttons() {
    return [...this.#head.querySelectorAll('button')]
  }

  /** #rove leaves one of the buttons of the head in the order of Tab. */
  #rove(button) {
    for (const each of this.#buttons()) each.tabIndex = each === button ? 0 : -1
  }

  #heads() {
    this.#columns.forEach(({ id }, i) => {
      const sort = this.#order?.column.id === id ? (this.#order.descending ? 'descending' : 'ascending') : 'none'
      this.#head.children[i]?.setAttribute('aria-sort', sort)
    })
    const buttons = this.#buttons()
    if (buttons.length && !buttons.some((each) => each.tabIndex === 0 && each.matches(':focus'))) this.#rove(buttons[0])
  }

  /** #age writes the ages that have changed. */
  #age() {
    if (document.hidden) return
    const now = Date.now()
    this.#columns.forEach((column, i) => {
      if (column.type !== 'age') return
      for (const { item, children } of this.#rows.values()) {
        const [text] = cell(item, column, now)
        if (children[i].textContent !== text) children[i].textContent = text
      }
    })
  }

  /** show draws items; `changed` is the ids of those that flash. */
  show(items, changed = new Set()) {
    this.#items = items
    if (this.#source && this.#version !== this.#source.version) this.#layOut()
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
        row.replaceChildren(...this.#columns.map((column) => cellOf(item, column)))
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
    if (event.altKey || event.ctrlKey || event.metaKey) return
    if (this.#head.contains(event.target)) return this.#keyOfHead(event)
    if (!this.#items.length) return
    const page = Math.max(1, Math.floor(this.element.clientHeight / rowHeight) - 2)
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }
    if (event.key === 'Enter') this.open()
    else if (event.key in steps) this.move(steps[event.key])
    else return
    event.preventDefault()
  }

  /** #keyOfHead moves along the head; Enter and the space key press its buttons. */
  #keyOfHead(event) {
    const buttons = this.#buttons()
    const at = buttons.indexOf(event.target)
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: buttons.length - 1 }[event.key]
    if (event.key === 'ArrowDown') this.element.focus()
    else if (to !== undefined) buttons[Math.min(buttons.length - 1, Math.max(0, to))].focus()
    else return
    event.preventDefault()
  }

  /** move makes a row active that is so many rows below the active one. */
  move(by) {
    if (!this.#items.length) return
    const at = this.#items.findIndex((item) => item.id === this.#active)
    const to = Math.min(this.#items.length - 1, Math.max(0, at + by))
    const top = to * rowHeight
    const room = this.element.clientHeight - 2 * rowHeight
    if (top < this.element.scrollTop) this.element.scrollTop = top
    else if (top > this.element.scrollTop + room) this.element.scrollTop = top - room
    this.#activate(this.#items[to].id)
  }

  /** open shows the active row whole. */
  open() {
    const item = this.#items.find((each) => each.id === this.#active)
    if (item) this.#onPick(item)
  }
}
