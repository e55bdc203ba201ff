// What the page says of itself: the connection, the past, and why nothing is shown.

import { $, count, el } from './dom.js'
import { Refused } from './api.js'
import { oldest } from './source.js'
import { clock, since } from './times.js'

const brief = 1_000 // ms: a shorter loss of the connection is said in the status only

const plain = (error) => (error instanceof Refused ? error.message : error ? 'the gateway does not answer' : 'the stream has ended')

/** Status shows the state of the connection and of the past. */
export class Status {
  connection = 'idle'
  #past // words for what is shown
  #lost // {at, error, next, revision}
  #revision = () => 0
  #seen = Date.now() // when the last news came

  /** revision() is the newest revision that the page has. */
  constructor(revision) {
    this.#revision = revision
    $('lost-now').addEventListener('click', () => dispatchEvent(new Event('online'))) // ends the wait
    setInterval(() => { if (this.#lost) this.#draw() }, 1000)
  }

  /** connected takes a state of follow(); it returns for how long the connection had been lost, in ms, when it is live again. */
  connected(name, { error, delay } = {}) {
    const before = this.connection
    this.connection = name
    let lost
    if (name === 'reconnecting') this.#lost = { at: this.#lost?.at ?? Date.now(), error, next: Date.now() + delay, shown: this.#lost?.shown ?? { revision: this.#revision(), time: this.#seen } }
    if (name === 'live' || name === 'refused') {
      if (this.#lost) lost = Date.now() - this.#lost.at
      this.#lost = undefined
    }
    this.#draw()
    const words = { live: lost > brief ? 'connected again' : before === 'listing' ? 'live' : '', refused: 'the gateway refuses', expired: 'compacted, reading again' }[name]
    if (words) announce(words)
    return name === 'live' ? lost : undefined
  }

  /** news says that something has come just now. */
  news() {
    this.#seen = Date.now()
  }

  /** past says what is shown instead of now; undefined: now. */
  past(label) {
    if (label !== this.#past) announce(label ? 'past: ' + label : 'back to live')
    this.#past = label
    $('banner').hidden = !label
    document.body.classList.toggle('past', label !== undefined)
    $('events-title').textContent = label ? 'Events of now' : 'Events'
    if (label) $('banner-text').textContent = `You see the past: ${label}. A marked row is different now.`
    this.#draw()
  }

  #draw() {
    const wait = this.#lost ? Math.max(0, Math.ceil((this.#lost.next - Date.now()) / 1000)) : 0
    const words = {
      idle: 'nothing chosen', listing: 'reading', live: 'live', refused: 'refused', expired: 'compacted, reading again',
      reconnecting: wait ? `disconnected, next try in ${wait} s` : 'disconnected, trying again',
    }[this.connection]
    $('status').dataset.state = this.#past && this.connection === 'live' ? 'past' : this.connection
    $('status').dataset.connection = this.connection
    $('status-text').textContent = this.#past ? 'past' + (this.connection === 'live' ? '' : ' · ' + words) : words
    const long = this.#lost && Date.now() - this.#lost.at >= brief
    if (long && $('lost').hidden) announce('disconnected: ' + plain(this.#lost.error))
    $('lost').hidden = !long
    if (!long) return
    const { at, error, shown } = this.#lost
    $('lost-text').textContent = `Disconnected since ${clock(at)}: ${plain(error)}. ` + (wait ? `Next try in ${wait} s. ` : 'Trying again. ') +
      (shown.revision ? `What is shown is of revision ${shown.revision.toLocaleString('en')}, received ${since(shown.time)}.` : 'Nothing has been read yet.')
  }
}

let announcing

/** announce tells assistive technology; what comes in quick succession is said once, the last of it. */
export function announce(text) {
  clearTimeout(announcing)
  announcing = setTimeout(() => { $('announce').textContent = text }, 150)
}

/** say shows a message in the place of the table; nothing takes it away. Actions: {label, run}. */
export function say(message = '', ...actions) {
  $('message').hidden = !message
  $('message').replaceChildren(...(message ? [el('p', {}, message)] : []), ...actions.map(({ label, run }) => el('button', { type: 'button', onclick: run }, label)))
}

/** tell shows a strip about something that the user has asked for; empty: none. */
export function tell(text) {
  $('notice').hidden = !text
  $('notice-text').textContent = text
}

/** refusal is what an answer of the gateway means, and what can be done: {text, actions}. */
export function refusal(error, source, { again, open, tokens }) {
  const retry = { label: 'Try again', run: again }
  const what = source.title + (source.namespace ? ' in ' + source.namespace : '')
  switch (error.status) {
    case 401:
      return { text: `The gateway does not know who you are: ${error.message}`, actions: [{ label: 'Use a token', run: tokens }, retry] }
    case 403: {
      const other = { label: 'Use another token', run: tokens }
      const keys = (error.body?.open ?? []).slice(0, 8).map((key) => ({ label: 'Open ' + key, run: () => open(key) }))
      if (source.key) return { text: `${what} is closed to you: ${error.message}`, actions: [...keys, retry, other] }
      const right = `to list and watch ${what}` + (source.namespaced && !source.namespace ? ' in all namespaces; a namespace that is open to you can be chosen beside the filter' : '')
      return { text: `Forbidden: ${error.message}. The right that is missing: ${right}.`, actions: [retry, other] }
    }
    case 404:
      return { text: `The gateway does not serve ${what}: ${error.message}`, actions: [retry] }
  }
  return { text: error.message, actions: [retry] }
}

/** compacted finds the oldest revision that can be shown instead of one that etcd has compacted, and offers it. */
export async function compacted(source, at, timeline, signal) {
  try {
    const first = await oldest(source, at, timeline.newest, signal)
    if (signal.aborted) return
    timeline.forget(first)
    say(`Revision ${at.toLocaleString('en')} has been compacted: etcd does not have it any more.`,
      { label: `Show revision ${first.toLocaleString('en')}, the oldest`, run: () => timeline.go(first) }, { label: 'Back to live', run: () => timeline.go() })
  } catch { /* what has been said before holds */ }
}

/** emptiness says why the table has no rows. */
export function emptiness(source, { all, text, expression, past }) {
  const where = past === undefined ? '' : ' at this revision'
  if (expression) return `No ${source.noun} of ${source.title} matches the expression ${expression}${where}. Esc clears the filter.`
  if (text) return `Nothing of ${count(all, source.noun)} contains “${text}”${where}. Esc clears the filter.`
  if (past !== undefined) return `There was nothing in ${source.title}${where}.`
  return `There is nothing in ${source.title}${source.namespace ? ' of namespace ' + source.namespace : ''} yet. What is written appears here.`
}
