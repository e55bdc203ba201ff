// Elements. What comes from a store gets into the page by these functions alone, and they make text nodes of it.

import { ExactNumber, stringify } from './revtail.js'

export const $ = (id) => document.getElementById(id)

/** el makes an element; attributes that begin with "on" are listeners, those that are undefined are left out. */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value)
    else if (value !== undefined) element.setAttribute(key, value)
  }
  element.append(...children.filter((child) => child !== undefined && child !== null))
  return element
}

export const span = (kind, text) => el('span', { class: kind }, text)

/** excerpt is text on one line, of a length at most. */
export function excerpt(text, length = 120) {
  const line = text.length > length * 2 ? text.slice(0, length * 2) : text
  const flat = line.replace(/\s+/g, ' ')
  return flat.length > length || line.length < text.length ? flat.slice(0, length - 1) + '…' : flat
}

export const textOf = (value) => (typeof value === 'string' ? value : stringify(value) ?? '')

const largest = 200_000

/** pretty is a value as indented JSON, coloured; a string that is no JSON is itself. */
export function pretty(value) {
  const text = typeof value === 'string' ? value : stringify(value, 2) ?? ''
  if (text.length > largest) return [text.slice(0, largest) + '\n… ' + (text.length - largest) + ' more characters']
  if (typeof value === 'string') return [text]
  const nodes = []
  let end = 0
  for (const token of text.matchAll(/("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g)) {
    nodes.push(text.slice(end, token.index))
    end = token.index + token[0].length
    if (token[2]) nodes.push(span('name', token[1]), token[2])
    else nodes.push(span(token[1] ? 'string' : 'atom', token[0]))
  }
  nodes.push(text.slice(end))
  return nodes
}

/** brief is a value for one line: what it has, names dimmed. */
export function brief(value, length = 200) {
  if (typeof value === 'string') return [span('string', excerpt(value, length))]
  if (value === null || typeof value !== 'object' || value instanceof ExactNumber) return [span('atom', String(value))]
  const nodes = []
  let room = length
  for (const [name, member] of Object.entries(value)) {
    if (room <= 0) {
      nodes.push('…')
      break
    }
    const text = excerpt(textOf(member), Math.min(room, 60))
    nodes.push(span('name', Array.isArray(value) ? '' : name + ' '), span(typeof member === 'string' ? 'string' : 'atom', text), '  ')
    room -= name.length + text.length + 3
  }
  return nodes.length ? nodes : [span('atom', Array.isArray(value) ? '[]' : '{}')]
}

/** ago is how long ago a time was, in the words of kubectl. */
export function ago(timestamp, now = Date.now()) {
  const seconds = Math.max(0, Math.round((now - Date.parse(timestamp)) / 1000))
  if (Number.isNaN(seconds)) return ''
  if (seconds < 120) return seconds + 's'
  if (seconds < 7200) return Math.floor(seconds / 60) + 'm'
  if (seconds < 172_800) return Math.floor(seconds / 3600) + 'h'
  return Math.floor(seconds / 86_400) + 'd'
}

export const count = (n, noun) => n.toLocaleString('en') + ' ' + noun + (n === 1 ? '' : 's')
