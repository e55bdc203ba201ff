// A text area for an object or a key: what is written is tried out by the gateway first, and shown as a difference, before it is stored.

import { el } from './dom.js'
import { parse, stringify } from './revtail.js'
import { yaml } from './yaml.js'
import { changeView } from './changes.js'
import { diffText, rowsOf } from './difftext.js'
import { conflictView } from './conflict.js'
import { causesView } from './causes.js'
import { withoutManagers } from './fulltext.js'
import { placeholders } from './secrets.js'

const drafts = new Map() // texts that are not stored yet, by the path of their item: {text, format, base}
addEventListener('beforeunload', (event) => { if (drafts.size) event.preventDefault() })

/** hasDraft tells whether there is a text for an item that is not stored. */
export const hasDraft = (item) => drafts.has(item.path)

/** editable is an object without what the gateway keeps: the revision, which is the condition of the write, and of a new one what makes it another one. */
function editable(value, isNew) {
  const { metadata, ...rest } = withoutManagers(value)
  const kept = { ...metadata }
  for (const name of ['resourceVersion', ...(isNew ? ['uid', 'creationTimestamp', 'generation', 'namespace'] : [])]) delete kept[name]
  return { ...rest, metadata: kept }
}

const inOrder = ({ apiVersion, kind, metadata, ...rest }) => ({ apiVersion, kind, metadata, ...rest })

/**
 * Editor edits one item. given: {base, value, text, isNew}: base is the item as it is stored, value or text what the editor begins with. on:
 * {onStored(item), onClose(), say(text), revealed}
 */
export class Editor {
  element = el('div', { class: 'editor' })
  #origin
  #base
  #isNew
  #on
  #format = 'yaml'
  #initial // the text that the editor has begun with
  #value // the object that it is
  #hidden // secret values that it does not show
  #restore // puts them back
  #area = el('textarea', { id: 'editor-text', spellcheck: 'false', autocapitalize: 'off', autocomplete: 'off', wrap: 'off', 'aria-label': 'Text to store', 'aria-describedby': 'editor-hint' })
  #below = el('div', { class: 'editor-below' })
  #ttl = el('input', { id: 'editor-ttl', placeholder: 'none', autocomplete: 'off', spellcheck: 'false' })
  #name = el('input', { id: 'editor-key', autocomplete: 'off', spellcheck: 'false' })
  #oneLine = el('input', { type: 'checkbox', id: 'editor-one-line' })

  constructor(origin, { base, value, text, isNew = false }, on) {
    this.#origin = origin
    this.#base = base
    this.#isNew = isNew
    this.#on = on
    const draft = drafts.get(origin.item.path)
    if (origin.isKey) this.#openKey(text ?? '')
    else this.#openObject(value)
    this.#initial = this.#area.value
    if (draft) this.#resume(draft)
    this.#area.addEventListener('input', () => this.#keep())
    this.#area.addEventListener('keydown', (event) => this.#key(event))
    this.element.replaceChildren(this.#bar(Boolean(draft)), this.#area, this.#below)
    this.#edit()
  }

  #resume({ text, format, base }) {
    this.#area.value = text
    this.#format = format
    this.#base = base
  }

  /** #openObject shows an object: one that exists without its secrets, of a new one what its template has. */
  #openObject(value) {
    const { item } = this.#origin
    const { value: shown, hidden, restore } = item.value ? placeholders({ path: item.path, id: item.id, value }, this.#on.revealed) : { value, hidden: 0, restore: (text) => text }
    this.#hidden = hidden
    this.#restore = restore
    this.#value = inOrder(editable(shown, this.#isNew))
    this.#area.value = this.#write(this.#value)
    this.#name.value = item.namespace ?? ''
  }

  /** #openKey shows JSON that is stored on one line on several, if that changes nothing but white space. */
  #openKey(text) {
    this.#format = 'text'
    this.#restore = (text) => text
    let value
    try {
      value = parse(text)
    } catch { /* it is no JSON */ }
    const plain = value !== null && typeof value === 'object' && stringify(value) === text
    this.#oneLine.checked = this.#oneLine.plain = plain
    this.#area.value = plain ? stringify(value, 2) : text
    this.#name.value = this.#origin.item.id
    if (this.#base?.address?.lease) this.#on.say(`The key has the lease ${this.#base.address.lease}, which ends when it is written: give it a time to live, or it stays.`)
  }

