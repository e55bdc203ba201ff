// What has changed between two values: field by field, line by line, and word by word. All of it takes a bounded time.

import { ExactNumber, same } from './revtail.js'

const isObject = (value) => value !== null && typeof value === 'object' && !(value instanceof ExactNumber)
const step = (path, name) => (/^[A-Za-z_$][\w$-]*$/.test(name) ? (path ? path + '.' : '') + name : path + '[' + JSON.stringify(name) + ']')

/** pathText is a path of names and positions as one text: spec.containers[0].image, data["a.b"]. */
export const pathText = (path) => path.reduce((text, each) => (typeof each === 'number' ? `${text}[${each}]` : step(text, each)), '')

/**
 * diff finds the fields that differ: {path, steps, before, after}, where undefined is a field that is not there, and steps is the path as
 * a list. Objects are compared by name and lists by position; what is there on one side only is one field, however much it holds. At
 * most `limit` are returned, and how many there are in all.
 */
export function diff(before, after, limit = Infinity) {
  const fields = []
  let found = 0
  const walk = (steps, a, b) => {
    if (Object.is(a, b)) return
    if (isObject(a) && isObject(b) && Array.isArray(a) === Array.isArray(b)) {
      if (Array.isArray(a)) {
        for (let i = 0; i < Math.max(a.length, b.length); i++) walk([...steps, i], a[i], b[i])
        return
      }
      for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
        walk([...steps, name], Object.hasOwn(a, name) ? a[name] : undefined, Object.hasOwn(b, name) ? b[name] : undefined)
      }
      return
    }
    if (same(a, b)) return
    found++
    if (fields.length < limit) fields.push({ path: pathText(steps), steps, before: a, after: b })
  }
  walk([], before, after)
  return { fields, found }
}

const most = 1000 // edits that are looked for between two anchors; beyond that the whole stretch counts as replaced

/**
 * edits finds the stretches in which two lists differ, in order: {a, aEnd, b, bEnd}; the elements of `before` from a to aEnd are replaced
 * by those of `after` from b to bEnd. It is a shortest edit (Myers) between lines that both have once (patience).
 */
export function edits(before, after) {
  const numbers = new Map()
  const intern = (list) => Int32Array.from(list, (each) => {
    if (!numbers.has(each)) numbers.set(each, numbers.size)
    return numbers.get(each)
  })
  const a = intern(before)
  const b = intern(after)
  const found = []
  stretch(a, 0, a.length, b, 0, b.length, found)
  return joined(found)
}

/** stretch appends the edits between two stretches to found. */
function stretch(a, from, end, b, bFrom, bEnd, found) {
  while (from < end && bFrom < bEnd && a[from] === b[bFrom]) from++, bFrom++
  while (from < end && bFrom < bEnd && a[end - 1] === b[bEnd - 1]) end--, bEnd--
  if (from === end && bFrom === bEnd) return
  if (from === end || bFrom === bEnd) {
    found.push({ a: from, aEnd: end, b: bFrom, bEnd })
    return
  }
  const anchors = end - from + bEnd - bFrom > 64 ? anchorsOf(a, from, end, b, bFrom, bEnd) : []
  if (anchors.length === 0) {
    shortest(a, from, end, b, bFrom, bEnd, found)
    return
  }
  for (const [i, j] of anchors) {
    stretch(a, from, i, b, bFrom, j, found)
    from = i + 1
    bFrom = j + 1
  }
  stretch(a, from, end, b, bFrom, bEnd, found)
}

/** anchorsOf returns pairs of positions of elements that both stretches have once: the longest series in which both ascend. */
function anchorsOf(a, from, end, b, bFrom, bEnd) {
  const once = (list, start, stop) => {
    const at = new Map()
    for (let i = start; i < stop; i++) at.set(list[i], at.has(list[i]) ? -1 : i)
    return at
  }
  const inB = once(b, bFrom, bEnd)
  const pairs = []
  for (const [each, i] of once(a, from, end)) {
    const j = inB.get(each) ?? -1
    if (i >= 0 && j >= 0) pairs.push({ i, j })
  }
  const tails = [] // of the shortest series of each length, by j
  for (const pair of pairs) {
    let low = 0
    for (let high = tails.length; low < high; ) {
      const middle = (low + high) >> 1
      if (tails[middle].j < pair.j) low = middle + 1
      else high = middle
    }
    pair.before = tails[low - 1]
    tails[low] = pair
  }
  const series = []
  for (let pair = tails.at(-1); pair; pair = pair.before) series.push([pair.i, pair.j])
  return series.reverse()
}

