// The console: what is chosen is followed, and what is known of it is drawn, ten times a second at most.

import { $, count } from './dom.js'
import { Refused } from './api.js'
import { Keys } from './source.js'
import { sourceOf } from './catalog.js'
import { follow, mostRows } from './follow.js'
import { matches, Mirror } from './mirror.js'
import { View } from './view.js'
import { Table } from './table.js'
import { Tree } from './tree.js'
import { Events } from './events.js'
import { Timeline } from './timeline.js'
import { Activity } from './activity.js'
import { recalled } from './journal.js'
import { ObjectPage } from './object.js'
import { Filter } from './filter.js'
import { Layout } from './layout.js'
import { Address, sidesOf, sidesText } from './url.js'
import { CopyMenu } from './copyas.js'
import { askToken, Rate, surround } from './page.js'
import { announce, compacted, emptiness, refusal, say, Status, tell } from './status.js'
import { held } from './press.js'
import { showProblems } from './problems.js'
import { command } from './commands.js'
import { Search } from './search.js'

const drawEvery = 100 // ms

const mirror = new Mirror(mostRows)
const layout = new Layout()
const rate = new Rate($('spark'))
const status = new Status(() => mirror.revision)
const address = new Address(apply)
const tree = new Tree($('tree'), { onPick: go, onNamespace: inNamespace })
const view = new View(later)
const search = new Search(() => source && start())
const table = new Table($('table'), open, () => { address.show(source.hash, { sort: table.sort, ...columnsShown() }); later() })
const events = new Events($('events'), (item, isDeleted) => {
  const held = mirror.items.get(item.id)
  open(held ?? item)
  if (!held && isDeleted) object.deleted(item.revision)
})
const timeline = new Timeline(showAt, tell)
const activity = new Activity((revision, time) => timeline.go(revision, time))
const filter = new Filter({ onText: find, onExpression: () => source && start(), onChange: (text) => source && address.show(source.hash, { filter: text }) })
const object = new ObjectPage($('object'), { onRevision: (revision, time) => timeline.go(revision, time), onClose: close, onState: remember, timeOf: (revision) => timeline.times.timeOf(revision) })
const shown = () => ({ source, at: timeline.at, revision: mirror.revision, labels: filter.labels, expression: source?.expression({ text: filter.text, cel: filter.expression }) })
const columnsShown = () => ({ columns: table.wide ? 'wide' : undefined })
new CopyMenu(shown)

let source // that is followed
let following = new AbortController() // ends what belongs to it
let past // the list that is shown; undefined: the state of now
let reading = new AbortController() // ends the reading of it
let changed = new Set() // ids, since the last drawing
let received = 0
let leftOut = 0
let opened // the item that the object page shows
let wanted // {object, tab, compare, change} of the URL, until the object is there

// What is chosen

/** go follows a source, as a step of the browser's history. */
function go(next) {
  address.show(next.hash, { filter: filter.value, at: timeline.at, ...columnsShown() })
  choose(next)
  layout.show('state')
}

function inNamespace(name) {
  tree.inNamespace(name)
  if (source?.namespaced) go(source.within(name))
}

function choose(next) {
  if (source?.hash === next.hash) return tree.select(source)
  source = next
  table.columns(source.columns)
  $('namespace').hidden = !source.namespaced
  $('namespace').value = source.namespace ?? ''
  $('title').textContent = source.title
  document.title = source.title + ' · revtail'
  $('new').hidden = false
  hide()
  events.clear()
  received = leftOut = 0
  search.reset()
  timeline.reset()
  mirror.reset({ items: [], revision: 0 })
  changed = new Set()
  tree.select(source)
  activity.show(source)
  start()
  if (timeline.at !== undefined) timeline.go(timeline.at)
}

function start() {
  following.abort()
  following = new AbortController()
  past = undefined
  say()
  follow(source, {
    filter: search.query(filter.expression), labels: filter.labels, signal: following.signal, onState: state,
    onList(list) {
      mirror.reset(list)
      if (list.more) search.measure(source, list).then(later)
      find()
      timeline.reach(list.revision)
      status.news()
      later()
    },
    onFrame: take,
  })
  if (timeline.at !== undefined) showAt(timeline.at)
  draw()
}

/** find shows what contains the text of the filter. */
function find() {
  if (!search.find(filter.text, mirror.last !== undefined || past?.more)) later()
}

function take(frame) {
  const news = mirror.apply(frame)
  status.news()
  if (news) {
    received++
    rate.add(1)
    timeline.saw(frame.revision)
    activity.news()
    changed.add(frame.item.id)
    if (search.text || matches(frame.item, filter.text)) events.add(frame, filter.expression || filter.labels || search.text)
    if (source instanceof Keys && frame.type !== 'changed') tree.learn(frame.type, frame.item.address)
  }
  later()
}

// One object

function open(item) {
  wanted = undefined
  show(item, {})
  layout.show('object')
  address.show(source.hash, { object: item.id, at: timeline.at })
}

function show(item, view) {
  opened = item
  object.show(source, item, { change: undefined, ...view, at: timeline.at })
  layout.object(true)
}

function hide() {
  opened = undefined
  object.close()
  layout.object(false)
}

function close() {
  hide()
  if (source) address.show(source.hash, { object: undefined, tab: undefined, compare: undefined, change: undefined })
}

function remember({ tab, compare, change } = {}) {
  opened = object?.item ?? opened
  if (source && opened) address.show(source.hash, { object: opened.id, tab: tab === 'yaml' ? undefined : tab, compare: sidesText(compare), change })
}

