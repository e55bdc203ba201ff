// The panes: their sizes, which the user sets by mouse or keyboard and the browser remembers, and which one is shown where there is
// room for one only.

import { $ } from './dom.js'

const key = 'revtail.layout'
const step = 24 // px for an arrow key

// separator: the custom property that it sets, in px; how far it goes; the pane that it sizes, on which side of it that pane is.
const separators = {
  'browse-size': { name: '--browse', pane: 'browse', least: 160, most: 560, sign: 1, axis: 'X' },
  'object-size': { name: '--object', pane: 'object', least: 120, most: 1400, sign: -1, axis: 'Y' },
  'events-size': { name: '--events', pane: 'stream', least: 200, most: 900, sign: -1, axis: 'X' },
}

/** stored is what the browser remembers of a name; without storage nothing. */
export function stored(name) {
  try {
    return JSON.parse(localStorage.getItem(name))
  } catch {
    return undefined
  }
}

export function store(name, value) {
  try {
    localStorage.setItem(name, JSON.stringify(value))
  } catch { /* without storage it lasts as long as the page */ }
}

/** Layout sizes the panes, and shows one of them in a narrow window. */
export class Layout {
  #sizes = stored(key) ?? {}

  constructor() {
    for (const [id, separator] of Object.entries(separators)) this.#wire($(id), separator)
    for (const button of document.querySelectorAll('.switch button')) button.addEventListener('click', () => this.show(button.dataset.pane))
    addEventListener('resize', () => this.#report())
    this.#draw()
    this.show(document.body.dataset.pane)
  }

  /** show brings a pane to the front where one is shown at a time. */
  show(pane) {
    document.body.dataset.pane = pane
    for (const button of document.querySelectorAll('.switch button')) button.setAttribute('aria-pressed', button.dataset.pane === pane)
  }

  /** single tells whether the panes are shown one at a time. */
  get single() {
    return getComputedStyle(document.querySelector('.switch')).display !== 'none'
  }

  /** maximise gives the object the place of the other panes, or restores them. */
  maximise(on = !document.body.classList.contains('maximised')) {
    document.body.classList.toggle('maximised', on)
    $('maximise')?.setAttribute('aria-pressed', on)
    this.#report()
  }

  /** object shows or hides the pane of the object. */
  object(shown) {
    $('object').hidden = !shown
    $('object-size').hidden = !shown
    document.querySelector('.switch [data-pane=object]').disabled = !shown
    if (!shown) {
      this.maximise(false)
      if (document.body.dataset.pane === 'object') this.show('state')
    }
    this.#report()
  }

  #wire(element, { name, pane, least, most, sign, axis }) {
    const set = (size) => {
      this.#sizes[name] = Math.round(Math.min(most, Math.max(least, size)))
      this.#draw()
      store(key, this.#sizes)
    }
    const size = () => (axis === 'X' ? $(pane).offsetWidth : $(pane).offsetHeight)
    element.addEventListener('pointerdown', (down) => {
      if (down.button !== 0) return
      down.preventDefault()
      element.focus()
      element.setPointerCapture(down.pointerId)
      const from = size()
      const move = (event) => set(from + sign * (event['client' + axis] - down['client' + axis]))
      element.addEventListener('pointermove', move)
      for (const end of ['pointerup', 'pointercancel']) element.addEventListener(end, () => element.removeEventListener('pointermove', move), { once: true })
    })
    element.addEventListener('dblclick', () => {
      delete this.#sizes[name]
      this.#draw()
      store(key, this.#sizes)
    })
    element.addEventListener('keydown', (event) => {
      const [less, more] = axis === 'X' ? ['ArrowLeft', 'ArrowRight'] : ['ArrowUp', 'ArrowDown']
      if (event.key === less) set(size() - sign * step)
      else if (event.key === more) set(size() + sign * step)
      else if (event.key === 'Home') set(least)
      else if (event.key === 'End') set(most)
      else return
      event.preventDefault()
    })
  }

  #draw() {
    for (const { name } of Object.values(separators)) {
      if (this.#sizes[name]) $('panes').style.setProperty(name, this.#sizes[name] + 'px')
      else $('panes').style.removeProperty(name)
    }
    this.#report()
  }

  /** #report tells assistive technology the sizes. */
  #report() {
    for (const [id, { pane, least, most, axis }] of Object.entries(separators)) {
      $(id).setAttribute('aria-valuemin', least)
      $(id).setAttribute('aria-valuemax', most)
      $(id).setAttribute('aria-valuenow', Math.min(most, Math.max(least, axis === 'X' ? $(pane).offsetWidth : $(pane).offsetHeight)))
    }
  }
}
