// One change of an item: its fields, and its text line by line.

import { count, el, excerpt, span } from './dom.js'
import { compared } from './source.js'
import { diff, lines as textLines } from './diff.js'
import { ExactNumber, stringify } from './revtail.js'
import { yamlLines } from './yaml.js'
import { maskedValue } from './secrets.js'
import { diffText, rowsOf } from './difftext.js'
import { changeAt, changeOf, timeOfChange, timeText, whoOf } from './history.js'

const mostFields = 200
const longestValue = 300

const shortText = (value) => (typeof value === 'string' || (value !== null && typeof value === 'object' && !(value instanceof ExactNumber)) ? excerpt(stringify(value) ?? '', longestValue) : stringify(value) ?? '')

/** linesOf is a value as lines of text: YAML, or the text that it is. */
export const linesOf = (value) => (value === undefined ? [] : typeof value === 'string' ? value.split('\n') : yamlLines(value).map((line) => line.text))

/** maskedPair are the values of two states without secrets, and without what the gateway counts for itself. */
export const maskedPair = (before, after, revealed) => [
  before && compared(maskedValue(before, { revealed })), after && compared(maskedValue(after, { revealed, before })),
]

/** changeView shows by which fields and lines two states differ; one of them may be undefined. */
export function changeView(before, after, { revealed, label }) {
  const [a, b] = maskedPair(before, after, revealed)
  const text = () => diffText(rowsOf(linesOf(a), linesOf(b)), { language: typeof (b ?? a) === 'string' ? 'text' : 'yaml', label })
  if (a === undefined || b === undefined) return [text()]
  const { fields, found } = diff(a, b, mostFields)
  const list = el('ul', { class: 'fields-changed', 'aria-label': 'Changed fields' }, ...fields.map(field))
  if (found > fields.length) list.append(el('li', {}, span('dim', `and ${(found - fields.length).toLocaleString('en')} more fields`)))
  if (!found) return [el('p', { class: 'object-note' }, 'Written again: nothing has changed but the revision.')]
  return [
    el('h3', {}, found === 1 ? '1 field' : `${found.toLocaleString('en')} fields`), list,
    el('h3', {}, 'Text'), text(),
  ]
}

function field({ path, before, after }) {
  const text = textLines(before, after)
  const parts = text ? [span('dim', `${count(text.removed.length, 'line')} removed, ${count(text.added.length, 'line')} added`)] : [
    before === undefined ? '' : el('del', {}, shortText(before)), before === undefined || after === undefined ? '' : span('arrow', ' → '),
    after === undefined ? '' : el('ins', {}, shortText(after)),
  ]
  return el('li', {}, span('path', path || 'value'), ' ', ...parts)
}

/**
 * drawChange shows a change of an item in a panel: who made it, when, and what it changed. Without a change it is the one that made the item's
 * state; {at} is the one at a revision. Both are read. onChange(change) is called to show an earlier one.
 */
export async function drawChange(panel, { origin, item, change, signal, revealed, timeOf, onChange }) {
  try {
    const shown = change?.item ? change : await (change ? changeAt(origin, change.at, signal) : changeOf(origin, item, signal))
    if (!signal.aborted) panel.replaceChildren(...changeNodes(shown))
  } catch (error) {
    if (!signal.aborted) panel.replaceChildren(el('p', { class: 'object-note bad', role: 'alert' }, `Not read: ${error.message}`))
  }

  function changeNodes(shown) {
    const { before, created, compacted } = shown
    const who = whoOf(shown)
    const time = timeText(timeOfChange(shown, timeOf))
    const number = (each) => each.revision.toLocaleString('en')
    const head = `Revision ${before ? number(before) + ' → ' : ''}${number(shown.item)}${time ? ', ' + time : ''}${who ? ', by ' + who : ''}`
    const earlier = before && el('button', { type: 'button', 'data-action': 'earlier', onclick: async () => onChange(await changeOf(origin, before)) }, 'The change before')
    const note = el('div', { class: 'object-note' }, el('span', {}, head), earlier)
    if (compacted) return [note, el('p', { class: 'object-note' }, `etcd has compacted what was before revision ${number(shown.item)}: what this change has changed is not known.`)]
    return [note, ...(created ? [el('p', { class: 'object-note' }, 'Created by this change.')] : []), ...changeView(before, shown.item, { revealed, label: head })]
  }
}
