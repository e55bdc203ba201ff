// The console: what is selected is followed, and what is known of it is drawn, ten times a second at most.

import { $, count } from './dom.js'
import { Refused } from './api.js'
import { Keys, oldest, Resource } from './source.js'
import { follow, mostRows } from './follow.js'
import { matches, Mirror } from './mirror.js'
import { Table } from './table.js'
import { Tree } from './tree.js'
import { Events } from './events.js'
import { Timeline } from './timeline.js'
import { Detail } from './detail.js'
import { askToken, nextTheme, Rate, surround } from './page.js'
import { held } from './press.js'
import { showProblems } from './problems.js'

const drawEvery = 100 // ms
const typing = 500 // ms after the last letter of an expression, or Enter

const mirror = new Mirror(mostRows)
const rate = new Rate($('spark'))
const tree = new Tree($('tree'), (source) => { location.hash = source.hash })
const table = new Table($('table'), (item) => detail.show(item))
const events = new Events($('events'), (item) => detail.show(mirror.items.get(item.id) ?? item))
const timeline = new Timeline(showAt)
const detail = new Detail((revision) => timeline.go(revision))

let source // that is followed
let following = new AbortController() // ends what belongs to it
let past // the list that is shown; undefined: the state of now
let reading = new AbortController() // ends the reading of it
let text = '' // of the filter, lower case
let expression = '' // CEL, for the server
let changed = new Set() // ids, since the last drawing
let received = 0
let leftOut = 0
let lost // since when there is no connection

// What is selected

function choose(next) {
  if (source?.hash !== next.hash) {
    source = next
    table.columns(source.columns)
    $('namespace').hidden = !source.namespaced
    $('namespace').value = source.namespace ?? ''
    $('title').textContent = source.title
    document.title = source.title + ' · revtail'
    events.clear()
    detail.close()
    received = leftOut = 0
    timeline.forget(1, 1)
    mirror.reset({ items: [], revision: 0 })
    changed = new Set()
    past = undefined
    reading.abort()
    state('listing')
    draw()
  }
  tree.select(source)
  timeline.go()
  start()
}

function start() {
  following.abort()
  following = new AbortController()
  lost = undefined
  past = undefined
  say()
  follow(source, {
    filter: expression, signal: following.signal, onState: state,
    onList(list) {
      mirror.reset(list)
      timeline.reach(list.revision)
      later()
    },
    onFrame: take,
  })
}

function take(frame) {
  const news = mirror.apply(frame)
  if (news) {
    received++
    rate.add(1)
    changed.add(frame.item.id)
    if (matches(frame.item, text)) events.add(frame, expression)
    if (source instanceof Keys && frame.type !== 'changed') tree.learn(frame.type, frame.item.address)
  }
  later()
}

// What is drawn

let drawn = 0
let drawing = false

function later() {
  if (drawing) return
  drawing = true
  setTimeout(() => requestAnimationFrame(draw), Math.max(0, drawEvery - (performance.now() - drawn)))
}

function draw() {
  if (held(draw)) return
  drawing = false
  drawn = performance.now()
  leftOut += events.flush().left
  $('received').textContent = received ? received.toLocaleString('en') : ''
  $('left-out').textContent = leftOut ? ` · ${leftOut.toLocaleString('en')} not shown` : ''
  timeline.reach(mirror.revision)
  const all = past?.items ?? mirror.sorted()
  const shown = text ? all.filter((item) => matches(item, text)) : all
  table.show(shown, past ? undefined : changed)
  if (!past && detail.item && changed.has(detail.item.id)) detail.show(mirror.items.get(detail.item.id) ?? detail.item)
  changed = new Set()
  if (!source) return
  $('empty').hidden = shown.length > 0 || !$('message').hidden || $('status').dataset.state === 'listing'
  $('empty').textContent = all.length ? 'Nothing matches the filter.' : past ? 'There was nothing at this revision.' : 'Nothing is here. What gets written will show up.'
  if (!expression && $('status').dataset.state === 'live') tree.counted(source, mirror.last === undefined ? mirror.items.size : undefined)
  const cut = past ? past.more : mirror.last !== undefined
  $('count').textContent = (shown.length === all.length ? '' : shown.length.toLocaleString('en') + ' of ') + (cut ? 'the first ' : '') + count(all.length, source.noun)
}

/** say shows a message in the place of the table; nothing takes it away. */
function say(message = '', action) {
  $('message').hidden = !message
  $('message').replaceChildren(message)
  if (!action) return
  const button = document.createElement('button')
  button.textContent = action.label
  button.addEventListener('click', action.run)
  $('message').append(button)
}

function state(name, { error, delay, since } = {}) {
  const seconds = (ms) => (ms / 1000).toFixed(1) + ' s'
  const words = {
    listing: () => 'reading',
    live: () => 'live',
    reconnecting: () => `${error instanceof Refused ? error.message : error ? 'connection lost' : 'the stream has ended'}: trying again in ${seconds(delay)}` + (since ? `, to go on after revision ${since.toLocaleString('en')}` : ''),
    expired: () => 'compacted: reading again',
    refused: () => 'refused',
  }[name]()
  $('status').dataset.state = name
  $('status-text').textContent = words
  if (name === 'reconnecting') lost ??= performance.now()
  if (name === 'expired') events.note('Compacted: etcd has forgotten what happened since the connection was lost. The state has been read again; what happened in between is not in this list.')
  if (name === 'live' && lost !== undefined) {
    events.note(`connected again after ${seconds(performance.now() - lost)}` + (since ? `, on from revision ${since.toLocaleString('en')}` : ''))
    lost = undefined
    tree.load()
  }
  if (name === 'refused') refused(error)
}

