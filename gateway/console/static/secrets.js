// Secrets: what of them is shown only when it is asked for. A Secret is known by its kind or, as a key, by the place that it is stored at.

import { el } from './dom.js'
import { stringify } from './revtail.js'

const applied = 'kubectl.kubernetes.io/last-applied-configuration' // kubectl's copy of what was applied, with all values
const stored = /\/secrets\/[^/]+\/[^/]+$/
const nothing = new Set()

/** isSecret tells whether an item holds secret values: a Secret, or a key where Secrets are stored, whatever its encoding. */
export function isSecret(item) {
  const { value } = item
  return (value?.kind === 'Secret' && 'metadata' in value) || (item.path?.startsWith('/v1/keys') && stored.test(item.id)) || false
}

const bytes = (text) => new TextEncoder().encode(text).length

/** size is the number of bytes of a value, which is base64 in data and text elsewhere. */
const size = (where, text) => (where === 'data' && text.length % 4 === 0 ? (text.length / 4) * 3 - (text.match(/=*$/)[0].length) : bytes(text))

/** secretsOf are the secret values of an item: {name, where: data|stringData|annotation|value, text}. */
export function secretsOf(item) {
  if (!isSecret(item)) return []
  const { value } = item
  if (!value?.metadata) return value === undefined ? [] : [{ name: 'value', where: 'value', text: typeof value === 'string' ? value : stringify(value) }]
  const of = (where, map) => Object.entries(map ?? {}).map(([name, text]) => ({ name, where, text: typeof text === 'string' ? text : stringify(text) }))
  const copy = value.metadata.annotations?.[applied]
  return [...of('data', value.data), ...of('stringData', value.stringData), ...(copy === undefined ? [] : [{ name: applied, where: 'annotation', text: copy }])]
}

const idOf = ({ where, name }) => where + '/' + name

/** dots stands for a value that is not shown. Of two that are compared, it says of the second that it differs. */
function dots({ where, text }, other) {
  const differs = other !== undefined && other.text !== text ? ', changed' : ''
  return `•••••••• (${size(where, text)} bytes${differs})`
}

/**
 * maskedValue is the value of an item with dots for each secret value that is not revealed. If `before` is given, an earlier state of the
 * item, the dots say which values differ from it.
 */
export function maskedValue(item, { revealed = nothing, before } = {}) {
  const secrets = secretsOf(item)
  if (!secrets.length) return item.value
  const others = new Map(before ? secretsOf(before).map((each) => [idOf(each), each]) : [])
  const value = { ...item.value }
  for (const secret of secrets) {
    if (revealed.has(idOf(secret))) continue
    const text = dots(secret, others.get(idOf(secret)))
    if (secret.where === 'value') return text
    if (secret.where === 'annotation') value.metadata = { ...value.metadata, annotations: { ...value.metadata.annotations, [applied]: text } }
    else value[secret.where] = { ...value[secret.where], [secret.name]: text }
  }
  return value
}

/** mask is an item for tables and events: the same one unless it holds secret values, which its value and text do not have. */
export function mask(item, options) {
  if (!item || !isSecret(item)) return item
  const value = maskedValue(item, options)
  return Object.create(item, { value: { value }, text: { value: stringify(value) }, cells: { value: item.cells } })
}

function decoded(secret) {
  if (secret.where !== 'data') return secret.text
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(atob(secret.text), (each) => each.charCodeAt(0)))
  } catch {
    return undefined // bytes, or no base64
  }
}

/** secretsPanel lists the secret values of an item; onReveal(id, shown) is called when one is to be shown, or not any more; onCopy(text, what). */
export function secretsPanel(item, revealed, { onReveal, onCopy }) {
  const secrets = secretsOf(item)
  if (!secrets.length) return undefined
  const row = (secret) => {
    const id = idOf(secret)
    const shown = revealed.has(id)
    const text = shown ? decoded(secret) : undefined
    const label = secret.name
    return el('li', { 'data-secret': id },
      el('span', { class: 'secret-name' }, label),
      shown ? el('pre', { class: 'secret-text', tabindex: 0, 'aria-label': 'Value of ' + label }, text ?? secret.text) : el('span', { class: 'secret-dots' }, dots(secret)),
      shown && text === undefined ? el('span', { class: 'dim' }, 'bytes, as base64') : undefined,
      el('button', { type: 'button', 'aria-pressed': shown, 'aria-label': (shown ? 'Hide ' : 'Reveal ') + label, onclick: () => onReveal(id, !shown) }, shown ? 'Hide' : 'Reveal'),
      shown ? el('button', { type: 'button', 'aria-label': 'Copy ' + label, onclick: () => onCopy(text ?? secret.text, label) }, 'Copy') : undefined)
  }
  return el('ul', { class: 'secrets', 'aria-label': 'Secret values' }, ...secrets.map(row))
}

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')

/** placeholders is a value for an editor, with a word for each secret value that is not revealed, and `restore`, which puts the values back into a text. */
export function placeholders(item, revealed = nothing) {
  const hidden = secretsOf(item).filter((each) => each.where !== 'value' && !revealed.has(idOf(each)))
  const word = (secret) => `HIDDEN(${idOf(secret)})`
  const value = { ...item.value }
  for (const secret of hidden) {
    if (secret.where === 'annotation') value.metadata = { ...value.metadata, annotations: { ...value.metadata.annotations, [applied]: word(secret) } }
    else value[secret.where] = { ...value[secret.where], [secret.name]: word(secret) }
  }
  const restore = (text) => hidden.reduce((out, each) => out.replaceAll(new RegExp(`"${escaped(word(each))}"|${escaped(word(each))}`, 'g'), () => JSON.stringify(each.text)), text)
  return { value, hidden: hidden.length, restore }
}