/** shortest is Myers' algorithm: greedy, forward, with the furthest points of each number of edits to walk back on. */
function shortest(a, from, end, b, bFrom, bEnd, found) {
  const n = end - from
  const m = bEnd - bFrom
  const limit = Math.min(n + m, most)
  const furthest = new Int32Array(2 * limit + 3)
  const trace = []
  for (let d = 0; d <= limit; d++) {
    trace.push(furthest.slice(limit + 1 - d - 1, limit + 1 + d + 2))
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && furthest[limit + k] < furthest[limit + k + 2])
      let x = down ? furthest[limit + k + 2] : furthest[limit + k] + 1
      while (x < n && x - k < m && a[from + x] === b[bFrom + x - k]) x++
      furthest[limit + 1 + k] = x
      if (x >= n && x - k >= m) return walkBack(trace, d, from, n, bFrom, m, found)
    }
  }
  found.push({ a: from, aEnd: end, b: bFrom, bEnd })
}

/** walkBack appends the edits of a path from its end to its start. Each trace[d] begins with the point of diagonal -d-1. */
function walkBack(trace, edited, from, x, bFrom, y, found) {
  const path = []
  for (let d = edited; d > 0; d--) {
    const point = (k) => trace[d][k + d + 1]
    const k = x - y
    const down = k === -d || (k !== d && point(k - 1) < point(k + 1))
    const startX = down ? point(k + 1) : point(k - 1)
    const startY = startX - (down ? k + 1 : k - 1)
    path.push(down ? { a: from + startX, aEnd: from + startX, b: bFrom + startY, bEnd: bFrom + startY + 1 }
      : { a: from + startX, aEnd: from + startX + 1, b: bFrom + startY, bEnd: bFrom + startY })
    x = startX
    y = startY
  }
  found.push(...path.reverse())
}

/** joined makes one edit of those that touch. */
function joined(found) {
  const list = []
  for (const edit of found) {
    const last = list.at(-1)
    if (last && last.aEnd === edit.a && last.bEnd === edit.b) {
      last.aEnd = edit.aEnd
      last.bEnd = edit.bEnd
    } else {
      list.push({ ...edit })
    }
  }
  return list
}

/** lines finds the lines by which two texts differ: {removed, added}. Undefined unless one of them has more than one line. */
export function lines(before, after) {
  if (typeof before !== 'string' || typeof after !== 'string' || !(before + after).includes('\n')) return undefined
  const a = before.split('\n')
  const b = after.split('\n')
  const found = edits(a, b)
  return { removed: found.flatMap((edit) => a.slice(edit.a, edit.aEnd)), added: found.flatMap((edit) => b.slice(edit.b, edit.bEnd)) }
}

const longestLine = 2000 // characters; of longer lines only what both begin and end with counts as the same
const leastAlike = 0.3 // of the characters; lines that share less are not one that has changed

/**
 * words marks by which words two lines differ: for each of both the parts {text, changed}. Undefined: they have so little in common that
 * one line was replaced by another.
 */
export function words(before, after) {
  const split = (line) => line.match(/[\p{L}\p{N}_]+|\s+|./gsu) ?? []
  const long = before.length > longestLine || after.length > longestLine
  const [a, b] = long ? ends(before, after) : [split(before), split(after)]
  const found = edits(a, b)
  const parts = (list, start, stop) => {
    const out = []
    let at = 0
    for (const edit of found) {
      if (edit[start] > at) out.push({ text: list.slice(at, edit[start]).join(''), changed: false })
      if (edit[stop] > edit[start]) out.push({ text: list.slice(edit[start], edit[stop]).join(''), changed: true })
      at = edit[stop]
    }
    if (at < list.length) out.push({ text: list.slice(at).join(''), changed: false })
    return out
  }
  const marked = [parts(a, 'a', 'aEnd'), parts(b, 'b', 'bEnd')]
  const kept = marked[0].reduce((sum, part) => sum + (part.changed ? 0 : part.text.trim().length), 0)
  return kept < leastAlike * Math.max(before.trim().length, after.trim().length) ? undefined : marked
}

/** ends splits two texts into what both begin with, what differs, and what both end with. */
function ends(a, b) {
  let head = 0
  while (head < a.length && head < b.length && a[head] === b[head]) head++
  let tail = 0
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++
  return [a, b].map((text) => [text.slice(0, head), text.slice(head, text.length - tail), text.slice(text.length - tail)].filter(Boolean))
}
