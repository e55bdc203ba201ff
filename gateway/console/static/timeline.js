// The time bar: a slider over time, with the number of changes behind it. What is shown at a revision is the page's.

import { $ } from './dom.js'
import { clock, since, Times } from './times.js'

const settle = 60 // ms: while the slider moves, not each revision is asked for
const end = 1000 // the position of now
const hour = 3_600_000
const bars = 120
const width = 0.12 // of the slider, for revisions whose time is not known or before the range

/** Timeline calls onAt(revision), or onAt(undefined) for now, and tell(text) if a time cannot be shown. */
export class Timeline {
  at // the revision that is shown; undefined: now
  times = new Times()
  #oldest = 1
  #newest = 1
  #from = Date.now() // the time at the left end
  #seen = new Map() // second → events of what is followed
  #onAt
  #tell
  #timer
  #drawn = 0
  #densityAt = 0
  #asking = new AbortController()

  constructor(onAt, tell) {
    this.#onAt = onAt
    this.#tell = tell
    const slide = (position) => this.go(position >= end ? undefined : this.#revisionAt(position))
    $('timeline').addEventListener('submit', (event) => event.preventDefault())
    $('slider').addEventListener('input', () => slide(Number($('slider').value)))
    $('slider').addEventListener('keydown', (event) => this.#key(event))
    $('slider').addEventListener('pointermove', (event) => this.#hover(event))
    for (const leave of ['pointerleave', 'blur']) $('slider').addEventListener(leave, () => { $('when').hidden = true })
    $('slider').addEventListener('focus', () => this.#label(Number($('slider').value)))
    $('at').addEventListener('change', () => this.go(Number($('at').value) || undefined))
    $('date').addEventListener('change', () => { if ($('date').value) this.goTime(new Date($('date').value).getTime()) })
    $('back').addEventListener('change', () => {
      if ($('back').value) this.goTime(Date.now() - Number($('back').value) * 60_000)
      $('back').value = ''
    })
    $('earlier').addEventListener('click', () => this.step(-1))
    $('later').addEventListener('click', () => this.step(1))
    for (const id of ['live', 'banner-live']) $(id).addEventListener('click', () => this.go())
    setInterval(() => { if (!document.hidden) this.#draw() }, 1000)
  }

  /** load reads what the gateway knows of the times of revisions. */
  async load() {
    await this.times.load(hour)
    if (this.times.points.length) this.#from = Math.max(Math.min(this.#from, this.times.points[0].time), Date.now() - hour)
    this.#draw()
  }

  /** reach says up to which revision there is something to see. */
  reach(newest) {
    if (newest > this.#newest) {
      this.#newest = newest
      $('newest').textContent = newest.toLocaleString('en')
    }
    if (performance.now() - this.#drawn > 250) this.#draw()
  }

  /** saw notes that an event came at this moment. */
  saw(revision) {
    const now = Date.now()
    const second = Math.floor(now / 1000)
    this.#seen.set(second, (this.#seen.get(second) ?? 0) + 1)
    if (this.#seen.size > 4000) this.#seen.delete(this.#seen.keys().next().value)
    this.times.learn(revision, now)
  }

  /** forget says that there is nothing before a revision any more. */
  forget(oldest) {
    this.#oldest = oldest
    this.times.forget(oldest)
    this.#from = Math.max(this.#from, this.times.points[0]?.time ?? 0)
    this.#draw()
  }

  /** reset forgets the events of what was followed; with `newest`, the revisions too. */
  reset(newest) {
    this.#seen.clear()
    if (newest !== undefined) {
      this.#newest = newest
      this.#oldest = 1
      this.times.clear()
      this.#from = Date.now()
    }
    this.#draw()
  }

  get newest() {
    return this.#newest
  }

  step(by) {
    const to = (this.at ?? this.#newest) + by
    this.go(to > this.#newest || (by > 0 && to === this.#newest) ? undefined : to)
  }

  /** go shows a revision; time is when it was made, where that is recorded. */
  go(at, time) {
    this.#asking.abort()
    if (time) this.times.learn(at, time)
    if (time) this.#oldest = Math.min(this.#oldest, at) // a gap of what is recorded may be after it
    this.at = at === undefined ? undefined : Math.max(at, this.#oldest)
    const known = this.at !== undefined && this.times.timeOf(this.at)?.time
    if (known && known < this.#from) this.#from = known
    this.#draw()
    if (document.activeElement === $('slider')) this.#label(Number($('slider').value))
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#onAt(this.at), this.at === undefined ? 0 : settle)
  }

  /** goTime shows the state of a time, which the gateway knows to ten seconds. */
  async goTime(time) {
    if (Number.isNaN(time)) return this.#tell('This is not a time. Write 10m, 2h, 14:03 or 2026-11-21T10:00:00Z.')
    this.#asking.abort()
    this.#asking = new AbortController()
    const { signal } = this.#asking
    if (time > Date.now()) return this.#tell(`${clock(time)} is in the future.`)
    try {
      const point = await this.times.ask(time, signal)
      this.go(point.revision)
    } catch (error) {
      if (signal.aborted) return
      const seen = this.times.revisionOf(time) // the page has been open since
      if (seen !== undefined) this.go(seen)
      else this.#tell(error.status ? error.message : 'The gateway does not answer.')
    }
  }

  /** label is a revision in words: "14:03:22, 3 minutes ago, revision 4711". */
  label(revision) {
    const known = this.times.timeOf(revision)
    const name = 'revision ' + revision.toLocaleString('en')
    return known ? `${known.about ? 'about ' : ''}${clock(known.time)}, ${since(known.time)}, ${name}` : `${name}, of an unknown time`
  }

  // The slider: on its left the revisions without a known time, or before the range; on its right the time from #from to now.

  get #older() {
    const first = this.times.revisionOf(this.#from)
    return first === undefined || first > this.#oldest ? width * end : 0
  }

  #timeAt(position) {
    return this.#from + ((position - this.#older) / (end - this.#older)) * (Date.now() - this.#from)
  }

  #revisionAt(position) {
    const first = this.times.revisionOf(this.#from) ?? this.#newest
    if (position < this.#older) return Math.round(this.#oldest + (position / this.#older) * (first - 1 - this.#oldest))
    return Math.min(this.#newest, Math.max(this.#oldest, this.times.revisionOf(this.#timeAt(position)) ?? this.#newest))
  }

  #position(revision) {
    if (revision === undefined) return end
    const known = this.times.timeOf(revision)
    const now = Date.now()
    if (known && known.time >= this.#from) return Math.min(end - 1, this.#older + ((known.time - this.#from) / Math.max(1, now - this.#from)) * (end - this.#older))
    const first = this.times.revisionOf(this.#from) ?? this.#newest
    return Math.min(end - 1, ((revision - this.#oldest) / Math.max(1, first - this.#oldest)) * this.#older)
  }

  #key(event) {
    const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }
    if (!(event.key in steps)) return
    event.preventDefault()
    this.step(steps[event.key])
  }

  #hover(event) {
    const box = $('slider').getBoundingClientRect()
    this.#label(Math.min(end, Math.max(0, ((event.clientX - box.left - 8) / Math.max(1, box.width - 16)) * end)))
  }

  #label(position) {
    if ($('slider').disabled) return
    const at = position >= end - 1 ? undefined : this.#revisionAt(position)
    const changes = at !== undefined && position >= this.#older ? this.times.changes(this.#timeAt(position - end / bars), this.#timeAt(position + end / bars)) : undefined
    $('when').textContent = at === undefined ? 'now' : this.label(at) + (changes ? ` · ${changes.toLocaleString('en')} changes of etcd near it` : '')
    $('when').hidden = false
    const room = $('slider').offsetWidth - $('when').offsetWidth
    $('when').style.left = Math.max(0, Math.min(room, (position / end) * $('slider').offsetWidth - $('when').offsetWidth / 2)) + 'px'
  }

  #draw() {
    this.#drawn = performance.now()
    if (this.#newest <= 1) return
    for (const id of ['slider', 'at', 'date', 'back']) $(id).disabled = false
    $('at').min = this.#oldest
    $('at').max = this.#newest
    const position = this.#position(this.at)
    $('slider').value = position
    $('slider').setAttribute('aria-valuetext', this.at === undefined ? 'now, revision ' + this.#newest.toLocaleString('en') : this.label(this.at))
    if ($('at') !== document.activeElement) $('at').value = this.at ?? this.#newest
    const time = this.at === undefined ? undefined : this.times.timeOf(this.at)?.time
    if ($('date') !== document.activeElement) $('date').value = time ? new Date(time - new Date(time).getTimezoneOffset() * 60_000).toISOString().slice(0, 19) : ''
    $('live').disabled = this.at === undefined
    $('live').textContent = this.at === undefined ? 'Live' : 'Back to live'
    $('timeline').classList.toggle('past', this.at !== undefined)
    $('scale-start').textContent = clock(this.#from)
    $('scale-start').style.left = (this.#older / end) * 100 + '%'
    $('scale-unknown').textContent = this.#older ? (this.#from > (this.times.points[0]?.time ?? Infinity) ? 'earlier' : 'unknown') : ''
    $('scale-end').textContent = 'now'
    if (performance.now() - this.#densityAt > 900) this.#density()
  }

  /** #density draws a bar for the changes of etcd, before it one for the events that the page has received; where neither is known, a mark. */
  #density() {
    this.#densityAt = performance.now()
    const events = new Array(bars).fill(0)
    for (const [second, n] of this.#seen) {
      if ((second + 1) * 1000 <= this.#from) continue
      const time = Math.max(this.#from, second * 1000 + 500) // the range may begin within the second
      const at = this.#older + ((time - this.#from) / Math.max(1, Date.now() - this.#from)) * (end - this.#older)
      if (at >= this.#older) events[Math.min(bars - 1, Math.floor((at / end) * bars))] += n
    }
    const changes = events.map((_, i) => {
      const [from, to] = [(i / bars) * end, ((i + 1) / bars) * end]
      return to <= this.#older ? undefined : this.times.changes(this.#timeAt(Math.max(from, this.#older)), this.#timeAt(to))
    })
    const top = Math.max(4, ...events, ...changes.map((n) => n ?? 0))
    $('density').replaceChildren(...events.flatMap((seen, i) => [
      ...(changes[i] === undefined ? [bar('unknown', i)] : changes[i] ? [bar('changes', i, changes[i], top)] : []),
      ...(seen ? [bar('seen', i, seen, top)] : []),
    ]))
  }
}

function bar(kind, x, n, top) {
  const height = kind === 'unknown' ? 6 : Math.max(1.5, (Math.log1p(n) / Math.log1p(top)) * 24)
  return svg('rect', { class: kind, x: x + 0.1, width: kind === 'unknown' ? 0.4 : 0.8, y: 24 - height, height })
}

const svg = (name, attributes) => {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
  return element
}
