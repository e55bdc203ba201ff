// Copying: of an item and its fields, and of commands that ask for it elsewhere.

import { el } from './dom.js'
import { token } from './api.js'
import { ExactNumber, stringify } from './revtail.js'
import { addressOf } from './source.js'
import { pathText } from './diff.js'
import { yaml } from './yaml.js'

/** shell is a text as one word of a POSIX shell. */
export const shell = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\\''") + "'")

/** cel is a text as a string of CEL. */
export const cel = (text) => JSON.stringify(text)

const origin = () => new URL('..', import.meta.url).href.replace(/\/$/, '')

/** pathAt is the path of an item as of a revision: of an object a list of this one. */
export function pathAt(item, at) {
  if (at === undefined) return item.path
  if (item.address) return `/v1/keys?${addressOf(item.address)}&at=${at}`
  const collection = item.path.slice(0, item.path.lastIndexOf('/'))
  return `${collection}?fieldSelector=${encodeURIComponent('metadata.name=' + item.name)}&resourceVersion=${at}&resourceVersionMatch=Exact`
}

/** curl is the command that reads an item. Its token is a variable: the page never writes it into a text. */
export const curl = (item, at) => `curl -sS ${token.get() ? '-H "Authorization: Bearer $TOKEN" ' : ''}${shell(origin() + pathAt(item, at))}`

/** kubectl is the command that reads an item; of the past and of keys through kubectl get --raw. */
export function kubectl(item, at) {
  const head = 'kubectl --server ' + shell(origin()) + (token.get() ? ' --token="$TOKEN"' : '')
  if (item.address || at !== undefined) return `${head} get --raw ${shell(pathAt(item, at))}`
  const [, group, version, namespace, resource] = /^\/apis?\/(?:([^/]+)\/)?(v[^/]+)\/(?:namespaces\/([^/]+)\/)?([^/]+)\/[^/]+$/.exec(item.path)
  const kind = group ? `${resource}.${version}.${group}` : resource
  return `${head} get ${shell(kind)} ${shell(item.name)}${namespace ? ' --namespace ' + shell(decodeURIComponent(namespace)) : ''} --output yaml`
}

/** member is an expression for a field below another one. */
const member = (text, name) => (typeof name === 'number' ? `${text}[${name}]` : /^[A-Za-z_]\w*$/.test(name) && !reserved.has(name) ? `${text}.${name}` : `${text}[${cel(name)}]`)
const reserved = new Set(['as', 'break', 'const', 'continue', 'else', 'false', 'for', 'function', 'if', 'import', 'in', 'let', 'loop', 'namespace', 'null', 'package', 'return', 'true', 'var', 'void', 'while'])

/** filterOf is an expression in CEL that selects an item; with a path it selects the items whose field has that value. */
export function filterOf(item, path) {
  if (path) {
    const root = item.address ? 'value' : 'object'
    const value = path.reduce((each, name) => each?.[name], item.value)
    const field = path.reduce(member, root)
    return value !== null && typeof value === 'object' && !(value instanceof ExactNumber) ? `has(${field})` : `${field} == ${literal(value)}`
  }
  if (item.address) return item.address.key === undefined ? undefined : `key == ${cel(item.address.key)}`
  const name = `object.metadata.name == ${cel(item.name)}`
  return item.namespace ? `object.metadata.namespace == ${cel(item.namespace)} && ${name}` : name
}

const literal = (value) => (typeof value === 'string' ? cel(value) : stringify(value))

/** fieldCopies are what can be copied of one field. Its value is that of `shown`, in which secret values are dots. */
function fieldCopies(item, shown, path) {
  if (!path?.length) return []
  const value = path.reduce((each, name) => each?.[name], shown)
  const real = path.reduce((each, name) => each?.[name], item.value)
  const hidden = value !== real && typeof value === 'string'
  return [
    { label: 'Path of ' + pathText(path.slice(-1)), text: pathText(path) },
    { label: 'Value of ' + pathText(path.slice(-1)), text: typeof value === 'string' ? value : stringify(value, 2) },
    ...(hidden ? [] : [{ label: `CEL: ${pathText(path.slice(-1))} has this value`, text: filterOf(item, path) }]),
  ]
}

