// What has changed between two values, field by field.

const isObject = (value) => value !== null && typeof value === 'object'
const step = (path, name) => (/^[A-Za-z_$][\w$-]*$/.test(name) ? (path ? path + '.' : '') + name : path + '[' + JSON.stringify(name) + ']')

/**
 * diff finds the fields that differ: {path, before, after}, where undefined is a field that is not there. Objects are compared by
 * name and lists by position; what is there on one side only is one field, however much it holds. At most `limit` are returned,
 * and how many there are in all.
 */
export function diff(before, after, limit = Infinity) {
  const fields = []
  let found = 0
  const walk = (path, a, b) => {
    if (Object.is(a, b)) return
    if (isObject(a) && isObject(b) && Array.isArray(a) === Array.isArray(b)) {
      if (Array.isArray(a)) {
        for (let i = 0; i < Math.max(a.length, b.length); i++) walk(`${path}[${i}]`, a[i], b[i])
        return
      }
      for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
        walk(step(path, name), Object.hasOwn(a, name) ? a[name] : undefined, Object.hasOwn(b, name) ? b[name] : undefined)
      }
      return
    }
    found++
    if (fields.length < limit) fields.push({ path, before: a, after: b })
  }
  walk('', before, after)
  return { fields, found }
}

/**
 * lines finds the lines by which two texts differ, less what both begin and end with: {removed, added}. Undefined unless one of
 * them has more than one line.
 */
export function lines(before, after) {
  if (typeof before !== 'string' || typeof after !== 'string' || !(before + after).includes('\n')) return undefined
  const a = before.split('\n')
  const b = after.split('\n')
  let head = 0
  while (head < a.length && head < b.length && a[head] === b[head]) head++
  let tail = 0
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++
  return { removed: a.slice(head, a.length - tail), added: b.slice(head, b.length - tail) }
}
