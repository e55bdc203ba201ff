// The page of one object or key: its text, what has changed, its history, comparisons, and changing it. It shows one state, and says which.

import { el } from './dom.js'
import { FullText } from './fulltext.js'
import { isSecret, secretsPanel } from './secrets.js'
import { byHand, copiesOf, copy, copyMenu } from './copy.js'
import { Origin } from './origin.js'
import { tabList } from './tabs.js'
import { drawChange } from './changes.js'
import { HistoryTab } from './historytab.js'
import { drawWhen } from './when.js'
import { Comparison } from './compare.js'
import { Actions } from './actions.js'
import { restore } from './restore.js'

const number = (revision) => revision.toLocaleString('en')
const views = [['yaml', 'YAML'], ['json', 'JSON'], ['diff', 'Diff'], ['history', 'History'], ['compare', 'Compare']]

/**
 * ObjectPage shows an item inside an element, until it is closed. onRevision(revision) asks for the state of a revision, undefined for the
 * live one, and may have its time; onClose() tells that the user has closed it; onState(state) that state() has another value. timeOf(revision) is the time of a
 * revision, {time, about}, where it is known.
 */
export class ObjectPage {
  item
  #source
  #origin
  #on
  #element
  #past // the revision that is shown; undefined: the live state
  #deleted // the revision at which it was deleted
  #missing // why there is no state of the past revision
  #revealed = new Set() // secrets of this item that are shown
  #text = new FullText(() => this.#draw())
  #change // the change that Diff shows, or {at}: that of a revision; undefined: that of the item
  #history
  #comparison
  #actions
  #editor // takes the place of the views
  #reading = new AbortController() // ends what is read for the view that is shown
  #item = new AbortController() // ends what is read for the item
  #parts = {}
  #tabs

  constructor(element, { onRevision = () => {}, onClose = () => {}, onState = () => {}, timeOf = () => undefined } = {}) {
    this.#element = element
    this.#on = { onRevision, onClose, onState, timeOf }
    this.#history = this.#newHistory()
    this.#build()
  }

