// The chart of changes over time: how many changes of what is chosen the gateway has recorded in each interval. A bar leads to the state after its changes.

import { $, count } from './dom.js'
import { counts, where } from './journal.js'
import { stored, store } from './layout.js'
import { clock } from './times.js'

const key = 'revtail.activity'
const hour = 3_600_000
const day = 24 * hour
const most = 90 // bars
const lengths = ['1s', '5s', '15s', '1m', '5m', '10m', '20m', '1h', '2h', '6h', '12h', '24h', '72h', '168h', '720h'] // of an interval
const units = { s: 1000, m: 60_000, h: hour }
const least = 60_000 // ms that the chart shows
const pause = 5_000 // ms between two requests while changes come, at least
const share = 20 // and so many times what the last one has taken

const msOf = (length) => parseInt(length) * units[length.at(-1)]

/** span is what the chart shows of what is recorded: from when, and the length of an interval. */
function span(chosen, end, now) {
  const recorded = end.time ?? now - day
  const range = { day, week: 7 * day }[chosen] ?? Math.max(least, now - recorded)
  const length = lengths.find((each) => range / msOf(each) <= most) ?? lengths.at(-1)
  const step = msOf(length)
  const from = Math.floor((now - range) / step) * step
  return { from, length, step, to: Math.floor(now / step) * step + step, recorded }
}

/** sum puts the lines of one interval together, of which there are several after the clock of the gateway was set back. */
function sum(lines, { from, step, to }) {
  const bars = new Map()
  for (const { time, ...line } of lines) {
    const at = Math.floor((time - from) / step)
    if (!(at >= 0 && time < to)) continue
    const had = bars.get(at)
    bars.set(at, had ? { ...had, changes: had.changes + line.changes, last: Math.max(had.last, line.last), lastTime: Math.max(had.lastTime, line.lastTime) } : { at, time, ...line })
  }
  return [...bars.values()].sort((a, b) => a.at - b.at)
}

/** Activity is the chart. onPick(revision, time) is called to show the state of a revision. */
export class Activity {
  #onPick
  #choice = { open: true, range: undefined } // of the user, which the browser remembers; without a range it is a day, or all if that is less
  #source
  #absent = true // there is nothing to show
  #shown // {from, to, step, bars, gaps, recorded}
  #chosen = 0 // the bar that the keyboard is at
  #past // the revision that the page shows
  #asking = new AbortController()
  #asked = 0
  #took = 0 // ms
  #timer

