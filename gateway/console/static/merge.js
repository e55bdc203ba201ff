// Two changes of one text put together, line by line.

import { edits } from './diff.js'

/**
 * merge finds what two changes of a text did: a list of {kind, base, mine, theirs}, each of them lines. kind is same, mine or theirs (which of
 * both changed the stretch), both (in the same way) or conflict.
 */
export function merge(base, mine, theirs) {
  const a = edits(base, mine)
  const b = edits(base, theirs)
  const parts = []
  const at = { base: 0, mine: 0, theirs: 0 }
  const take = (kind, lengths) => {
    const part = { kind }
    for (const [name, lines] of Object.entries({ base, mine, theirs })) part[name] = lines.slice(at[name], at[name] += lengths[name])
    parts.push(part)
  }
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    const start = Math.min(a[i]?.a ?? Infinity, b[j]?.a ?? Infinity)
    const kept = start - at.base
    if (kept) take('same', { base: kept, mine: kept, theirs: kept })
    let end = start
    const group = { mine: [], theirs: [] }
    for (;;) { // changes that touch belong together
      if (i < a.length && (a[i].a < end || a[i].a === start || (a[i].a === end && group.theirs.length))) group.mine.push(a[i]), end = Math.max(end, a[i++].aEnd)
      else if (j < b.length && (b[j].a < end || b[j].a === start || (b[j].a === end && group.mine.length))) group.theirs.push(b[j]), end = Math.max(end, b[j++].aEnd)
      else break
    }
    const grown = (list) => list.reduce((sum, edit) => sum + edit.bEnd - edit.b - (edit.aEnd - edit.a), end - start)
    take(!group.theirs.length ? 'mine' : !group.mine.length ? 'theirs' : 'conflict', { base: end - start, mine: grown(group.mine), theirs: grown(group.theirs) })
    const last = parts.at(-1)
    if (last.kind === 'conflict' && last.mine.length === last.theirs.length && last.mine.every((line, n) => line === last.theirs[n])) last.kind = 'both'
  }
  const left = base.length - at.base
  if (left) take('same', { base: left, mine: left, theirs: left })
  return parts
}

/** merged is the text of the parts of a merge; choice(part) is mine or theirs for a conflict. */
export const merged = (parts, choice) => parts.flatMap((part) => (part.kind === 'theirs' || (part.kind === 'conflict' && choice(part) === 'theirs') ? part.theirs : part.mine))
