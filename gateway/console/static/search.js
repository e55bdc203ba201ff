// The search of a text: in the page if it holds everything, else on the gateway.

import { countOf } from './catalog.js'
import { count } from './dom.js'

const typing = 300 // ms after the last letter until the gateway searches

const number = (n) => n.toLocaleString('en')

/** Search knows which text the gateway searches. onSearch() is called when that has changed. */
export class Search {
  text = '' // that the gateway searches; empty: the page holds everything, and searches itself
  #total // how many items there are, where the page does not hold all of them
  #timer
  #onSearch

  constructor(onSearch) {
    this.#onSearch = onSearch
  }

  /** reset is for another source. */
  reset() {
    clearTimeout(this.#timer)
    this.text = ''
    this.#total = undefined
  }

  /** query is the filter for the gateway. */
  query(expression) {
    return { text: this.text, cel: expression }
  }

  /** find takes the text of the filter; cut: the page does not hold everything. It returns false if the page can search itself. */
  find(text, cut) {
    clearTimeout(this.#timer)
    const wanted = this.text || cut ? text : ''
    if (wanted === this.text) return false
    this.#timer = setTimeout(() => {
      this.text = wanted
      this.#onSearch()
    }, typing)
    return true
  }

  /** measure finds out how many items a source has, of which the page holds the first. */
  async measure(source, list) {
    if (this.text) return
    this.#total = list.remaining === undefined ? await countOf(source) : list.items.length + list.remaining
  }

  /** all is how many items were searched, as far as that is known. */
  all(size) {
    return this.text ? this.#total ?? size : size
  }

  /** words say how many items are shown, of how many, and who has searched. */
  words(noun, { found, size, cut }) {
    const first = cut ? 'the first ' : ''
    const total = this.#total === undefined ? '' : ` of ${number(this.#total)}`
    if (this.text) return `${first}${number(size)}${total || ' of all'} ${noun}s; searched on the gateway`
    return (found === size ? '' : number(found) + ' of ') + first + count(size, noun) + (cut ? total : '')
  }
}
