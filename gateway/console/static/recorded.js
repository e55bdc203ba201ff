// The changes of one object that the gateway has recorded, newest first: who made them, when, and what they changed. It stays up to date.

import { el, span } from './dom.js'
import { Changes } from './journal.js'
import { changeView } from './changes.js'
import { timeText } from './history.js'
import { unrestorable } from './restore.js'

const page = 25 // changes that are read at once
const mostFields = 4 // of a row

const number = (revision) => revision.toLocaleString('en')
const words = { ADDED: 'added', MODIFIED: 'changed', DELETED: 'deleted' }

/** whoOf is the manager of a change: its name, and what it did other than an update of the object; empty if it is not known. */
function whoOf({ manager, operation, subresource }) {
  const how = [operation === 'Update' ? undefined : operation, subresource].filter(Boolean).join(', ')
  return manager ? manager + (how && ` (${how})`) : ''
}

/** whatOf says what a change has changed: paths, which a narrow column breaks before a dot. */
function whatOf({ type, fields, omitted }) {
  if (omitted) return ['values are not recorded']
  if (type === 'DELETED') return []
  if (!fields.length) return ['written, nothing changed']
  const path = (text) => el('span', {}, ...text.split(/(?=\.)/).flatMap((part, i) => (i ? [el('wbr'), part] : [part])))
  const shown = fields.slice(0, mostFields).flatMap((text, i) => (i ? [', ', path(text)] : [path(text)]))
  return fields.length > mostFields ? [...shown, ` +${fields.length - mostFields}`] : shown
}

/**
 * Recorded is the list. on: {revealed, onShow(revision, time), onCompare(revision), onRestore(change), onOpen() (another change is open)}; `open` is the
 * revision of the change that is open at first.
 */
export class Recorded {
  open // the revision of the change whose difference is shown
  known = [] // changes that have been read
  #origin
  #changes
  #on
  #signal
  #live // the revision of the state that exists
  #past // the revision of the state of the past that is shown
  #refused = '' // why nothing may be written
  #list = el('ol', { class: 'history recorded', 'aria-label': 'Changes, newest first' })
  #end = el('p', { class: 'history-end', role: 'status' })
  #more = el('button', { type: 'button', class: 'more-lines', onclick: () => this.more() }, 'Earlier changes')
  #again // whether something has happened while it was read; undefined: nothing is being read

  constructor(origin, on, signal, open) {
    this.#origin = origin
    this.#changes = new Changes(origin)
    this.#on = on
    this.#signal = signal
    this.open = open
    this.element = el('div', { class: 'history-view' }, this.#list, this.#end, this.#more)
  }

  /** start reads the newest changes, and those up to the one that is open. It throws a Refused if the gateway has none. */
  async start() {
    this.#again = false
    this.#end.textContent = 'Reading…'
    this.#more.hidden = true
    do this.#append(await this.#changes.older(page, this.#signal))
    while (this.open < this.known.at(-1)?.revision && !this.#changes.complete)
    const row = this.open && this.#list.querySelector(`[data-revision="${this.open}"]`)
    if (row) await this.#show(row)
    await this.#done()
  }

  /** #done ends a reading, and begins another one if something has happened meanwhile. */
  #done() {
    const again = this.#again
    this.#again = undefined
    return again && this.renew()
  }

  /** more reads the next changes. */
  async more() {
    this.#more.disabled = true
    this.#end.textContent = 'Reading…'
    const had = this.#more === document.activeElement
    try {
      this.#append(await this.#changes.older(page, this.#signal))
    } catch (error) {
      if (error.name !== 'AbortError') this.#end.textContent = `Not read: ${error.message}`
    } finally {
      this.#more.disabled = false
      if (had) (this.#more.hidden ? this.#list.lastElementChild?.querySelector('button') : this.#more)?.focus()
    }
  }

  /** renew reads what has happened since. The gateway may record a change a moment after it is seen, so one call at a time, and another after it. */
  async renew() {
    if (this.#again !== undefined) {
      this.#again = true
      return
    }
    this.#again = false
    try {
      const news = await this.#changes.newer(this.#signal)
      if (news === undefined) {
        this.#changes = new Changes(this.#origin)
        this.known = []
        this.#list.replaceChildren()
        return await this.start()
      } else {
        this.known.unshift(...news.filter((each) => each.type !== 'GAP'))
        this.#list.prepend(...news.map((each) => this.#row(each)))
      }
      this.#mark()
    } catch (error) {
      if (error.name !== 'AbortError') this.#end.textContent = `Not up to date: ${error.message}`
    }
    await this.#done()
  }

  /** allow says which state exists, and why it may not be changed (empty: it may be), and the revision of the state of the past that is shown. */
  allow({ live, refused, past }) {
    this.#live = live
    this.#refused = refused
    this.#past = past
    this.#mark()
  }

  #append(found) {
    this.known.push(...found.filter((each) => each.type !== 'GAP'))
    this.#list.append(...found.map((each) => this.#row(each)))
    this.#mark()
    const { complete, end } = this.#changes
    this.#more.hidden = complete
    this.#end.textContent = complete ? this.#words(end) : ''
  }

  #words({ oldest, time }) {
    const since = `Changes are recorded since revision ${number(oldest)}${time ? ', ' + timeText({ time }) : ''}.`
    if (!this.known.length) return `No change is recorded. ${since}`
    return this.known.at(-1).type === 'ADDED' ? since : `What was before is not recorded. ${since}`
  }

