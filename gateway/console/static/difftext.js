// Two texts, shown by what differs between them: one below the other, or side by side.

import { el, span } from './dom.js'
import { edits, words } from './diff.js'
import { coloured } from './textview.js'

const context = 3 // lines around a change
const mostMarked = 2000 // lines that are marked word by word
const mostRows = 3000 // that are shown at once

/**
 * rowsOf aligns the lines of two texts: {kind: same|changed|removed|added, left, right, a, b, marks}. a and b are the numbers of the lines,
 * marks the words by which two lines differ.
 */
export function rowsOf(before, after) {
  const rows = []
  let a = 0
  let b = 0
  let marked = 0
  const take = (kind, left, right, marks) => {
    rows.push({ kind, left, right, marks, a: left === undefined ? undefined : ++a, b: right === undefined ? undefined : ++b })
  }
  const same = (end) => { while (a < end) take('same', before[a], after[b]) }
  for (const edit of edits(before, after)) {
    same(edit.a)
    const pairs = Math.min(edit.aEnd - edit.a, edit.bEnd - edit.b)
    const late = []
    for (let i = 0; i < pairs; i++) {
      const [left, right] = [before[edit.a + i], after[edit.b + i]]
      const marks = marked++ < mostMarked ? words(left, right) : undefined
      if (marks && late.length === 0) take('changed', left, right, marks)
      else late.push({ left, right })
    }
    for (const { left } of late) take('removed', left)
    while (a < edit.aEnd) take('removed', before[a])
    for (const { right } of late) take('added', undefined, right)
    while (b < edit.bEnd) take('added', undefined, after[b])
  }
  same(before.length)
  return rows
}

/** folded replaces long stretches of equal rows by {fold: rows}. */
function folded(rows) {
  const out = []
  for (let from = 0; from < rows.length; ) {
    let end = from
    while (end < rows.length && (rows[end].kind === 'same') === (rows[from].kind === 'same')) end++
    const part = rows.slice(from, end)
    const head = from === 0 ? 0 : context
    const tail = end === rows.length ? 0 : context
    if (part[0].kind !== 'same' || part.length <= head + tail + 3) out.push(...part)
    else out.push(...part.slice(0, head), { fold: part.slice(head, part.length - tail) }, ...part.slice(part.length - tail))
    from = end
  }
  return out
}

const code = (text, marks, language) => el('span', { class: 'code' },
  ...(marks ? marks.map((part) => (part.changed ? el('mark', {}, part.text) : part.text)) : coloured(text, language)), '\n')
const numbered = (n) => span('number', n === undefined ? '' : String(n))
const sign = (kind) => el('span', { class: 'sign' }, { removed: '−', added: '+' }[kind] ?? ' ')

const line = (kind, text, marks, n, language) => el('div', { class: 'line ' + kind }, numbered(n), sign(kind), code(text, marks, language))

/** unifiedRow is a row as lines, one below the other. */
const unifiedRow = (row, language) => (row.kind === 'changed'
  ? [line('removed', row.left, row.marks[0], row.a, language), line('added', row.right, row.marks[1], row.b, language)]
  : [line(row.kind, row.left ?? row.right, undefined, row.b ?? row.a, language)])

/** pairedRow is a row as two cells. */
function pairedRow(row, language) {
  const cell = (side, kind, text, marks, n) => (text === undefined ? el('div', { class: `line none ${side}`, 'aria-hidden': true })
    : el('div', { class: `line ${kind} ${side}` }, numbered(n), sign(kind), code(text, marks, language)))
  const of = (kind) => (row.kind === 'same' ? 'same' : kind)
  return [el('div', { class: 'pair ' + row.kind }, cell('left', of('removed'), row.left, row.marks?.[0], row.a), cell('right', of('added'), row.right, row.marks?.[1], row.b))]
}

/** diffText shows the rows of two texts; `paired` puts them side by side. What is the same is folded away, but can be shown. */
export function diffText(rows, { paired = false, language = 'yaml', label }) {
  const draw = paired ? pairedRow : unifiedRow
  const list = el('div', { class: 'lines diff' + (paired ? ' paired' : ''), tabindex: 0, role: 'group', 'aria-label': label })
  list.style.setProperty('--digits', String(rows.length).length)
  const entries = folded(rows)
  let shown = 0
  const more = el('button', { type: 'button', class: 'more-lines', onclick: () => append() }, 'Show more')
  const append = () => {
    more.remove()
    for (const end = Math.min(entries.length, shown + mostRows); shown < end; shown++) {
      const { fold } = entries[shown]
      list.append(...(fold ? [foldButton(fold, (row) => draw(row, language))] : draw(entries[shown], language)))
    }
    if (shown < entries.length) list.append(more)
  }
  append()
  return list
}

function foldButton(rows, draw) {
  const button = el('button', {
    type: 'button', class: 'fold', onclick: () => {
      const lines = rows.slice(0, mostRows).flatMap(draw)
      if (rows.length > mostRows) lines.push(foldButton(rows.slice(mostRows), draw))
      button.replaceWith(...lines)
    },
  }, `${rows.length.toLocaleString('en')} unchanged lines`)
  return button
}
