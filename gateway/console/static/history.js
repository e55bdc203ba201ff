// The changes of one item that etcd still has, read back step by step: who made them, when, and what they changed.

import { el } from './dom.js'
import { compared } from './source.js'
import { diff } from './diff.js'
import { same } from './revtail.js'

const page = 20 // changes that are read at once

/**
 * walk reads the changes of an item, newest first: {item, before}. The last one has no `before` but says why: `created`, or `compacted`: etcd
 * does not have what was before.
 */
export async function* walk(origin, item, signal) {
  for (let at = item; ;) {
    const change = await changeOf(origin, at, signal)
    yield change
    if (!change.before) return
    at = change.before
  }
}

/** changeOf is the change that made a state. */
export async function changeOf(origin, item, signal) {
  if (item.createRevision === item.revision || item.revision <= 1) return { item, created: true }
  try {
    const before = await origin.read(item.revision - 1, signal)
    return before ? { item, before } : { item, created: true }
  } catch (error) {
    if (!error.gone) throw error
    return { item, compacted: true }
  }
}

/** changeAt is the change that was made at a revision, or the last one before it. */
export async function changeAt(origin, revision, signal) {
  const item = await origin.read(revision, signal)
  if (!item) throw new Error(`it was not there at revision ${revision.toLocaleString('en')}.`)
  return changeOf(origin, item, signal)
}

const managersOf = (item) => item?.value?.metadata?.managedFields ?? []
const isSameManager = (a, b) => a.manager === b.manager && a.operation === b.operation && a.subresource === b.subresource && a.apiVersion === b.apiVersion

/** gains tells whether the fields of a manager have one that they did not have. */
const gains = (before = {}, after = {}) => Object.entries(after).some(([name, fields]) => !(name in before) || gains(before[name], fields))

/**
 * managersOfChange are the managers that made a change: whose entry is new or has another time; in the same second, whose fields have grown, and
 * if none have, whose fields are others. Of a change that is not known they are the newest.
 */
function managersOfChange({ item, before, compacted }) {
  const all = managersOf(item)
  const newest = all.map((each) => each.time ?? '').sort().at(-1)
  const last = all.filter((each) => newest && each.time === newest)
  if (compacted) return last
  const old = (each) => managersOf(before).find((other) => isSameManager(each, other))
  const written = all.filter((each) => !old(each) || old(each).time !== each.time)
  if (written.length) return written
  const grown = last.filter((each) => gains(old(each).fieldsV1, each.fieldsV1)) // from others, whose fields become fewer
  if (grown.length) return grown
  const changed = last.filter((each) => !same(old(each).fieldsV1, each.fieldsV1))
  return changed.length ? changed : last
}

/** whoOf says who made a change: manager, operation and subresource; empty if the state does not say. */
export const whoOf = (change) => managersOfChange(change).map(({ manager, operation, subresource }) => `${manager} (${operation}${subresource ? ', ' + subresource : ''})`).join(', ')

/** timeOfChange is when a change was made: {time, about}; undefined: neither the state nor timeOf(revision) says. */
export function timeOfChange(change, timeOf) {
  const times = managersOfChange(change).map((each) => Date.parse(each.time)).filter((time) => !Number.isNaN(time))
  if (times.length) return { time: Math.max(...times), about: false }
  if (change.created && change.item.created) return { time: Date.parse(change.item.created), about: false }
  return timeOf?.(change.item.revision)
}

/** timeText is a time for people, with the date unless it is of today. */
export function timeText(known, now = new Date()) {
  if (!known || Number.isNaN(known.time)) return ''
  const date = new Date(known.time)
  const day = date.toDateString() === now.toDateString() ? '' : date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric' }) + ' '
  return (known.about ? 'about ' : '') + day + date.toLocaleTimeString('en-GB')
}

/** History is the list of the changes of one item, with a button that reads more of them. */
export class History {
  known = [] // changes that have been read
  #walk
  #list = el('ol', { class: 'history', 'aria-label': 'Changes, newest first' })
  #end = el('p', { class: 'history-end', role: 'status' })
  #more = el('button', { type: 'button', class: 'more-lines', onclick: () => this.more() }, 'Earlier changes')
  #on

  /** on: {timeOf(revision), onDiff(change), onShow(revision), onCompare(revision)} */
  constructor(origin, item, on, signal) {
    this.#walk = walk(origin, item, signal)
    this.#on = on
    this.element = el('div', { class: 'history-view' }, this.#list, this.#end, this.#more)
  }

  /** more reads the next changes. */
  async more() {
    this.#more.disabled = true
    this.#end.textContent = 'Reading…'
    const had = this.#more === document.activeElement
    try {
      for (let i = 0; i < page; i++) {
        const { value: change, done } = await this.#walk.next()
        if (done) break
        this.known.push(change)
        this.#list.append(this.#row(change))
        if (change.before) continue
        this.#more.remove()
        this.#end.textContent = change.created ? `Created at revision ${change.item.revision.toLocaleString('en')}.`
          : `etcd has compacted what was before revision ${change.item.revision.toLocaleString('en')}: earlier changes cannot be shown.`
        return
      }
      this.#end.textContent = ''
    } catch (error) {
      if (error.name === 'AbortError') return
      this.#end.textContent = `Not read: ${error.message}`
      this.#more.remove() // a walk that has failed is over
    } finally {
      this.#more.disabled = false
      if (had) this.#more.focus()
    }
  }

  #row(change) {
    const { item, before, created } = change
    const revision = item.revision.toLocaleString('en')
    const found = before ? diff(compared(before.value), compared(item.value), 0).found : undefined
    const what = created ? 'created' : found === undefined ? 'the change is not known' : found === 0 ? 'written, nothing changed' : found + (found === 1 ? ' field' : ' fields')
    const time = timeOfChange(change, this.#on.timeOf)
    return el('li', { 'data-revision': item.revision },
      el('b', {}, revision), el('time', time ? { datetime: new Date(time.time).toISOString() } : {}, timeText(time)),
      el('span', { class: 'who' }, whoOf(change)), el('span', { class: 'what' }, what),
      el('span', { class: 'row-actions' },
        el('button', { type: 'button', 'aria-label': `What revision ${revision} changed`, onclick: () => this.#on.onDiff(change) }, 'Diff'),
        el('button', { type: 'button', 'aria-label': `Compare revision ${revision} with what is shown`, onclick: () => this.#on.onCompare(item.revision) }, 'Compare'),
        el('button', { type: 'button', 'aria-label': `Show everything as of revision ${revision}`, onclick: () => this.#on.onShow(item.revision) }, 'Show')))
  }
}