  constructor(onPick) {
    this.#onPick = onPick
    Object.assign(this.#choice, stored(key))
    $('activity').open = this.#choice.open
    const keep = (choice) => {
      Object.assign(this.#choice, choice)
      store(key, this.#choice)
      this.#load()
    }
    $('activity').addEventListener('toggle', () => { if ($('activity').open !== this.#choice.open) keep({ open: $('activity').open }) })
    $('activity-range').addEventListener('change', () => keep({ range: $('activity-range').value }))
    const chart = $('activity-chart')
    chart.addEventListener('click', (event) => this.#pick(this.#under(event)))
    chart.addEventListener('pointermove', (event) => this.#say(this.#under(event)))
    chart.addEventListener('pointerleave', () => this.#say())
    chart.addEventListener('focus', () => { if (chart.matches(':focus-visible')) this.#say(this.#chosen) })
    chart.addEventListener('blur', () => this.#say())
    chart.addEventListener('keydown', (event) => this.#key(event))
    document.addEventListener('visibilitychange', () => this.news())
    setInterval(() => this.news(), 60_000) // the end of the chart is now
  }

  /** show shows the changes of a source; of keys none are recorded. */
  show(source) {
    this.#source = source
    this.#shown = undefined
    this.#absent = source.kind !== 'resource'
    if (this.#absent) $('activity').hidden = true // otherwise it stays until it is known whether there is another one
    $('activity-bars').replaceChildren()
    $('activity-sum').textContent = ''
    this.#load()
  }

  /** past says which revision the page shows; undefined: the live state. */
  past(revision) {
    this.#past = revision
    if (this.#shown) this.#draw()
  }

  /** news says that there are changes. */
  news() {
    if (this.#absent || this.#timer) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      if (!document.hidden) this.#load()
    }, Math.max(500, this.#asked + Math.max(pause, share * this.#took) - Date.now()))
  }

  async #load() {
    this.#asking.abort()
    this.#asking = new AbortController()
    const { signal } = this.#asking
    const source = this.#source
    if (this.#absent || (this.#shown && !$('activity').open)) return
    this.#asked = Date.now()
    const what = where(source.path, source)
    try {
      const { end } = await counts(what, { length: '1h', since: '-1s', limit: 1 }, signal)
      const chosen = $('activity-range').value = this.#choice.range ?? (Date.now() - end.time > day ? 'day' : 'all')
      const range = span(chosen, end, Date.now())
      const read = $('activity').open ? await counts(what, { length: range.length, since: new Date(range.from).toISOString() }, signal) : { counts: [], gaps: [] }
      this.#took = Date.now() - this.#asked
      const bars = sum(read.counts, range)
      this.#shown = { ...range, bars, gaps: read.gaps }
      this.#chosen = Math.max(0, bars.length - 1)
      $('activity').hidden = false
      this.#draw()
    } catch (error) {
      if (signal.aborted) return
      this.#absent = [403, 404, 501].includes(error.status) // there is no journal, or it may not be read
      if (this.#absent) this.#shown = undefined
      $('activity').hidden = !this.#shown
    }
  }

  // What is drawn

  #draw() {
    const { bars, gaps, from, to, step, recorded } = this.#shown
    const n = Math.round((to - from) / step)
    const top = Math.max(4, ...bars.map(({ changes }) => changes))
    const height = ({ changes }) => Math.max(2, Math.sqrt(changes / top) * 24) // a burst leaves the others visible
    const at = this.#past === undefined ? undefined : bars.findLast(({ first }) => first <= this.#past)
    const x = (time) => Math.min(100, Math.max(0, ((time - from) / (to - from)) * 100))
    const rect = (kind, left, width, high) => svg('rect', { class: kind, x: left, width: Math.max(0.15, width), y: 24 - high, height: high })
    const unrecorded = recorded > from ? [rect('before', 0, x(recorded), 24)] : []
    $('activity-bars').replaceChildren(...unrecorded,
      ...gaps.map((gap) => rect('lost', x(bars.find(({ first }) => first > gap.until)?.time ?? to) - 0.3, 0.3, 24)),
      ...bars.map((bar) => rect(bar === at ? 'bar here' : 'bar', (bar.at / n) * 100 + 8 / n, 84 / n, height(bar))))
    const total = bars.reduce((all, { changes }) => all + changes, 0)
    $('activity-sum').textContent = $('activity').open ? `${count(total, 'change')}, each bar ${lengthText(step)}` : ''
    $('activity-from').textContent = clock(from)
    const chart = $('activity-chart')
    chart.setAttribute('aria-valuemax', Math.max(0, bars.length - 1))
    this.#value()
  }

  #value() {
    const chart = $('activity-chart')
    chart.setAttribute('aria-valuenow', this.#chosen)
    chart.setAttribute('aria-valuetext', this.#label(this.#chosen))
  }

  #label(index) {
    const bar = this.#shown?.bars[index]
    if (!bar) return 'no change'
    return `${clock(bar.time)} to ${new Date(bar.time + this.#shown.step).toLocaleTimeString('en-GB')}: ${count(bar.changes, 'change')}`
  }

  #say(index) {
    const label = $('activity-label')
    const bar = this.#shown?.bars[index]
    label.hidden = !bar
    for (const each of $('activity-bars').querySelectorAll('.on')) each.classList.remove('on')
    if (!bar) return
    $('activity-bars').querySelectorAll('.bar')[index].classList.add('on')
    label.textContent = this.#label(index)
    const chart = $('activity-chart')
    const middle = ((bar.time + this.#shown.step / 2 - this.#shown.from) / (this.#shown.to - this.#shown.from)) * chart.offsetWidth
    label.style.left = Math.max(0, Math.min(chart.offsetWidth - label.offsetWidth, middle - label.offsetWidth / 2)) + 'px'
  }

  // What is chosen

  /** #under is the bar under the pointer, or the one whose changes made the state of that time. */
  #under(event) {
    const box = $('activity-chart').getBoundingClientRect()
    const { from, to, bars } = this.#shown ?? { bars: [] }
    const time = from + ((event.clientX - box.left) / box.width) * (to - from)
    const index = bars.findLastIndex((bar) => bar.time <= time)
    return index < 0 && bars.length ? undefined : index
  }

  #key(event) {
    const last = (this.#shown?.bars.length ?? 0) - 1
    if (event.altKey || event.ctrlKey || event.metaKey || last < 0) return
    const to = { ArrowLeft: this.#chosen - 1, ArrowDown: this.#chosen - 1, ArrowRight: this.#chosen + 1, ArrowUp: this.#chosen + 1, Home: 0, End: last }[event.key]
    if (event.key === 'Enter' || event.key === ' ') this.#pick(this.#chosen)
    else if (to !== undefined) this.#chosen = Math.min(last, Math.max(0, to))
    else return
    event.preventDefault()
    event.stopPropagation()
    this.#value()
    this.#say(this.#chosen)
  }

  #pick(index) {
    const bar = this.#shown?.bars[index]
    if (!bar) return
    this.#chosen = index
    this.#value()
    this.#onPick(bar.last, bar.lastTime)
  }
}

const lengthText = (ms) => (ms >= day ? count(ms / day, 'day') : ms >= hour ? count(ms / hour, 'hour') : ms >= 60_000 ? count(ms / 60_000, 'minute') : count(ms / 1000, 'second'))

const svg = (name, attributes) => {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
  return element
}
