// The history of an item: the changes that the gateway has recorded or, where it records none, those that etcd still has.

import { el } from './dom.js'
import { History } from './history.js'
import { Recorded } from './recorded.js'

/** why says why there are no recorded changes. */
const why = (error) => (error.status === 501 ? 'This gateway keeps no journal, which revtail serve --history-dir does.' : `The recorded changes cannot be read: ${error.message}.`.replace('..', '.'))

/** HistoryTab is the view. on: that of History and of Recorded. */
export class HistoryTab {
  element = el('div')
  #on
  #signal
  #shown // the view
  #of // the revision of the item that it is of
  #state = {} // which state exists, and why it may not be changed
  #open // before there is a view

  constructor(on, signal) {
    this.#on = on
    this.#signal = signal
  }

  /** known are the changes that have been read and whose states are known. */
  get known() {
    return (this.#shown?.known ?? []).filter(({ item }) => item)
  }

  /** open is the revision of the recorded change that is open; it can be set before draw. */
  get open() {
    return this.#shown instanceof Recorded ? this.#shown.open : this.#open
  }

  set open(revision) {
    this.#open = revision
  }

  /** draw shows the history of an item, with what has happened since the last time. */
  draw(origin) {
    const { revision } = origin.item
    const isNew = this.#of !== revision
    this.#of = revision
    if (this.#shown instanceof Recorded) return isNew && this.#shown.renew()
    if (origin.isKey || (this.#shown && isNew)) return isNew && this.#ofEtcd(origin, this.element.querySelector('.object-note'))
    return this.#shown ?? this.#recorded(origin)
  }

  /** renew reads what has happened, if it is recorded. */
  renew() {
    if (this.#shown instanceof Recorded) this.#shown.renew()
  }

  /** redraw shows the open change again, with other secrets revealed. */
  redraw() {
    if (this.#shown instanceof Recorded) this.#shown.redraw()
  }

  /** allow says which state exists, {live: its revision}, and why it may not be changed, {refused}; and which one of the past is shown, {past}. */
  allow(state) {
    Object.assign(this.#state, state)
    if (this.#shown instanceof Recorded) this.#shown.allow(this.#state)
  }

  async #recorded(origin) {
    const view = this.#shown = new Recorded(origin, this.#on, this.#signal, this.#open)
    view.allow(this.#state)
    this.element.replaceChildren(view.element)
    try {
      await view.start()
    } catch (error) {
      if (!this.#signal.aborted) this.#ofEtcd(origin, el('p', { class: 'object-note' }, `${why(error)} These are the changes that etcd has not compacted.`))
    }
  }

  #ofEtcd(origin, note) {
    this.#shown = new History(origin, origin.item, this.#on, this.#signal)
    this.element.replaceChildren(...(note ? [note] : []), this.#shown.element)
    this.#shown.more()
  }
}
