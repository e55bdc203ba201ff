// What a user can do with an item: edit it, delete it, make another one. What is not allowed is disabled, with the reason.

import { el } from './dom.js'
import { Origin } from './origin.js'
import { Editor, hasDraft } from './editor.js'
import { templateOf } from './template.js'

const settle = 250 // ms that an item is shown before the gateway is asked what is allowed: not for each row that is passed

const button = (label, action, run, kind) => el('button', { type: 'button', class: kind, 'data-action': action, onclick: run }, label)

/**
 * Actions are the buttons of an item, and the editor that they open. on: {revealed, say(text), onEditor(editor|undefined),
 * onStored(item), onRefused(why) (empty: the item may be changed)}
 */
export class Actions {
  element = el('span', { class: 'object-actions' })
  why = el('p', { class: 'object-note object-why', hidden: '' })
  #on
  #origin
  #live // the item as it is now
  #edit = button('Edit', 'edit', () => this.edit())
  #delete = button('Delete', 'delete', () => this.#remove())
  #asking
  #timer

  constructor(on) {
    this.#on = on
    this.element.append(this.#edit, this.#delete)
  }

  /** show is called with the item that is shown: past is its revision if it is not the live one, gone says that it was deleted. */
  show(origin, { past, gone }) {
    const other = this.#origin?.item.path !== origin.item.path
    this.#origin = origin
    this.#edit.textContent = gone ? 'Create again' : past ? 'Restore' : hasDraft(origin.item) ? 'Go on editing' : 'Edit'
    this.#edit.dataset.mode = gone ? 'create' : past ? 'restore' : 'edit'
    this.#delete.hidden = Boolean(past || gone)
    if (other) this.#ask()
  }

  #ask() {
    clearTimeout(this.#timer)
    this.#asking?.abort()
    this.#asking = new AbortController()
    this.#allow({ allowed: true }, { allowed: true })
    const { signal } = this.#asking
    const origin = this.#origin
    this.#timer = setTimeout(async () => {
      try {
        this.#allow(await origin.permits('update', signal), await origin.permits('delete', signal))
      } catch { /* another item is shown */ }
    }, settle)
  }

  #allow(update, remove) {
    this.#edit.disabled = !update.allowed
    this.#delete.disabled = !remove.allowed
    this.#on.onRefused(update.allowed ? '' : update.reason)
    this.why.hidden = update.allowed && remove.allowed
    this.why.textContent = update.allowed ? remove.reason : remove.allowed || remove.reason === update.reason ? update.reason : `${update.reason} ${remove.reason}`
    if (update.allowed && !remove.allowed) this.why.textContent = 'Not to be deleted: ' + remove.reason
    if (!update.allowed) this.why.textContent = 'Not to be changed: ' + this.why.textContent
  }

  /** edit opens the editor: of the live item, with the text of the past one to restore it, or of a new one like the one that was deleted. */
  async edit() {
    const origin = this.#origin
    const { mode } = this.#edit.dataset
    try {
      const base = await origin.read()
      const begin = mode === 'edit' && base ? base : origin.item
      const text = origin.isKey ? await textOf(origin, begin.revision) : undefined
      this.#open(new Editor(origin, { base, value: begin.value, text, isNew: !base }, this.#events()))
    } catch (error) {
      this.#on.say(error.message)
    }
  }

  /** create opens the editor for a new item of a source. */
  async create(source) {
    const isKeys = source.kind ? source.kind === 'keys' : source.path.startsWith('/v1/keys')
    const namespace = source.namespaced ? source.namespace || 'default' : undefined
    const root = source.path.replace(/\/namespaces\/[^/]+(?=\/)/, '')
    const collection = namespace ? root.replace(/\/([^/]+)$/, `/namespaces/${encodeURIComponent(namespace)}/$1`) : root
    const key = source.prefix || '/'
    const item = isKeys ? { id: key, name: key, address: { key }, path: '/v1/keys?key=' + encodeURIComponent(key) } : { id: source.title, name: '', namespace, path: collection + '/-' }
    const origin = new Origin(source, item)
    const allowed = await origin.permits(isKeys ? 'update' : 'create')
    if (!allowed.allowed) return allowed.reason
    const value = isKeys ? undefined : await templateOf(await origin.kindOf())
    this.#open(new Editor(origin, { value, text: '', isNew: true }, this.#events()))
    return undefined
  }

  #events() {
    return { revealed: this.#on.revealed, say: this.#on.say, onClose: () => this.#on.onEditor(undefined), onStored: (item) => this.#on.onStored(item) }
  }

  #open(editor) {
    this.#on.onEditor(editor)
    editor.focus()
  }

  /** #remove asks whether the item is to be deleted, and deletes it if it is still as it is shown. */
  #remove() {
    const origin = this.#origin
    const { item } = origin
    const finalizers = item.value?.metadata?.finalizers ?? []
    const policy = el('select', { id: 'delete-policy' },
      el('option', { value: 'Background' }, 'Background: what it owns is deleted afterwards'),
      el('option', { value: 'Foreground' }, 'Foreground: what it owns is deleted first'),
      el('option', { value: 'Orphan' }, 'Orphan: what it owns stays'))
    const error = el('p', { class: 'object-note bad', role: 'alert' })
    const go = button('Delete', 'delete-confirm', async () => {
      go.disabled = true
      try {
        const left = await origin.remove(policy.value)
        this.#on.say(left ? `Marked for deletion. It goes when its finalizers are done: ${left.metadata.finalizers.join(', ')}` : `Deleted: ${item.id}`)
        dialog.close()
      } catch (refused) {
        const changed = refused.status === 409 || refused.status === 412
        error.textContent = changed ? `Not deleted: it is not as it was shown, at revision ${item.revision.toLocaleString('en')}, any more. Look at it again.` : `Not deleted: ${refused.message}`
      }
    }, 'danger')
    const cancel = button('Cancel', 'delete-cancel', () => dialog.close())
    const dialog = el('dialog', { class: 'object-dialog', 'aria-labelledby': 'delete-title' },
      el('h2', { id: 'delete-title' }, `Delete ${item.id}?`),
      el('p', {}, `${origin.isKey ? 'The key' : item.value.kind} as of revision ${item.revision.toLocaleString('en')}.`),
      finalizers.length ? el('p', { class: 'object-note' }, `It has finalizers, and stays until they are done: ${finalizers.join(', ')}`) : '',
      origin.isKey ? '' : el('label', {}, 'What it owns ', policy), error, el('menu', {}, cancel, go))
    dialog.addEventListener('close', () => dialog.remove())
    document.body.append(dialog)
    dialog.showModal()
    cancel.focus()
  }
}

/** textOf is the value of a key as text. It throws for bytes that are no text, because an editor would change them. */
async function textOf(origin, at) {
  const bytes = await origin.bytesOf(at)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new Error('The value is not text: it cannot be edited here.')
  }
}