/** restore opens the object of the URL once it is there. */
function restore() {
  const item = wanted && (past ? past.items.find(({ id }) => id === wanted.object) : mirror.items.get(wanted.object))
  if (item) {
    show(item, wanted)
    layout.show('object')
  } else if (wanted && !past) recall(source, wanted)
  else if (wanted) tell(`${wanted.object} is not here.`)
  wanted = undefined
}

/** recall opens an object in its last state, if the gateway has recorded that it was deleted. */
async function recall(of, view) {
  const gone = await recalled(of, view.object).catch(() => undefined)
  if (source !== of || opened) return
  if (!gone) return tell(`${view.object} is not here.`)
  if (gone.time) timeline.times.learn(gone.revision, gone.time)
  show(gone.item, view)
  object.deleted(gone.revision)
  layout.show('object')
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
  const state = past?.state ?? mirror
  const shown = view.show(state, { text: search.text ? '' : filter.text, order: table.order })
  const size = state.items.size
  table.show(shown, past ? undefined : changed)
  if (!past && opened && changed.has(opened.id)) refresh(mirror.items.get(opened.id))
  changed = new Set()
  if (!source) return
  $('empty').hidden = shown.length > 0 || view.busy || !$('message').hidden || status.connection === 'listing'
  if (!$('empty').hidden) $('empty').textContent = emptiness(source, { all: search.all(size), text: filter.text, expression: filter.expression || (filter.labels && '-l ' + filter.labels), past: past && timeline.at })
  if (wanted && (past || status.connection === 'live')) restore()
  if (!(filter.expression || filter.labels || search.text) && status.connection === 'live') tree.counted(source, mirror.last === undefined ? mirror.items.size : undefined)
  const cut = past ? past.more : mirror.last !== undefined
  $('count').textContent = status.connection === 'refused' && !past ? '' : search.words(source.noun, { found: shown.length, size, cut })
}

/** refresh shows the object as it is now; undefined: it was deleted. */
function refresh(item) {
  if (!item) return object.deleted(mirror.revision)
  opened = item
  object.update(item)
}

function state(name, detail = {}) {
  const lost = status.connected(name, detail)
  if (name === 'expired') events.note('Compacted: etcd has forgotten what happened since the connection was lost. The state has been read again; what happened in between is not in this list.')
  if (lost !== undefined) {
    events.note(`connected again after ${(lost / 1000).toFixed(1)} s` + (detail.since ? `, on from revision ${detail.since.toLocaleString('en')}` : ''))
    tree.load()
  }
  if (name === 'refused') refused(detail.error)
  later()
}

function refused(error) {
  if (error.status === 400 && (filter.expression || filter.labels)) {
    filter.refuse(`Everything is shown, since the gateway does not take this expression: ${error.message}`)
    start()
    return // the next change of the text tries again
  }
  const { text, actions } = refusal(error, source, { again: start, open: (key) => go(new Keys({ key })), tokens: () => askToken(error) })
  say(text, ...actions)
  announce(text)
  if (error.status === 401) askToken(error)
}

// The past

async function showAt(at) {
  reading.abort()
  reading = new AbortController()
  const { signal } = reading
  if (source) address.show(source.hash, { at })
  status.past(at === undefined ? undefined : timeline.label(at))
  object.past(at)
  activity.past(at)
  if (at === undefined || !source) {
    past = undefined
    if (status.connection !== 'refused') say()
    if (opened) refresh(mirror.items.get(opened.id))
    draw()
    return
  }
  try {
    past = await source.list({ at, filter: search.query(filter.expression), labels: filter.labels, signal, most: mostRows })
    past.state = new Mirror(mostRows)
    past.state.reset(past)
    if (signal.aborted) return
    for (const item of past.items) item.differs = mirror.items.get(item.id)?.revision !== item.revision
    say()
    const then = opened && past.items.find((item) => item.id === opened.id)
    if (then) object.show(source, opened = then, { at })
  } catch (error) {
    if (signal.aborted) return
    past = { items: [], more: false, state: new Mirror(mostRows) }
    say(error instanceof Refused ? error.message : 'The gateway does not answer.', { label: 'Try again', run: () => showAt(at) })
    if (error.gone) await compacted(source, at, timeline, signal)
  }
  draw()
}

// The URL

/** apply shows what the URL says. */
function apply(fields = address.read()) {
  const next = sourceOf(fields, (path) => tree.resource(path)?.source)
  if (!next) return
  const { object: id, tab, compare, change, at } = fields
  const again = filter.adopt(fields.filter ?? '')
  wanted = id ? { object: id, tab, compare: sidesOf(compare), change } : undefined
  if (!id && opened) hide()
  if (again && source?.hash === next.hash) start()
  choose(next)
  layout.show('state') // and the object when it has been read
  table.sort = fields.sort ?? ''
  table.wide = fields.columns === 'wide'
  if (/^\d+$/.test(at ?? '')) timeline.go(Number(at))
  else if (at) timeline.goTime(Date.parse(at))
  else if (timeline.at !== undefined) timeline.go()
  later()
}

// The page

command({ close, events, filter, go, inNamespace, layout, object, shown, table, timeline, tree, source: () => source })

async function begin() {
  following.abort() // what is still refused is so for what was before
  showProblems()
  const refused = await tree.load()
  timeline.load()
  if (source) start()
  else apply()
  if (refused && !source) askToken(refused)
}

surround(begin)
begin()