/** copiesOf are what can be copied of an item: as of a revision, and of the field that was chosen. `shown` is its value without secrets. */
export const copiesOf = (item, { shown, at, field }) => [
  { label: 'Value', text: typeof shown === 'string' ? shown : stringify(shown, 2) ?? '' },
  ...(typeof shown === 'string' ? [] : [{ label: 'YAML', text: yaml(shown) }]),
  { label: 'Name', text: item.name },
  { label: 'Path', text: pathAt(item, at) },
  { label: 'curl', text: curl(item, at) },
  { label: 'kubectl', text: kubectl(item, at) },
  ...(filterOf(item) ? [{ label: 'CEL', text: filterOf(item) }] : []),
  ...fieldCopies(item, shown, field),
]

/** copy puts a text on the clipboard: on pages that browsers do not trust, such as http of another host, by a selection. It returns whether it could. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch { /* there is no such API, or it is not allowed */ }
  const field = el('textarea', { class: 'copying', readonly: '', 'aria-hidden': true })
  field.value = text
  const focused = document.activeElement
  ;(focused?.closest('dialog') ?? document.body).append(field)
  field.select()
  let done = false
  try {
    done = document.execCommand('copy')
  } catch { /* nothing copies */ }
  field.remove()
  focused?.focus?.()
  return done
}

/** byHand shows a text selected, to be copied by the user. */
export function byHand(text, label) {
  const field = el('textarea', { readonly: '', rows: 6, 'aria-label': label })
  field.value = text
  const close = el('button', { type: 'button', class: 'primary', onclick: () => dialog.close() }, 'Close')
  const dialog = el('dialog', { class: 'object-dialog', 'aria-label': 'Copy by hand' },
    el('h2', {}, 'Copy ' + label), el('p', {}, 'The browser lets this page not use the clipboard. The text is selected: copy it with the keyboard.'), field, el('menu', {}, close))
  dialog.addEventListener('close', () => dialog.remove())
  document.body.append(dialog)
  dialog.showModal()
  field.select()
}

/** copyMenu is a button with a menu. items() returns what can be copied: {label, text}; onCopy(text, label) copies. */
export function copyMenu(items, onCopy) {
  const menu = el('div', { class: 'menu', role: 'menu', 'aria-label': 'Copy', hidden: '' })
  const button = el('button', { type: 'button', 'data-action': 'copy', 'aria-haspopup': 'menu', 'aria-expanded': false, onclick: () => (menu.hidden ? open() : close(true)) }, 'Copy ▾')
  const wrap = el('span', { class: 'menu-of' }, button, menu)
  const close = (back) => {
    menu.hidden = true
    button.setAttribute('aria-expanded', false)
    if (back) button.focus()
  }
  const open = () => {
    menu.replaceChildren(...items().map(({ label, text }) => el('button', { type: 'button', role: 'menuitem', tabindex: -1, onclick: () => { close(true); onCopy(text, label) } }, label)))
    menu.hidden = false
    button.setAttribute('aria-expanded', true)
    menu.firstElementChild?.focus()
  }
  wrap.addEventListener('keydown', (event) => {
    if (menu.hidden) return
    const all = [...menu.children]
    const at = all.indexOf(document.activeElement)
    const to = { ArrowDown: at + 1, ArrowUp: at - 1 + all.length, Home: 0, End: all.length - 1 }[event.key]
    if (to !== undefined) all[to % all.length]?.focus()
    else if (event.key === 'Escape') close(true)
    else return
    event.preventDefault()
    event.stopPropagation()
  })
  wrap.addEventListener('focusout', (event) => { if (!wrap.contains(event.relatedTarget)) close(false) })
  return wrap
}
