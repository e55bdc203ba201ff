// A text as numbered lines, coloured. Lines are elements, so that those that have changed can be marked and one of them be chosen.

import { el, span } from './dom.js'

const step = 2000 // lines that are shown at once, and added by "more"
const longest = 5000 // characters of a line

const jsonToken = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g
const yamlName = /^(\s*(?:- )*)((?:"(?:[^"\\]|\\.)*"|[^\s"'#\-[\]{}|][^:]*?))(:)(?= |$)/
const yamlAtom = /^(?:true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\{\}|\[\])$/

function json(line) {
  const nodes = []
  let end = 0
  for (const token of line.matchAll(jsonToken)) {
    nodes.push(line.slice(end, token.index))
    end = token.index + token[0].length
    if (token[2]) nodes.push(span('name', token[1]), token[2])
    else nodes.push(span(token[1] ? 'string' : 'atom', token[0]))
  }
  nodes.push(line.slice(end))
  return nodes
}

function yaml(line) {
  const name = yamlName.exec(line)
  const head = name ? [name[1], span('name', name[2]), ':'] : []
  const rest = name ? line.slice(name[0].length) : line
  const [, lead, value] = /^(\s*(?:- )*)(.*)$/s.exec(rest)
  return [...head, lead, value && span(yamlAtom.test(value) ? 'atom' : 'string', value)].filter(Boolean)
}

const colours = { yaml, json, text: (line) => [line] }

/** coloured is a line as nodes; of one that is too long, its beginning. */
export function coloured(line, language) {
  if (line.length > longest) return [line.slice(0, longest), span('cut', ` … ${(line.length - longest).toLocaleString('en')} more characters`)]
  return colours[language](line)
}

/**
 * textView shows lines {text, path}. changed(line) tells whether a line is marked; onPick(line) is called for a line that is clicked, or
 * reached by the arrow keys. Long texts are shown in parts.
 */
export function textView(lines, { language, changed, onPick, label }) {
  const list = el('div', { class: 'lines', tabindex: 0, role: 'group', 'aria-label': label })
  list.style.setProperty('--digits', String(lines.length).length)
  const rows = []
  const more = el('button', { type: 'button', class: 'more-lines', onclick: () => append() })
  const append = () => {
    const part = el('div', { class: 'part' })
    for (const line of lines.slice(rows.length, rows.length + step)) {
      const row = el('div', { class: 'line' + (changed?.(line) ? ' changed' : '') },
        el('span', { class: 'number', 'aria-hidden': true }, String(rows.length + 1)), el('span', { class: 'code' }, ...coloured(line.text, language), '\n'))
      rows.push(row)
      part.append(row)
    }
    more.remove()
    list.append(part)
    const left = lines.length - rows.length
    if (!left) return
    more.textContent = `Show ${Math.min(step, left).toLocaleString('en')} of ${left.toLocaleString('en')} more lines`
    list.append(more)
  }
  append()
  if (onPick) pickable(list, rows, (index) => onPick(lines[index]))
  return list
}

/** pickable lets one line be chosen. */
function pickable(list, rows, onPick) {
  let at = -1
  const pick = (index) => {
    rows[at]?.classList.remove('picked')
    at = index
    rows[at].classList.add('picked')
    rows[at].scrollIntoView({ block: 'nearest' })
    onPick(at)
  }
  list.addEventListener('click', (event) => {
    const index = rows.indexOf(event.target.closest('.line'))
    if (index >= 0 && getSelection().isCollapsed) pick(index)
  })
  list.addEventListener('keydown', (event) => {
    if (event.target !== list || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key]
    if (to === undefined) return
    event.preventDefault()
    event.stopPropagation()
    pick(Math.max(0, Math.min(rows.length - 1, to)))
  })
}
