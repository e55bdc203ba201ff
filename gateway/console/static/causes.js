// Why the gateway has refused a text: one cause for each field, and where the field is in the text.

import { el } from './dom.js'

const steps = (field) => Array.from(field.matchAll(/\[(?:"((?:[^"\\]|\\.)*)"|(\d+)|([^\]]*))\]|([^.[\]]+)/g), ([, quoted, index, key, name]) => (index !== undefined ? Number(index) : quoted ?? key ?? name))
const indentOf = (line) => /^\s*/.exec(line)[0].length
const depthOf = (line) => /^(\s*(?:- )*)/.exec(line)[1].length // of the name in a line, behind the dashes of lists

/** lineOf is the number of the line of a field in a text of YAML or JSON that is indented; of a field that is not there, of what it belongs to. */
export function lineOf(text, field) {
  const lines = text.split('\n')
  let from = 0
  let end = lines.length
  let depth = -1
  let found
  for (const step of steps(field)) {
    let at = -1
    if (typeof step === 'number') {
      const first = lines.slice(from, end).find((line) => /^\s*(- |-$|[{["\d])/.test(line) && indentOf(line) >= depth)
      let left = step
      for (let i = from; first !== undefined && i < end && at < 0; i++) {
        if (indentOf(lines[i]) === indentOf(first) && !/^\s*[}\]]/.test(lines[i]) && /^\s*(- |-$|[{["\d])/.test(lines[i]) && left-- === 0) at = i
      }
      if (at < 0) break
      depth = indentOf(lines[at])
    } else {
      const name = new RegExp(`^\\s*(?:- )*(?:"${escaped(step)}"|${escaped(step)}):`)
      for (let i = from; i < end && at < 0; i++) if (name.test(lines[i]) && depthOf(lines[i]) > depth) at = i
      if (at < 0) break
      depth = depthOf(lines[at])
    }
    found = at
    let stop = at + 1
    while (stop < end && (lines[stop] === '' || indentOf(lines[stop]) > depth || (indentOf(lines[stop]) === depth && /^\s*- /.test(lines[stop]) && typeof step !== 'number'))) stop++
    from = typeof step === 'number' ? at : at + 1
    end = stop
    if (typeof step === 'number') depth = indentOf(lines[at])
  }
  return found
}

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\\/-]/g, '\\$&')

/** causesView says why a text was refused. A cause with a field leads to its line. */
export function causesView(error, area) {
  const causes = error.body?.details?.causes ?? []
  const list = causes.map(({ field, message }) => {
    const line = field ? lineOf(area.value, field) : undefined
    const go = () => {
      const start = area.value.split('\n').slice(0, line).join('\n').length + (line ? 1 : 0)
      const end = area.value.indexOf('\n', start)
      area.focus()
      area.setSelectionRange(start, end < 0 ? area.value.length : end)
    }
    return el('li', {}, field ? el('b', {}, field) : '', field ? ': ' : '', message, line === undefined ? '' : el('button', { type: 'button', onclick: go }, `Line ${line + 1}`))
  })
  return el('div', { class: 'causes', role: 'alert' }, el('p', {}, error.status ? `Refused (${error.status}): ${error.message}` : `The gateway does not answer: ${error.message}`), list.length ? el('ul', {}, ...list) : '')
}
