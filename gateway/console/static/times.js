// Which revision etcd had at which time, as far as that is known: from the gateway, which records it every ten seconds, and from the events
// that this page has received.

import { request } from './api.js'

const samples = 40 // times that the gateway is asked for, over its record
const most = 1_000 // points that are kept
const dense = 200 // ms: events of less distance are one point
const offsets = [1, 2, 5, 10, 20, 30, 60, 120, 360, 720, 1440, 4320, 10_080] // minutes
const sure = 2_000 // ms: between points of less distance a time is exact enough for "at"

const iso = (time) => new Date(time).toISOString().replace(/\.\d+Z$/, 'Z')

/** Times holds points {revision, time}, ascending in both. */
export class Times {
  points = []
  #key = 'key=%2F' // a key that the user may read: at= needs one

  /** learn notes that etcd had a revision at a time. */
  learn(revision, time) {
    const last = this.points.at(-1)
    if (!last || (revision > last.revision && time >= last.time)) {
      if (this.points.length > 1 && last.time - this.points.at(-2).time < dense) this.points.pop()
      this.points.push({ revision, time })
    } else {
      const at = this.points.findIndex((each) => each.time >= time)
      const [before, after] = [this.points[at - 1], this.points[at]]
      if (after?.time === time || (before && before.revision > revision) || (after && after.revision < revision)) return
      this.points.splice(at, 0, { revision, time })
    }
    if (this.points.length > most) this.points = this.points.filter((_, i) => i % 2 || i > most / 2)
  }

  /** forget removes what is older than a revision that etcd has. */
  forget(oldest) {
    const from = this.points.findIndex(({ revision }) => revision >= oldest)
    this.points = from < 0 ? [] : this.points.slice(from)
  }

  clear() {
    this.points = []
  }

  /** ask asks the gateway which revision etcd had at a time: {revision, time}. It throws a Refused if that is not on record. */
  async ask(time, signal) {
    const path = () => `/v1/keys?${this.#key}&limit=1&keysOnly=1&pretty=0&at=` + iso(time)
    let answer
    try {
      answer = await request(path(), { signal })
    } catch (error) {
      const open = error.status === 403 && error.body?.open?.[0]
      if (!open || this.#key.endsWith(encodeURIComponent(open))) throw error
      this.#key = 'key=' + encodeURIComponent(open)
      answer = await request(path(), { signal })
    }
    const point = { revision: Number(answer.headers.get('Revtail-Revision')), time: Date.parse(answer.headers.get('Revtail-Time')) }
    if (point.revision) this.learn(point.revision, point.time)
    return point
  }

  /** load reads the record of the gateway: first how far it goes back, then evenly spread times of its last `span` ms. */
  async load(span, signal) {
    const now = Date.now() - 1000 // the clock of the gateway may be behind
    let good = 0
    let bad = Infinity
    const known = async (age) => {
      try {
        await this.ask(now - age, signal)
        return true
      } catch (error) {
        if (!error.status || error.status === 401 || error.status === 403) throw error
        return false
      }
    }
    try {
      for (const minutes of [0.1, ...offsets]) {
        if (await known(minutes * 60_000)) good = minutes * 60_000
        else { bad = minutes * 60_000; break }
        if (good >= span) break
      }
      if (good === 0) return
      for (let i = 0; i < 5 && bad < Infinity; i++) {
        const middle = (good + bad) / 2
        if (await known(middle)) good = middle
        else bad = middle
      }
      const length = Math.min(good, span)
      for (let i = 1; i < samples; i++) await known((length * i) / samples)
    } catch { /* no key is open, or there is no connection: the page knows what it has seen */ }
  }

  /** timeOf is the time of a revision: {time, about}; undefined: not known. */
  timeOf(revision) {
    const at = this.points.findIndex((each) => each.revision >= revision)
    if (at < 0) return this.points.length ? { time: this.points.at(-1).time, about: true } : undefined
    const after = this.points[at]
    const before = this.points[at - 1]
    if (after.revision === revision) return { time: after.time, about: false }
    if (!before) return undefined
    const part = (revision - before.revision) / (after.revision - before.revision)
    return { time: before.time + part * (after.time - before.time), about: after.time - before.time > sure }
  }

  /** revisionOf is the revision of a time, of those that are known; undefined before the first point. */
  revisionOf(time) {
    let at = this.points.findIndex((each) => each.time > time)
    if (at < 0) at = this.points.length
    const before = this.points[at - 1]
    const after = this.points[at]
    if (!before) return undefined
    if (!after) return before.revision
    return before.revision + Math.floor(((time - before.time) / (after.time - before.time)) * (after.revision - before.revision))
  }

  /** changes is how many revisions etcd made between two times; undefined: not known. */
  changes(from, to) {
    const [a, b] = [this.revisionOf(from), this.revisionOf(to)]
    return a === undefined || b === undefined ? undefined : b - a
  }
}

/** clock is a time of day; with the date if it is not of today. */
export function clock(time) {
  const date = new Date(time)
  const day = date.toDateString() === new Date().toDateString() ? '' : date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' }) + ' '
  return day + date.toLocaleTimeString('en-GB')
}

/** since is how long ago a time was, in words. */
export function since(time, now = Date.now()) {
  const seconds = Math.max(0, Math.round((now - time) / 1000))
  const say = (n, unit) => `${n} ${unit}${n === 1 ? '' : 's'} ago`
  if (seconds < 60) return say(seconds, 'second')
  if (seconds < 3600) return say(Math.floor(seconds / 60), 'minute')
  if (seconds < 172_800) return say(Math.floor(seconds / 3600), 'hour')
  return say(Math.floor(seconds / 86_400), 'day')
}