  #build() {
    const p = this.#parts
    p.title = el('h2', { class: 'object-title', id: 'detail-title' })
    p.when = el('p', { class: 'object-when' })
    p.facts = el('dl', { class: 'object-facts' })
    p.said = el('p', { class: 'object-said', role: 'status', 'aria-live': 'polite' })
    p.secrets = el('div', { class: 'object-secrets' })
    p.panel = el('div', { class: 'object-panel', role: 'tabpanel', id: 'object-panel' })
    p.copy = copyMenu(() => this.#copies(), (text, label) => this.#copy(text, label))
    this.#actions = new Actions({ revealed: this.#revealed, say: (text) => this.#say(text), onEditor: (editor) => this.#edit(editor), onStored: (item) => this.#stored(item), onRefused: (refused) => this.#history.allow({ refused }) })
    this.#tabs = tabList(views, p.panel, () => this.#choose())
    this.#element.classList.add('object')
    this.#element.replaceChildren(
      el('div', { class: 'bar' }, p.title, el('span', { class: 'grow' }), el('button', { type: 'button', id: 'detail-close', 'aria-label': 'Close', onclick: () => this.#close() }, '✕')),
      p.when, p.facts, p.bar = el('div', { class: 'object-bar' }, this.#tabs.element, this.#actions.element, p.copy), this.#actions.why, p.said, p.secrets, p.panel)
  }

  /**
   * show shows an item: live or as of a revision, with a tab, a comparison {left, right} and the revision of the change that Diff shows. What was
   * revealed of another item is hidden again.
   */
  show(source, item, view = {}) {
    const { tab, at, compare, change } = view
    if (this.item?.path !== item.path) this.#reset()
    if ('change' in view || this.#past !== at) this.#change = change && { at: Number(change) }
    this.#source = source
    this.#take(item)
    this.#past = at
    this.#deleted = this.#missing = undefined
    this.#element.hidden = false
    if (compare) this.#compare().sides = { ...compare }
    if (tab ?? compare) this.#tabs.choose(tab ?? 'compare')
    this.#draw()
    this.#on.onState(this.state())
  }

  #take(item) {
    this.item = item
    this.#origin = new Origin(this.#source, item)
  }

  #reset() {
    this.#item.abort()
    this.#item = new AbortController()
    this.#reading.abort()
    this.#revealed.clear()
    this.#text.forget()
    this.#text.field = undefined
    this.#history = this.#newHistory()
    this.#comparison = undefined
    this.#change = undefined
    this.#editor = undefined
    this.#say('')
    this.#parts.panel.scrollTop = 0
  }

  /** update takes a newer state of the item that is shown, and marks the lines that it has changed; in the past it does nothing. */
  update(item) {
    if (!this.item || item.path !== this.item.path || this.#past !== undefined || item.revision === this.item.revision) return
    this.#take(item)
    this.#deleted = undefined
    this.#say(`Changed at revision ${number(item.revision)}`)
    this.#draw()
  }

  /** deleted says that the item was deleted; its last state stays. */
  deleted(revision) {
    if (!this.item || this.#past !== undefined || this.#deleted !== undefined) return
    this.#deleted = revision
    this.#say(`Deleted at revision ${number(revision)}`)
    this.#drawWhen()
    this.#history.renew()
  }

  /** past shows the item as of a revision; undefined: the live state, which update or deleted brings. */
  async past(revision) {
    if (revision !== this.#past) this.#change = undefined
    this.#past = revision
    if (!this.item) return
    this.#missing = undefined
    this.#drawWhen()
    if (revision === undefined) return
    const { signal } = this.#item
    const then = await this.#origin.read(revision, signal).catch((error) => error)
    if (signal.aborted || this.#past !== revision) return
    if (then && !(then instanceof Error)) this.show(this.#source, then, { at: revision })
    else this.#missing = then ? then.message : 'It was not there then.'
    this.#drawWhen()
  }

  close() {
    this.item = undefined
    this.#reset()
    this.#element.hidden = true
  }

  #close() {
    this.close()
    this.#on.onClose()
  }

  /** state is what a URL needs to show the same: {object, tab, compare, change}. */
  state() {
    if (!this.item) return {}
    const { chosen } = this.#tabs
    const change = chosen === 'diff' ? this.#change?.item?.revision ?? this.#change?.at : chosen === 'history' ? this.#history.open : undefined
    return { object: this.item.id, tab: chosen, change, ...(chosen === 'compare' && this.#comparison ? { compare: { ...this.#comparison.sides } } : {}) }
  }

  // What is shown

  #choose() {
    this.#change = undefined
    this.#editor = undefined
    if (!this.item) return
    this.#text.forget()
    this.#draw()
    this.#on.onState(this.state())
  }

  #draw() {
    const p = this.#parts
    const { item } = this
    p.title.textContent = p.title.title = item.id
    this.#drawWhen()
    const facts = Object.entries(item.detail).filter(([name, value]) => value !== undefined && name !== 'revision')
    p.facts.replaceChildren(...facts.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, String(value)))))
    p.secrets.replaceChildren(...this.#secrets())
    this.#tabs.label('yaml', typeof item.value === 'string' ? 'Text' : 'YAML')
    p.bar.hidden = false
    this.#drawPanel()
  }

  /** create opens an editor for a new item of a source; if that is not allowed it says why. */
  async create(source) {
    this.close()
    const p = this.#parts
    this.#source = source
    this.#element.hidden = false
    p.title.textContent = `New: ${source.title}`
    p.bar.hidden = true
    this.#actions.why.hidden = true
    for (const part of [p.when, p.facts, p.secrets, p.panel]) part.replaceChildren()
    const refused = await this.#actions.create(source)
    if (refused) this.#say(refused)
  }

  #edit(editor) {
    this.#editor = editor
    if (editor) this.#parts.panel.replaceChildren(editor.element)
    else if (this.item) this.#draw()
    else this.#close()
  }

  #stored(item) {
    this.#editor = undefined
    this.#change = undefined
    this.#text.forget()
    this.show(this.#source, item)
    this.#say(`Stored as revision ${number(item.revision)}`)
  }

  #drawWhen() {
    const { when } = this.#parts
    const { item } = this
    const isPast = this.#past !== undefined
    this.#history.allow({ live: isPast || this.#deleted !== undefined ? undefined : item.revision, past: isPast ? item.revision : undefined })
    this.#actions.show(this.#origin, { past: isPast, gone: !isPast && this.#deleted !== undefined })
    drawWhen(when, { item, past: this.#past, deleted: this.#deleted, missing: this.#missing, timeOf: this.#on.timeOf, onLive: () => this.#on.onRevision(undefined) })
  }

  #drawPanel() {
    const { panel } = this.#parts
    if (this.#editor) return
    this.#reading.abort()
    this.#reading = new AbortController()
    const { scrollTop } = panel
    const draw = { diff: () => this.#drawChange(), history: () => this.#drawHistory(), compare: () => this.#drawComparison() }[this.#tabs.chosen]
    if (draw) draw()
    else panel.replaceChildren(...this.#text.draw(this.item, this.#tabs.chosen, this.#revealed))
    panel.scrollTop = scrollTop
  }

  #drawChange() {
    drawChange(this.#parts.panel, {
      origin: this.#origin, item: this.item, change: this.#change, signal: this.#reading.signal, revealed: this.#revealed, timeOf: this.#on.timeOf,
      onChange: (change) => this.#showChange(change),
    })
  }

  #showChange(change) {
    this.#tabs.choose('diff')
    this.#change = change
    this.#draw()
    this.#on.onState(this.state())
  }

  #newHistory() {
    return new HistoryTab({
      timeOf: (revision) => this.#on.timeOf(revision), revealed: this.#revealed, onDiff: (change) => this.#showChange(change),
      onShow: (revision, time) => this.#on.onRevision(revision, time), onOpen: () => this.#on.onState(this.state()),
      onRestore: (change) => restore(this.#origin, change, { revealed: this.#revealed, onStored: (item) => this.#restored(item) }),
      onCompare: (revision) => {
        this.#tabs.choose('compare')
        this.#compare().sides = { left: String(revision), right: 'shown' }
        this.#draw()
        this.#on.onState(this.state())
      },
    }, this.#item.signal)
  }

  #restored(item) {
    if (this.#past !== undefined) this.#on.onRevision(undefined)
    this.#stored(item)
  }

  #drawHistory() {
    if (this.#change?.at) this.#history.open ??= this.#change.at
    this.#history.draw(this.#origin)
    if (!this.#parts.panel.contains(this.#history.element)) this.#parts.panel.replaceChildren(this.#history.element)
  }

  #compare() {
    this.#comparison ??= new Comparison(this.#origin, {
      current: () => this.item, revealed: this.#revealed, known: () => this.#history.known, onChange: () => this.#on.onState(this.state()),
    })
    return this.#comparison
  }

  #drawComparison() {
    const view = this.#compare()
    if (!view.sides.left && this.item.revision > 1) view.sides.left = String(this.item.revision - 1)
    if (!this.#parts.panel.contains(view.element)) this.#parts.panel.replaceChildren(view.element)
    view.draw()
  }

  #secrets() {
    if (!isSecret(this.item)) return []
    return [secretsPanel(this.item, this.#revealed, {
      onReveal: (id, shown) => {
        if (shown) this.#revealed.add(id)
        else this.#revealed.delete(id)
        this.#text.forget()
        this.#history.redraw()
        this.#draw()
        this.#parts.secrets.querySelector(`[data-secret="${CSS.escape(id)}"] button`)?.focus()
      },
      onCopy: (text, label) => this.#copy(text, label),
    }) ?? '']
  }

  #copies() {
    return copiesOf(this.item, { shown: this.#text.value(this.item, this.#revealed), at: this.#past, field: this.#text.field })
  }

  async #copy(text, label) {
    if (await copy(text)) this.#say(`Copied: ${label}`)
    else byHand(text, label)
  }

  #say(text) {
    this.#parts.said.textContent = text
  }
}
