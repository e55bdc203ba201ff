// YAML of a value that was JSON: block style, as kubectl prints it, with numbers as they were. What YAML 1.1 or 1.2 would read as something
// else than a string is quoted.

import { ExactNumber, stringify } from './revtail.js'

const words = new Set(['', '~', 'null', 'true', 'false', 'yes', 'no', 'on', 'off', 'y', 'n', 'nan', 'inf'])
const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/
const quantity = /^(?!0[xob])\d+([A-Za-z]+|%)$/i // 250m, 64Mi, 30s, 25%; not 0xff
const version = /^\d+(\.\d+){2,3}$/ // 10.0.0.1
const name = /^[A-Za-z_/][^\p{C}\u2028\u2029\u00a0]*$/u
const indicators = /: |:$| #|[ \t]$|[\t\n\r\u0085]/

// What a literal cannot have: control characters but tab and line feed, other line ends, the byte order mark, halves of surrogates.
const unprintable = /[^\t\n\x20-\x7e\u00a0-\u2027\u202a-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]/u
const longestName = 400 // characters; YAML's limit is 1,024 bytes

/** plain tells whether YAML reads a text without quotes as that text. */
function plain(text) {
  if (uuid.test(text)) return true
  if (quantity.test(text) || version.test(text)) return true
  return name.test(text) && !indicators.test(text) && !words.has(text.toLowerCase())
}

const escapes = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g
const quoted = (text) => JSON.stringify(text).replace(escapes, (each) => '\\u' + each.charCodeAt(0).toString(16).padStart(4, '0'))
const inline = (text) => (plain(text) ? text : quoted(text))

/** literal is the head of a block scalar for a text, such as |-; undefined: the text needs quotes. */
function literal(text) {
  if (!text.includes('\n') || unprintable.test(text) || !/\S/.test(text) || /^\s*\t/.test(text)) return undefined
  return '|' + (/^[ \n]/.test(text) ? '2' : '') + (text.endsWith('\n\n') ? '+' : text.endsWith('\n') ? '' : '-')
}

const isList = Array.isArray
const isMap = (value) => value !== null && typeof value === 'object' && !isList(value) && !(value instanceof ExactNumber)
const isEmpty = (value) => (isList(value) ? value : Object.keys(value)).length === 0
const isBlock = (value) => (isList(value) || isMap(value)) && !isEmpty(value)

class Writer {
  lines = [] // {text, path}

  /** value writes a value after `head`, which is the beginning of its first line. */
  value(head, value, depth, path) {
    if (isBlock(value)) {
      if (isList(value)) this.#list(head, value, depth, path)
      else this.#map(head, value, depth, path)
      return
    }
    const block = typeof value === 'string' ? literal(value) : undefined
    if (!block) return this.#put(head + scalar(value), path)
    this.#put(head + block, path)
    const body = value.endsWith('\n') ? value.slice(0, -1) : value
    for (const line of body.split('\n')) this.#put(line && '  '.repeat(depth) + line, path)
  }

  #put(text, path) {
    this.lines.push({ text, path })
  }

  #map(head, map, depth, path) {
    for (const [member, value] of Object.entries(map)) {
      const inner = [...path, member]
      let start = head || '  '.repeat(depth)
      head = ''
      if (member.length > longestName) {
        this.#put(start + '? ' + quoted(member), inner)
        start = '  '.repeat(depth)
      } else {
        start += inline(member)
      }
      const nested = isMap(value) && !isEmpty(value)
      if (nested || (isList(value) && value.length)) {
        this.#put(start + ':', inner)
        this.value('', value, nested ? depth + 1 : depth, inner)
      } else {
        this.value(start + ': ', value, depth + 1, inner)
      }
    }
  }

  #list(head, list, depth, path) {
    list.forEach((value, index) => {
      this.value((index === 0 && head ? head : '  '.repeat(depth)) + '- ', value, depth + 1, [...path, index])
    })
  }
}

const scalar = (value) => (typeof value === 'string' ? inline(value) : isList(value) ? '[]' : isMap(value) ? '{}' : stringify(value))

/** yamlLines is a value as lines of YAML, each with the path of the field that it belongs to. */
export function yamlLines(value) {
  const writer = new Writer()
  writer.value('', value, isBlock(value) ? 0 : 1, [])
  return writer.lines
}

/** yaml is a value as YAML. */
export const yaml = (value) => yamlLines(value).map((line) => line.text + '\n').join('')
