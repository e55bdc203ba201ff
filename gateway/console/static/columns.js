// The columns of a table: those that the gateway has for a resource, as kubectl shows them, or those of keys; and what of an item is in one.

import { brief } from './dom.js'
import { mask } from './secrets.js'

// A column: {id, name, title, type: name|namespace|value|integer|number|bytes|age|string|…, priority, index}; index: of the gateway's cells.

/** Columns are the columns of a source. They change when the gateway has told its own: version says how often they did. */
export class Columns {
  version = 0
  all
  #namespace

  /** namespace is the column of the namespace, if there is one. */
  constructor(columns, namespace = undefined) {
    this.#namespace = namespace
    this.#set(columns)
  }

  /** define takes the definitions of a Table of the gateway over. */
  define(definitions) {
    const text = JSON.stringify(definitions)
    if (text === this.defined) return
    this.defined = text
    this.#set([...definitions.map((each, index) => ({ ...each, title: each.description, type: typeOf(each), index })), { name: 'Revision', type: 'revision', priority: 1 }])
  }

  #set(columns) {
    const all = this.#namespace ? [this.#namespace, ...columns] : columns
    this.all = all.map((each) => ({ priority: 0, ...each, id: each.name.toLowerCase() }))
    this.version++
  }

  /** shown are the columns of a table; wide: also those that the gateway thinks less of. */
  shown(wide) {
    return this.all.filter((each) => wide || each.priority === 0)
  }
}

const relative = /^(age|(last|first) seen)$/i // names of columns that say how long ago something was

function typeOf({ name, type, format }) {
  if (format === 'name') return 'name'
  return type === 'date' || relative.test(name) ? 'age' : type
}

const units = { s: 1, m: 60, h: 3600, d: 86_400, y: 31_536_000 }
const isDuration = /^(\d+y)?(\d+d)?(\d+h)?(\d+m)?(\d+s)?$/

/** secondsOf reads a duration as kubectl writes it: 5m30s; undefined: it is none. */
export function secondsOf(text) {
  if (!text || !isDuration.test(text)) return undefined
  return [...text.matchAll(/(\d+)(\w)/g)].reduce((sum, [, n, unit]) => sum + n * units[unit], 0)
}

/** age writes a duration as kubectl does: the larger it is, the fewer of its units. */
export function age(seconds) {
  const s = Math.max(0, Math.floor(seconds))
  const [m, h, d] = [60, 3600, 86_400].map((unit) => Math.floor(s / unit))
  const two = (a, unit, b, small) => a + unit + (b ? b + small : '')
  if (s < 120) return s + 's'
  if (m < 10) return two(m, 'm', s % 60, 's')
  if (m < 180) return m + 'm'
  if (h < 8) return two(h, 'h', m % 60, 'm')
  if (h < 48) return h + 'h'
  if (d < 8) return two(d, 'd', h % 24, 'h')
  if (d < 730) return d + 'd'
  return d < 2920 ? two(Math.floor(d / 365), 'y', d % 365, 'd') : Math.floor(d / 365) + 'y'
}

/** began is when what a column counts from has happened, in ms; undefined: it is not known. */
function began(item, column) {
  if (column.id === 'age' && item.created) return Date.parse(item.created)
  const seconds = secondsOf(item.cells?.[column.index])
  return seconds === undefined ? undefined : item.received - seconds * 1000
}

const encoder = new TextEncoder()

/** sizeOf is how many bytes a value has: of JSON, as the gateway sends it, without spaces. */
function sizeOf({ text, encoding, value }) {
  if (text === undefined) return undefined
  if (encoding === 'base64') return Math.floor((value.length * 3) / 4) - (value.match(/=*$/)[0].length)
  return encoder.encode(encoding === 'utf8' ? value : text).length
}

const own = {
  name: (item) => item.name, namespace: (item) => item.namespace ?? '', revision: (item) => item.revision, version: (item) => item.version,
  lease: (item) => item.lease ?? '', size: sizeOf, key: (item) => item.name, age: (item) => item.created,
}

/** plainOf is what an item has in a column: the gateway's cell, or a member of the item. */
const plainOf = (item, column) => (column.index !== undefined && item.cells ? item.cells[column.index] : own[column.id]?.(item))

/** cell is what a table shows of an item in a column: texts and nodes. */
export function cell(item, column, now = Date.now()) {
  if (column.type === 'value') {
    const masked = mask(item)
    return brief(masked.shown ?? masked.value)
  }
  if (column.type === 'age') {
    const since = began(item, column)
    return [since === undefined ? String(plainOf(item, column) ?? '') : age((now - since) / 1000)]
  }
  const plain = plainOf(item, column)
  if (column.type === 'bytes' && plain !== undefined) return [bytes(plain)]
  return [plain === undefined || plain === null ? '' : String(plain)]
}

function bytes(n) {
  if (n < 1024) return n + ' B'
  return n < 1 << 20 ? (n / 1024).toFixed(1) + ' KiB' : (n / (1 << 20)).toFixed(1) + ' MiB'
}

const quantity = /^([+-]?\d+(?:\.\d+)?)(n|u|m|k|K|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$/
const factors = { n: 1e-9, u: 1e-6, m: 1e-3, k: 1e3, K: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 }

/** sortKey is what of a cell is compared: a number for numbers, quantities, durations and ages, else a text in which numbers sort by value. */
export function sortKey(item, column) {
  if (column.type === 'age') {
    const since = began(item, column)
    return since === undefined ? undefined : -since
  }
  const plain = column.type === 'value' ? item.text : plainOf(item, column)
  if (plain === undefined || plain === null || typeof plain === 'number') return plain ?? undefined
  const text = String(plain)
  if (!text || text === '<none>' || text === '<unknown>') return undefined
  if (column.id === 'duration') return secondsOf(text) ?? text
  const [, digits, unit] = (column.type !== 'name' && quantity.exec(text)) || []
  if (digits !== undefined) return Number(digits) * (factors[unit] ?? 1)
  return text.slice(0, 500).toLowerCase().replace(/\d+/g, (n) => n.padStart(16, '0'))
}

/** compareKeys orders sort keys: numbers before texts, what is not there last. */
export function compareKeys(a, b) {
  if (a === b) return 0
  if (a === undefined || b === undefined) return a === undefined ? 1 : -1
  if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1
  return a < b ? -1 : 1
}