function refused(error) {
  if (error.status === 400 && expression) {
    note(`Everything is shown, since the gateway does not take this expression: ${error.message}`)
    expression = ''
    start()
    return // the next change of the text tries again
  }
  say(error.message, { label: 'Try again', run: start })
  if (error.status === 401) askToken('The gateway asks who you are.')
}

// The past

async function showAt(at) {
  reading.abort()
  reading = new AbortController()
  const { signal } = reading
  $('banner').hidden = at === undefined
  if (at === undefined || !source) {
    past = undefined
    if ($('status').dataset.state !== 'refused') say()
    draw()
    return
  }
  $('banner-text').textContent = `As of revision ${at.toLocaleString('en')}; marked is what is different now.`
  try {
    past = await source.list({ at, filter: expression, signal, most: mostRows })
    if (signal.aborted) return
    for (const item of past.items) item.differs = mirror.items.get(item.id)?.revision !== item.revision
    say()
    if (detail.item) detail.show(past.items.find((item) => item.id === detail.item.id) ?? detail.item)
  } catch (error) {
    if (signal.aborted) return
    past = { items: [], more: false }
    say(error instanceof Refused ? error.message : 'The gateway does not answer.', { label: 'Try again', run: () => showAt(at) })
    if (error.gone) await compacted(at, signal)
  }
  draw()
}

/** compacted says which revision is the oldest that can be shown instead. */
async function compacted(at, signal) {
  const label = (revision) => `Show revision ${revision.toLocaleString('en')}, the oldest`
  try {
    const first = await oldest(source, at, mirror.revision, signal)
    if (signal.aborted) return
    timeline.forget(first)
    say(`Revision ${at.toLocaleString('en')} has been compacted: etcd does not have it any more.`, { label: label(first), run: () => timeline.go(first) })
  } catch { /* what has been said before holds */ }
}

// The filter

let timer
let express = () => {} // lets the gateway have the expression that was typed

function note(message = '') {
  $('filter-note').hidden = !message
  $('filter-note').textContent = message
}

function filter() {
  clearTimeout(timer)
  note()
  const value = $('filter').value.trim()
  const given = value.startsWith('=') ? value.replace(/^=+/, '').trim() : ''
  text = value.startsWith('=') ? '' : value.toLowerCase()
  if (given === expression) return draw()
  express = () => {
    clearTimeout(timer)
    if (given === expression) return
    expression = given
    if (source) choose(source)
  }
  timer = setTimeout(express, given ? typing : 0)
}

// The keyboard, and the URL

function escape() {
  if ($('filter').value) {
    $('filter').value = ''
    filter()
    $('table').focus()
  } else if (!$('detail').hidden) {
    detail.close()
  } else if (timeline.at !== undefined) {
    timeline.go()
  } else {
    document.activeElement?.blur()
  }
}

function pause() {
  events.paused = !events.paused
  $('pause').setAttribute('aria-pressed', events.paused)
  $('pause').textContent = events.paused ? 'Go on' : 'Pause'
}

const shortcuts = {
  '/': () => $('filter').select(), '?': () => $('help-dialog').showModal(), g: () => tree.focus(), s: () => $('table').focus(), e: () => $('events').focus(),
  p: pause, t: nextTheme, r: () => tree.load(), '[': () => timeline.step(-1), ']': () => timeline.step(1),
}

addEventListener('keydown', (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || document.querySelector('dialog[open]')) return
  if (event.key === 'Escape') return escape()
  if (event.target.matches('input:not([type=range])') || !Object.hasOwn(shortcuts, event.key)) return
  event.preventDefault()
  shortcuts[event.key]()
})

async function fromHash() {
  const asked = new URLSearchParams(location.hash.slice(1).replaceAll('+', '%2B'))
  if (asked.has('key')) return choose(new Keys({ key: asked.get('key') }))
  if (asked.has('key64')) return choose(new Keys({ key64: asked.get('key64') }))
  const path = asked.get('resource')
  if (!/^\/apis?\/[\w.-]+\/([\w.-]+\/)?[\w-]+$/.test(path ?? '')) return
  choose((tree.resource(path) ?? new Resource(path, true)).within(asked.get('namespace') ?? ''))
}

$('filter').addEventListener('input', filter)
$('filter').addEventListener('keydown', (event) => { if (event.key === 'Enter') express() })
$('pause').addEventListener('click', pause)
$('clear').addEventListener('click', () => events.clear())
$('open').addEventListener('submit', (event) => {
  event.preventDefault()
  if ($('open-key').value) location.hash = new Keys({ key: $('open-key').value }).hash
})
$('namespace').addEventListener('change', () => { location.hash = source.within($('namespace').value.trim()).hash })
addEventListener('hashchange', fromHash)

async function begin() {
  following.abort() // what is still refused is so for what was before
  showProblems()
  const known = await tree.load()
  if (source) start()
  else fromHash()
  if (!known) askToken('The gateway asks who you are.')
}

surround(begin)
begin()