  #row(change) {
    if (change.type === 'GAP') return el('li', { class: 'history-gap' }, `Changes between revisions ${number(change.after)} and ${number(change.until)} are not known.`)
    const revision = number(change.revision)
    const { time } = change
    const onlyStatus = change.type === 'MODIFIED' && change.fields.length > 0 && change.fields.every((path) => /^status\b/.test(path))
    const row = el('li', { 'data-revision': change.revision, class: words[change.type] + (onlyStatus ? ' quiet' : '') },
      el('button', { type: 'button', class: 'open', 'aria-expanded': false, 'aria-label': `What revision ${revision} changed`, onclick: () => this.#toggle(row) }, revision),
      el('time', time ? { datetime: new Date(time).toISOString() } : {}, timeText(time && { time })),
      span('badge', words[change.type]), span('who', whoOf(change)), el('span', { class: 'what', title: change.fields.join('\n') }, ...whatOf(change)),
      el('span', { class: 'row-actions' }, ...this.#actions(change, revision)))
    row.change = change
    return row
  }

  #actions(change, revision) {
    const button = (label, text, run, action) => el('button', { type: 'button', 'aria-label': `${text} revision ${revision}`, 'data-action': action, onclick: run }, label)
    const restore = button('Restore…', 'Restore the state of', () => this.#on.onRestore(change), 'restore-state')
    if (change.type === 'DELETED') return [restore]
    return [button('Compare', 'Compare with what is shown:', () => this.#on.onCompare(change.revision)), button('Show', 'Show everything as of', () => this.#on.onShow(change.revision, change.time)), restore]
  }

  /** #mark marks the state of the past that is shown, and disables what cannot be restored, with the reason. */
  #mark() {
    for (const row of this.#list.children) {
      const { change } = row
      if (!change) continue
      if (change.revision === this.#past) row.setAttribute('aria-current', true)
      else row.removeAttribute('aria-current')
      const restore = row.querySelector('[data-action=restore-state]')
      const why = change.revision === this.#live ? 'This is the live state.' : this.#refused || unrestorable(change)
      restore.disabled = Boolean(why)
      restore.title = why
    }
  }

  /** redraw shows the open change again, with other secrets revealed. */
  redraw() {
    const row = this.#list.querySelector('li:has(> .change)')
    this.#close()
    if (row) this.#show(row)
  }

  #close() {
    for (const open of this.#list.querySelectorAll('.change')) {
      open.parentElement.querySelector('.open').setAttribute('aria-expanded', false)
      open.remove()
    }
  }

  #toggle(row) {
    const shown = row.querySelector('.open').getAttribute('aria-expanded') === 'true'
    this.#close()
    this.open = shown ? undefined : row.change.revision
    this.#on.onOpen()
    if (!shown) this.#show(row)
  }

  /** #show puts the difference to the state before below a row. */
  async #show(row) {
    const { change } = row
    row.querySelector('.open').setAttribute('aria-expanded', true)
    const below = el('div', { class: 'change', role: 'region', 'aria-label': `What revision ${number(change.revision)} changed` })
    row.append(below)
    const note = (text, kind = '') => el('p', { class: 'object-note ' + kind }, text)
    if (change.omitted) return below.append(note(unrestorable(change)))
    try {
      const { item, before, type } = await this.#changes.at(change.revision, this.#signal)
      const label = `Revision ${number(change.revision)}`
      below.append(...(type === 'ADDED' ? [note('Created by this change.')] : type === 'DELETED' ? [note('Deleted by this change. This was its last state.')] : []),
        ...changeView(before, type === 'DELETED' ? undefined : item, { revealed: this.#on.revealed, label }))
    } catch (error) {
      if (error.name !== 'AbortError') below.append(note(`Not read: ${error.message}`, 'bad'))
    }
    const page = row.closest('.object')
    if (page && below.getBoundingClientRect().bottom > page.getBoundingClientRect().bottom) row.scrollIntoView({ block: 'start' })
    return undefined
  }
}
