// An item whole, as YAML, JSON or the text that it is.

import { el } from './dom.js'
import { edits } from './diff.js'
import { stringify } from './revtail.js'
import { yamlLines } from './yaml.js'
import { textView } from './textview.js'
import { maskedValue } from './secrets.js'

/** withoutManagers is an object without the part that says who manages which field. */
export function withoutManagers(value) {
  if (!value?.metadata?.managedFields) return value
  const { managedFields, ...metadata } = value.metadata
  return { ...value, metadata }
}

/** FullText draws the text of an item, and marks the lines that are not in what it has drawn before. */
export class FullText {
  field // the path of the line that was chosen
  #managers = false // whether managedFields are shown
  #before // {kind, lines}
  #onChange

  constructor(onChange) {
    this.#onChange = onChange
  }

  /** forget lets the next text be drawn without marks. */
  forget() {
    this.#before = undefined
  }

  /** value is what is shown of an item: dots for secrets, and managedFields only if they are asked for. */
  value(item, revealed) {
    const value = maskedValue(item, { revealed })
    return this.#managers ? value : withoutManagers(value)
  }

  draw(item, kind, revealed) {
    const value = this.value(item, revealed)
    if (value === undefined) return [el('p', { class: 'object-note' }, 'The value is not known.')]
    const isText = typeof value === 'string' && kind === 'yaml'
    const language = isText ? 'text' : kind
    const lines = language === 'yaml' ? yamlLines(value) : (isText ? value : stringify(value, 2)).split('\n').map((text) => ({ text }))
    const marked = this.#changed(language, lines)
    const view = textView(lines, {
      language, label: `${item.id} as ${isText ? 'text' : kind.toUpperCase()}`, changed: (line) => marked.has(line), onPick: (line) => { this.field = line.path },
    })
    view.id = 'detail-value'
    return [item.value?.metadata?.managedFields ? this.#switch() : undefined, view].filter(Boolean)
  }

  #changed(language, lines) {
    const texts = lines.map((line) => line.text)
    const before = this.#before?.language === language ? this.#before.texts : undefined
    this.#before = { language, texts }
    return new Set(before && edits(before, texts).flatMap((edit) => lines.slice(edit.b, edit.bEnd)))
  }

  #switch() {
    const box = el('input', { type: 'checkbox', id: 'object-managers', onchange: () => {
      this.#managers = box.checked
      this.forget()
      this.#onChange()
    } })
    box.checked = this.#managers
    return el('label', { class: 'object-switch' }, box, 'managedFields')
  }
}
