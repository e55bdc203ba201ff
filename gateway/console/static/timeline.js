// The slider into the past. It knows revisions; what is shown at one is the page's.

import { $ } from './dom.js'

const settle = 60 // ms: while the slider moves, not each revision is asked for

/** Timeline calls onAt(revision), or onAt(undefined) for now. */
export class Timeline {
  at // the revision that is shown; undefined: now
  #oldest = 1
  #newest = 1
  #onAt
  #timer

  constructor(onAt) {
    this.#onAt = onAt
    $('timeline').addEventListener('submit', (event) => event.preventDefault())
    $('slider').addEventListener('input', () => this.go(Number($('slider').value)))
    $('at').addEventListener('change', () => this.go(Number($('at').value) || undefined))
    $('earlier').addEventListener('click', () => this.step(-1))
    $('later').addEventListener('click', () => this.step(1))
    $('live').addEventListener('click', () => this.go())
    $('banner-live').addEventListener('click', () => this.go())
  }

  /** reach says up to which revision there is something to see. */
  reach(newest) {
    this.#newest = Math.max(this.#newest, newest)
    this.#draw()
  }

  /** forget says that there is nothing before a revision any more, or that all is to be found out anew. */
  forget(oldest = 1, newest = this.#newest) {
    this.#oldest = oldest
    this.#newest = newest
    this.#draw()
  }

  step(by) {
    this.go((this.at ?? this.#newest) + by)
  }

  go(at) {
    this.at = at === undefined || at > this.#newest ? undefined : Math.max(at, this.#oldest)
    this.#draw()
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#onAt(this.at), this.at === undefined ? 0 : settle)
  }

  #draw() {
    for (const input of [$('slider'), $('at')]) {
      input.disabled = false
      input.min = this.#oldest
      input.max = this.#newest
      if (input !== document.activeElement || input.type === 'range') input.value = this.at ?? this.#newest
    }
    $('live').disabled = this.at === undefined
    $('live').textContent = this.at === undefined ? 'Newest' : 'Back to live'
    $('timeline').classList.toggle('past', this.at !== undefined)
    $('newest').textContent = this.#newest.toLocaleString('en')
  }
}
