// Two changes of one text that were made at the same time: three columns, and a choice where both have changed the same lines.

import { el } from './dom.js'
import { merge, merged } from './merge.js'
import { timeOfChange, timeText, whoOf } from './history.js'

/**
 * conflictView shows what is different in `theirs`, an item that was stored after base, and in the own text. lines: {base, mine, theirs}. on:
 * {onRebase(lines), onDiscard(), onBack()}
 */
export function conflictView({ base, theirs, lines }, { onRebase, onDiscard, onBack }) {
  const parts = merge(lines.base, lines.mine, lines.theirs)
  const conflicts = parts.filter((part) => part.kind === 'conflict')
  const chosen = new Map()
  const who = whoOf({ item: theirs, before: base })
  const time = timeText(timeOfChange({ item: theirs, before: base }))
  const revision = theirs.revision.toLocaleString('en')
  const rebase = el('button', { type: 'button', class: 'primary', 'data-action': 'rebase', onclick: () => onRebase(merged(parts, (part) => chosen.get(part))) }, 'Put my changes on it')
  const ready = () => { rebase.disabled = chosen.size < conflicts.length }
  ready()
  const rows = parts.filter((part) => part.kind !== 'same').map((part, index) => row(part, index, (side) => {
    chosen.set(part, side)
    ready()
  }))
  const left = conflicts.length === 0 ? 'No line was changed by both.' : `${conflicts.length} ${conflicts.length === 1 ? 'stretch was' : 'stretches were'} changed by both: choose.`
  return [
    el('h3', {}, 'Changed meanwhile'),
    el('p', { class: 'object-note bad', role: 'alert' }, `Revision ${revision} was stored${time ? ' at ' + time : ''}${who ? ' by ' + who : ''} while you edited revision ${base.revision.toLocaleString('en')}. Nothing of yours was stored. ${left}`),
    el('div', { class: 'three heads', 'aria-hidden': true }, el('div', {}, `Before, revision ${base.revision.toLocaleString('en')}`), el('div', {}, `Meanwhile, revision ${revision}`), el('div', {}, 'Yours')),
    ...rows,
    el('menu', {},
      el('button', { type: 'button', 'data-action': 'discard', onclick: onDiscard }, 'Discard mine'),
      el('button', { type: 'button', 'data-action': 'back', onclick: onBack }, 'Back to the text'), rebase),
  ]
}

const column = (label, lines, kind) => el('div', { class: 'column ' + (lines.length ? kind : 'same'), role: 'group', 'aria-label': label }, ...(lines.length ? lines.map((text) => el('div', { class: 'code' }, text || ' ')) : [el('div', { class: 'dim' }, 'nothing')]))

function row(part, index, onChoose) {
  const { kind } = part
  const columns = el('div', { class: 'three' },
    column('Before', part.base, kind === 'mine' ? 'removed' : 'same'),
    column('Meanwhile', part.theirs, kind === 'mine' ? 'same' : 'added'),
    column('Yours', part.mine, kind === 'theirs' ? 'same' : 'added'))
  if (kind !== 'conflict') return columns
  const radio = (side, label) => el('label', {}, el('input', { type: 'radio', name: 'conflict-' + index, value: side, onchange: () => onChoose(side) }), ' ' + label)
  return el('fieldset', { class: 'conflict' }, el('legend', {}, 'Both have changed this'), columns, el('div', { class: 'choices' }, radio('theirs', 'Keep theirs'), radio('mine', 'Keep mine')))
}