  #write(value) {
    return this.#format === 'json' ? stringify(value, 2) : yaml(value)
  }

  #bar(resumed) {
    const what = this.#isNew ? 'New' : `Editing revision ${this.#base.revision.toLocaleString('en')}`
    const format = el('select', { id: 'editor-format', 'aria-label': 'Format', onchange: () => this.#convert(format) }, el('option', { value: 'yaml' }, 'YAML'), el('option', { value: 'json' }, 'JSON'))
    format.value = this.#format
    const isKey = this.#origin.isKey
    return el('div', { class: 'editor-bar' }, el('b', {}, what), isKey ? '' : format,
      this.#isNew && (isKey || this.#name.value) ? el('label', {}, isKey ? 'Key ' : 'Namespace ', this.#name) : '', isKey ? el('label', {}, 'Time to live ', this.#ttl) : '',
      isKey && this.#oneLine.plain ? el('label', {}, this.#oneLine, ' store on one line') : '',
      this.#hidden ? el('span', { class: 'dim' }, `${this.#hidden === 1 ? 'One secret value is' : this.#hidden + ' secret values are'} not shown: reveal it to edit it.`) : '',
      resumed ? el('span', { class: 'dim' }, 'Your text from before.') : '')
  }

  #convert(select) {
    const changed = this.#area.value !== this.#initial
    const to = select.value
    try {
      if (changed && this.#format === 'yaml') throw new Error('A text in YAML that was changed stays YAML.')
      const value = changed ? parse(this.#area.value) : this.#value
      this.#format = to
      this.#area.value = this.#write(value)
      if (!changed) this.#initial = this.#area.value
    } catch (error) {
      select.value = this.#format
      this.#on.say(error.message)
    }
  }

  #keep() {
    const { path } = this.#origin.item
    if (this.#area.value === this.#initial) drafts.delete(path)
    else drafts.set(path, { text: this.#area.value, format: this.#format, base: this.#base })
  }

  /** #key: Enter keeps the indentation, Ctrl+Enter reviews, Ctrl+] and Ctrl+[ indent. Tab leaves the text, as everywhere. */
  #key(event) {
    const { value, selectionStart: start } = this.#area
    const control = event.ctrlKey || event.metaKey
    if (event.key === 'Escape') event.stopPropagation()
    else if (event.key === 'Enter' && control) event.preventDefault(), this.review()
    else if (control && (event.key === ']' || event.key === '[')) event.preventDefault(), this.#indent(event.key === ']')
    else if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      const indent = /^[ \t]*/.exec(value.slice(value.lastIndexOf('\n', start - 1) + 1, start))[0]
      event.preventDefault()
      this.#insert('\n' + indent)
    }
  }

  #indent(more) {
    const { value, selectionStart, selectionEnd } = this.#area
    const from = value.lastIndexOf('\n', selectionStart - 1) + 1
    const lines = value.slice(from, selectionEnd).split('\n').map((line) => (more ? '  ' + line : line.replace(/^ {1,2}/, '')))
    this.#area.setSelectionRange(from, selectionEnd)
    this.#insert(lines.join('\n'))
    this.#area.setSelectionRange(from, from + lines.join('\n').length)
  }

  /** #insert replaces what is selected, so that the browser can undo it. */
  #insert(text) {
    if (document.execCommand('insertText', false, text)) return
    this.#area.setRangeText(text, this.#area.selectionStart, this.#area.selectionEnd, 'end')
    this.#keep()
  }

  focus() {
    this.#area.setSelectionRange(0, 0)
    this.#area.focus()
    this.#area.scrollTop = 0
  }

  // The steps: edit, review, store

  #step(readonly, ...nodes) {
    this.#area.readOnly = readonly
    this.#area.hidden = readonly
    this.#below.replaceChildren(...nodes)
  }

  #edit(...notes) {
    this.#step(false, ...notes, el('p', { class: 'object-note', id: 'editor-hint' }, 'Ctrl+Enter reviews, Ctrl+] and Ctrl+[ indent lines, Tab leaves the text.'),
      el('menu', {}, button('Discard', 'discard', () => this.#discard()), button('Review', 'review', () => this.review(), 'primary')))
  }

  #discard() {
    drafts.delete(this.#origin.item.path)
    this.#on.onClose()
  }

  /** review lets the gateway try the text out, and shows what it would store. */
  async review() {
    this.#on.say('The gateway checks the text…')
    try {
      if (this.#origin.isKey) return this.#reviewKey()
      const text = this.#restore(this.#area.value)
      const type = this.#format === 'json' ? 'application/json' : 'application/yaml'
      const origin = this.#isNew && this.#name.value ? this.#origin.other(this.#name.value.trim() + '/-') : this.#origin
      const { item, warnings } = await origin.tryOut(text, type, this.#isNew ? undefined : this.#base.revision)
      if (!this.#isNew && item.revision !== this.#base.revision) return await this.#conflict()
      this.#confirm(warnings, changeView(this.#base, item, { revealed: this.#on.revealed, label: 'What would be stored' }), () => origin.write(item, this.#isNew ? undefined : this.#base.revision))
    } catch (error) {
      await this.#refused(error)
    }
  }

  #reviewKey() {
    let text = this.#area.value
    const warnings = []
    const wasJSON = this.#base?.encoding === 'json' || this.#base?.address?.encoding === 'json'
    try {
      const value = parse(text)
      if (this.#oneLine.checked) text = stringify(value)
    } catch (error) {
      if (wasJSON) warnings.push(`The value was JSON, and this text is not: ${error.message}`)
    }
    const origin = this.#isNew ? this.#origin.other(this.#name.value) : this.#origin
    const before = this.#isNew ? [] : this.#initial.split('\n')
    const shown = [diffText(rowsOf(before, this.#area.value.split('\n')), { language: 'text', label: 'What would be stored' })]
    this.#confirm(warnings, shown, async () => {
      await origin.writeKey(text, this.#isNew ? undefined : this.#base.revision, this.#ttl.value.trim())
      return origin.read()
    })
  }

  #confirm(warnings, nodes, write) {
    this.#on.say('')
    const store = button(this.#isNew ? 'Create' : 'Save', 'save', async () => {
      store.disabled = true
      try {
        const item = await write()
        drafts.delete(this.#origin.item.path)
        this.#on.onStored(item)
      } catch (error) {
        await this.#refused(error)
      }
    }, 'primary')
    this.#step(true, el('h3', {}, 'What would be stored'),
      warnings.length ? el('ul', { class: 'warnings', 'aria-label': 'Warnings' }, ...warnings.map((text) => el('li', {}, text))) : '',
      ...nodes, el('menu', {}, button('Back to the text', 'back', () => { this.#edit(); this.#area.focus() }), store))
    store.focus()
  }

  async #refused(error) {
    this.#on.say('')
    if (!this.#isNew && (error.status === 409 || error.status === 412)) return this.#conflict()
    this.#edit(causesView(error, this.#area))
    this.#area.focus()
  }

  /** #conflict shows what was stored meanwhile beside what is in the editor, and lets one go on from both. */
  async #conflict() {
    const theirs = await this.#origin.read()
    if (!theirs) {
      this.#edit(el('p', { class: 'object-note bad', role: 'alert' }, 'It was deleted meanwhile. Your text is still here.'))
      return
    }
    const text = this.#origin.isKey ? new TextDecoder().decode(await this.#origin.bytesOf()) : undefined
    const other = new Editor(this.#origin, { base: theirs, value: theirs.value, text }, this.#on).#begun(this.#format)
    const lines = { base: this.#initial.split('\n'), mine: this.#area.value.split('\n'), theirs: other.text.split('\n') }
    this.#step(true, ...conflictView({ base: this.#base, theirs, lines }, {
      onRebase: (lines) => {
        this.#base = theirs
        this.#initial = other.text
        this.#value = other.value
        this.#restore = other.restore
        this.#area.value = lines.join('\n')
        this.element.firstElementChild.replaceWith(this.#bar(false))
        this.#keep()
        this.#edit()
        this.#on.say(`Your changes are on revision ${theirs.revision.toLocaleString('en')} now. Review them.`)
        this.#area.focus()
      },
      onDiscard: () => this.#discard(),
      onBack: () => { this.#edit(); this.#area.focus() },
    }))
  }

  /** #begun is what the editor has begun with, in a format. */
  #begun(format) {
    if (this.#origin.isKey) return { text: this.#initial, restore: this.#restore }
    this.#format = format
    return { text: this.#write(this.#value), value: this.#value, restore: this.#restore }
  }
}

const button = (label, action, run, kind) => el('button', { type: 'button', class: kind, 'data-action': action, onclick: run }, label)
