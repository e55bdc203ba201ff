// The stream of events, newest first, each with the fields that it has changed. It shows what a person can follow, and counts the rest.

import { el, excerpt, span, textOf } from './dom.js'
import { diff, lines } from './diff.js'
import { compared } from './source.js'
import { stringify } from './revtail.js'
import { mask } from './secrets.js'

const most = 200 // events in the list
const perSecond = 25 // events that are shown, and as many at once as come after silence
const burst = 60
const mostFields = 8
const mostLines = 6

/** Events is the list. */
export class Events {
  paused = false
  #list
  #onPick
  #waiting = [] // the newest of what has come since the last time that something was shown
  #left = 0 // out, since then
  #tokens = burst
  #at = performance.now()

  /** onPick(item, isDeleted) is called when an event is chosen. */
  constructor(list, onPick) {
    this.#list = list
    this.#onPick = onPick
  }

  clear() {
    this.#list.replaceChildren()
    this.#waiting = []
    this.#left = 0
  }

  /** add takes an event; of those that an expression chooses, one that has gone need not be deleted. */
  add(frame, expression) {
    this.#waiting.push({ frame, time: new Date(), badge: expression && frame.type === 'deleted' ? 'gone' : frame.type })
    if (this.#waiting.length > 2 * burst) this.#left += this.#waiting.splice(0, burst).length
  }

  /** flush shows what it may, and returns how many it has shown and left out. */
  flush() {
    const now = performance.now()
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#at) / 1000) * perSecond)
    this.#at = now
    if (!this.#waiting.length) return { shown: 0, left: 0 }
    const room = this.paused ? 0 : Math.floor(this.#tokens)
    const shown = room ? this.#waiting.slice(-room) : []
    const left = this.#left + this.#waiting.length - shown.length
    this.#tokens -= shown.length
    this.#waiting = []
    this.#left = 0
    const nodes = shown.reverse().map((each) => this.#event(each))
    if (left && !this.paused) nodes.push(this.#gap(left))
    this.#list.prepend(...nodes.filter(Boolean))
    while (this.#list.childElementCount > most) this.#list.lastElementChild.remove()
    return { shown: shown.length, left }
  }

  /** note shows a line about the stream itself. */
  note(text) {
    this.#list.prepend(el('li', { class: 'note' }, text))
  }

  /** gap counts what is left out between two events; gaps that meet are one. */
  #gap(left) {
    const last = this.#list.firstElementChild
    const before = last?.classList.contains('gap') ? Number(last.dataset.left) : 0
    if (before) last.remove()
    return el('li', { class: 'gap', 'data-left': before + left }, `${(before + left).toLocaleString('en')} more, not shown`)
  }

  #event({ frame, time, badge }) {
    const { item, type, revision } = frame
    const pick = el('button', { type: 'button', class: 'name', title: item.id, onclick: () => this.#onPick(item, badge === 'deleted') }, item.id)
    return el('li', { class: 'event ' + type },
      el('div', { class: 'line' }, span('badge', badge), pick, span('revision', '#' + revision), el('time', {}, time.toLocaleTimeString('en-GB'))),
      this.#fields(frame))
  }

  #fields({ type, old: given, item: whole }) {
    const before = given === undefined ? undefined : { id: whole.id, path: whole.path, value: given }
    const item = mask(whole, { before })
    const old = mask(before)?.value
    const after = type === 'deleted' ? undefined : compared(item.value)
    if (type === 'deleted' || old === undefined) {
      const value = item.shown ?? (type === 'deleted' ? old : item.value)
      return value === undefined ? '' : el('div', { class: 'fields' }, el('div', { class: type === 'deleted' ? 'removed' : 'added' }, excerpt(textOf(value), 160)))
    }
    const { fields, found } = diff(compared(old), after, mostFields)
    if (!found) return el('div', { class: 'fields' }, span('same', 'written again, nothing else changed'))
    const nodes = fields.map((field) => this.#field(field))
    if (found > fields.length) nodes.push(span('same', `and ${found - fields.length} more fields`))
    return el('div', { class: 'fields' }, ...nodes)
  }

  #field({ path, before, after }) {
    const name = path ? span('path', path) : ''
    const text = lines(before, after)
    if (text) {
      const some = (kind, list) => [
        ...list.slice(0, mostLines).map((line) => el('div', { class: kind }, excerpt(line, 160) || ' ')),
        ...(list.length > mostLines ? [span('same', `and ${list.length - mostLines} more lines`)] : []),
      ]
      return el('div', { class: 'field' }, name, ...some('removed', text.removed), ...some('added', text.added))
    }
    const [a, b] = apart(before, after, path ? (value) => stringify(value) : textOf)
    return el('div', { class: 'field' }, name,
      before === undefined ? '' : span('removed', a), before === undefined || after === undefined ? '' : span('arrow', '→'), after === undefined ? '' : span('added', b))
  }
}

const shownValue = 90

/** apart shows two values; of long ones the part where they begin to differ. */
function apart(before, after, text) {
  let a = text(before) ?? ''
  let b = text(after) ?? ''
  if (Math.max(a.length, b.length) > shownValue) {
    let same = 0
    while (same < a.length && a[same] === b[same]) same++
    const from = before === undefined || after === undefined ? 0 : Math.max(0, same - 20)
    const cut = (text) => (from ? '…' : '') + text.slice(from)
    a = cut(a)
    b = cut(b)
  }
  return [excerpt(a, shownValue), excerpt(b, shownValue)]
}
