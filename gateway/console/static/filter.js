// The filter of the table: a text; after = an expression in CEL, or after -l labels as kubectl has them, which the gateway evaluates.

import { $ } from './dom.js'

const typing = 500 // ms after the last letter of an expression, or Enter

/** Filter calls onText() when another text is to be found, onExpression() when the gateway gets another expression, onChange(value). */
export class Filter {
  text = '' // lower case
  expression = '' // CEL, for the server
  labels = '' // a label selector, for the server
  #timer
  #express = () => {} // lets the gateway have the expression that was typed
  #on

  constructor(on) {
    this.#on = on
    $('filter').addEventListener('input', () => this.#read())
    $('filter').addEventListener('keydown', (event) => {
      if (event.key !== 'Enter') return
      this.#express()
      $('table').focus()
    })
  }

  get value() {
    return $('filter').value
  }

  /** set takes a filter over, as if it was typed and entered. */
  set(value) {
    if (value === this.value) return
    $('filter').value = value
    this.#read()
    this.#express()
  }

  /** adopt takes the filter of a URL over and calls nobody. It returns whether the gateway gets another expression. */
  adopt(value) {
    const on = this.#on
    const before = this.expression + '\n' + this.labels
    this.#on = { onText() {}, onExpression() {}, onChange() {} }
    this.set(value)
    this.#on = on
    return before !== this.expression + '\n' + this.labels
  }

  /** refuse says why the gateway does not take the expression; everything is shown until another one is typed. */
  refuse(text) {
    this.expression = this.labels = ''
    this.#note(text)
  }

  #note(text = '') {
    $('filter-note').hidden = !text
    $('filter-note').textContent = text
  }

  #read() {
    clearTimeout(this.#timer)
    this.#note()
    const value = this.value.trim()
    const given = value.startsWith('=') ? value.replace(/^=+/, '').trim() : ''
    const labels = value.startsWith('-l ') ? value.slice(3).trim() : ''
    this.text = given || labels || value.startsWith('=') ? '' : value.toLowerCase()
    this.#on.onChange(value)
    this.#express = () => {
      clearTimeout(this.#timer)
      if (given === this.expression && labels === this.labels) return
      this.expression = given
      this.labels = labels
      this.#on.onExpression()
    }
    if (given === this.expression && labels === this.labels) return this.#on.onText()
    this.#timer = setTimeout(this.#express, given || labels ? typing : 0)
  }
}
