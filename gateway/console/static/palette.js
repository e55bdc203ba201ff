// The palette: one field that goes to a kind, a namespace or a key, and runs commands.

import { $, el } from './dom.js'

const most = 12 // matches that are shown

/**
 * score says how well a text matches what was typed: all letters in order; better at the beginning of a word, and in a row. 0: no match.
 */
export function score(text, typed) {
  const t = text.toLowerCase()
  if (!typed) return 1
  if (t === typed) return 1000
  if (t.startsWith(typed)) return 500 - t.length
  let points = 1
  let at = -1
  for (const letter of typed) {
    const found = t.indexOf(letter, at + 1)
    if (found < 0) return 0
    if (found === at + 1) points += 5
    if (found === 0 || /[\s/._-]/.test(t[found - 1])) points += 8
    at = found
  }
  return Math.max(1, points * 4 - t.length / 4)
}

/**
 * Palette shows what find(typed) returns, entries {label, kind, text, names, run, fill}: fill is a text that is put into the field
 * instead of running, for a command that needs a word more. A command with `argument` runs with the words after its name.
 */
export class Palette {
  #find
  #shown = []
  #active = 0

  constructor(find) {
    this.#find = find
    $('palette-button').addEventListener('click', () => this.open())
    $('palette-input').addEventListener('input', () => this.#draw())
    $('palette-input').addEventListener('keydown', (event) => this.#key(event))
    $('palette-list').addEventListener('click', (event) => {
      const option = event.target.closest('[role=option]')
      if (option) this.#run(this.#shown[Number(option.dataset.index)])
    })
    $('palette').addEventListener('click', (event) => { if (event.target === $('palette')) this.#close() })
    $('palette').addEventListener('cancel', () => $('palette-input').blur())
  }

  open(text = '') {
    $('palette-input').value = text
    if (!$('palette').open) $('palette').showModal()
    $('palette-input').focus()
    this.#draw()
  }

  /** #entries are the best matches of what was typed. */
  #entries() {
    const typed = $('palette-input').value.trim().toLowerCase()
    const [word, ...rest] = typed.split(/\s+/)
    const entries = []
    for (const entry of this.#find($('palette-input').value.trim())) {
      const whole = Math.max(...[entry.label, ...(entry.names ?? [])].map((name) => score(name, typed)))
      const first = entry.argument && rest.length && entry.label.startsWith(word) ? 900 : 0
      const points = entry.always ? 2000 : Math.max(whole, first)
      if (points) entries.push({ entry, points: points + (entry.bonus ?? 0) })
    }
    return entries.sort((a, b) => b.points - a.points).slice(0, most).map(({ entry }) => entry)
  }

  #draw() {
    this.#shown = this.#entries()
    this.#active = 0
    $('palette-list').replaceChildren(...this.#shown.map((entry, index) => el('li', { role: 'option', id: 'palette-' + index, 'data-index': index },
      el('span', { class: 'what' }, entry.label), el('span', { class: 'dim text' }, entry.text), el('span', { class: 'dim kind' }, entry.kind))))
    $('palette-hint').textContent = this.#shown.length ? '' : 'No kind, namespace, key or command matches. A text that begins with / opens that key or prefix/.'
    this.#mark()
  }

  #mark() {
    for (const option of $('palette-list').children) option.setAttribute('aria-selected', Number(option.dataset.index) === this.#active)
    const active = $('palette-list').children[this.#active]
    active?.scrollIntoView({ block: 'nearest' })
    if (active) $('palette-input').setAttribute('aria-activedescendant', active.id)
    else $('palette-input').removeAttribute('aria-activedescendant')
  }

  #key(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1 }
    if (event.key in steps && this.#shown.length) {
      this.#active = (this.#active + steps[event.key] + this.#shown.length) % this.#shown.length
      this.#mark()
    } else if (event.key === 'Enter') {
      this.#run(this.#shown[this.#active])
    } else if (event.key === 'Tab' && this.#shown[this.#active]) {
      $('palette-input').value = this.#shown[this.#active].label + ' '
      this.#draw()
    } else {
      return
    }
    event.preventDefault()
  }

  /** #close leaves the field at once: the browser would do so when it draws the next time, and until then keys would go there. */
  #close() {
    $('palette-input').blur()
    $('palette').close()
  }

  #run(entry) {
    if (!entry) return
    const typed = $('palette-input').value.trim()
    const argument = typed.toLowerCase().startsWith(entry.label.split(' ')[0]) ? typed.split(/\s+/).slice(1).join(' ') : ''
    if (entry.argument && !argument) {
      $('palette-input').value = entry.label + ' '
      $('palette-hint').textContent = entry.argument
      return
    }
    const wrong = entry.run(argument)
    if (typeof wrong === 'string') $('palette-hint').textContent = wrong
    else this.#close()
  }
}
