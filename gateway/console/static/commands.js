// The actions of the page: what keys run, and what the palette finds.

import { $, el } from './dom.js'
import { Keys } from './source.js'
import { helpOf, listen } from './keyboard.js'
import { Palette } from './palette.js'
import { commandsOf, take } from './copyas.js'
import { askToken, nextTheme } from './page.js'
import { store, stored } from './layout.js'
import { tell } from './status.js'

const mostRecent = 8
const recents = 'revtail.recent'

/** timeOf is the time that a person writes: 10m, 2h, 1d, 14:03, a date; NaN: none. */
export function timeOf(text, now = Date.now()) {
  const [, n, unit] = /^-?(\d+)\s*(s|m|h|d)[a-z]*$/i.exec(text.trim()) ?? []
  if (n) return now - n * { s: 1, m: 60, h: 3600, d: 86_400 }[unit.toLowerCase()] * 1000
  const [, hours, minutes, secs] = /^(\d{1,2}):(\d\d)(?::(\d\d))?$/.exec(text.trim()) ?? []
  if (!hours) return Date.parse(text)
  const time = new Date(now).setHours(Number(hours), Number(minutes), Number(secs ?? 0), 0)
  return time > now ? time - 86_400_000 : time
}

/** command wires keys and palette to the parts of the page. */
export function command(page) {
  const { close, events, filter, go, layout, table, timeline, tree } = page
  const to = (pane, focus) => () => {
    layout.show(pane)
    focus()
  }
  const pause = () => {
    events.paused = !events.paused
    $('pause').setAttribute('aria-pressed', events.paused)
    $('pause').textContent = events.paused ? 'Go on' : 'Pause'
  }
  const find = to('browse', () => $('browse-filter').select())
  const actions = {
    next: () => table.move(1), previous: () => table.move(-1), open: () => table.open(),
    browse: to('browse', () => tree.focus()), table: to('state', () => $('table').focus()), events: to('stream', () => $('events').focus()), find,
    object: () => { if (!$('object').hidden) to('object', () => focusFirst($('object')))() },
    maximise: () => { if (!$('object').hidden) layout.maximise() },
    palette: () => palette.open(), filter: to('state', () => $('filter').select()),
    earlier: () => timeline.step(-1), later: () => timeline.step(1), live: () => timeline.go(),
    copyLink: () => take(location.href, 'link'), copyObject: () => $('object').querySelector('.menu-of > button')?.click(),
    create: () => { if (!$('new').hidden) $('new').click() },
    pause, reload: () => tree.load(), theme: () => nextTheme(), help: () => helpOf(),
    back() {
      if ($('copy-menu').matches(':popover-open')) {
        $('copy-menu').hidePopover()
      } else if (document.activeElement === $('browse-filter') && $('browse-filter').value) {
        $('browse-filter').value = ''
        tree.filter('')
      } else if (!$('notice').hidden) {
        tell('')
      } else if (filter.value) {
        filter.set('')
        $('table').focus()
      } else if (document.body.classList.contains('maximised')) {
        layout.maximise(false)
      } else if (!$('object').hidden) {
        close()
        $('table').focus()
      } else if (timeline.at !== undefined) {
        timeline.go()
      } else {
        document.activeElement?.blur()
      }
    },
  }
  const palette = new Palette((typed) => entries(page, actions, typed))
  listen(actions)
  $('new').addEventListener('click', () => {
    layout.object(true)
    layout.show('object')
    page.object.create(page.source())
  })
  $('namespace').addEventListener('change', () => page.inNamespace($('namespace').value.trim()))
  $('namespace').addEventListener('focus', () => $('namespaces').replaceChildren(...tree.namespaces().map((name) => new Option(name))))
  $('notice-close').addEventListener('click', () => tell(''))
  $('object').querySelector('.bar .grow')?.after(el('button', { type: 'button', id: 'maximise', 'aria-pressed': false, title: 'Maximise, or restore (m)', 'aria-label': 'Maximise the object', onclick: actions.maximise }, '⤢'))
  $('skip').addEventListener('click', actions.table)
  $('help-button').addEventListener('click', actions.help)
  $('pause').addEventListener('click', pause)
  $('clear').addEventListener('click', () => events.clear())
  $('browse-filter').addEventListener('input', () => tree.filter($('browse-filter').value))
  $('browse-form').addEventListener('submit', (event) => {
    event.preventDefault()
    const text = $('browse-filter').value
    const first = tree.filter(text)
    if (text.startsWith('/')) go(new Keys({ key: text }))
    else if (first) tree.choose(first)
    else return
    $('browse-filter').value = ''
    tree.filter('')
  })
}

function focusFirst(element) {
  element.querySelector('[role=tab][aria-selected=true], button, [tabindex="0"]')?.focus()
}

/** entries are everything that the palette can go to or run. */
function entries(page, actions, typed) {
  const { go, inNamespace, timeline, tree, filter, source } = page
  const kinds = tree.resources().map((node) => ({
    label: node.label, names: node.names, kind: 'kind', text: [node.group, node.names.slice(0, -1).join(' ')].filter(Boolean).join(' · '), bonus: 20,
    run: () => remember(node.label, node.source.namespaced ? node.source.within(tree.scope) : node.source, go),
  }))
  const namespaces = tree.namespaces().map((name) => ({ label: name, kind: 'namespace', text: '', bonus: 10, run: () => inNamespace(name) }))
  const recent = typed ? [] : (stored(recents) ?? []).map(({ label, hash }) => ({ label, kind: 'recent', text: '', bonus: 50, run: () => { location.hash = hash } }))
  const keys = typed.startsWith('/') ? [{ label: typed, kind: 'key', text: typed.endsWith('/') ? 'prefix of keys' : 'key', always: true, run: () => remember(typed, new Keys({ key: typed }), go) }] : []
  const action = (label, text, name) => ({ label, kind: 'command', text, run: () => setTimeout(actions[name]) })
  const commands = [
    { label: 'all namespaces', kind: 'namespace', text: '', run: () => inNamespace('') },
    { label: 'ns', kind: 'command', text: 'namespace NAME', argument: 'ns default, or a namespace that the list does not show', run: (name) => inNamespace(name) },
    { label: 'past', kind: 'command', text: '10m, 2h, 14:03 or a date', argument: 'past 10m, past 14:03, or past 2026-11-21T10:00:00Z', run: (text) => { timeline.goTime(timeOf(text)) } },
    { label: 'at', kind: 'command', text: 'revision N', argument: 'at 4711', run: (text) => (/^\d+$/.test(text) ? timeline.go(Number(text)) : 'A revision is a whole number, as in: at 4711') },
    { label: 'filter', kind: 'command', text: 'text, = CEL, or -l labels', argument: 'filter web, or filter = object.spec.replicas > 3', run: (text) => filter.set(text) },
    ...['system', 'light', 'dark'].map((theme) => ({ label: 'theme ' + theme, kind: 'command', text: '', run: () => nextTheme(theme) })),
    ...source() ? commandsOf(page.shown()).map(({ label, text }) => ({ label: 'copy ' + label.toLowerCase(), kind: 'command', text: text.slice(0, 80), run: () => { setTimeout(() => take(text, label)) } })) : [],
    action('live', 'back to live', 'live'), action('earlier', 'one revision earlier', 'earlier'), action('later', 'one revision later', 'later'),
    action('new', 'new object', 'create'), action('maximise', 'maximise the object, or restore it', 'maximise'), action('pause', 'hold the events, or let them go on', 'pause'),
    action('reload', 'read the lists again', 'reload'), action('help', 'keyboard', 'help'),
    { label: 'token', kind: 'command', text: 'use another token', run: () => setTimeout(askToken) },
  ]
  return [...recent, ...keys, ...kinds, ...namespaces, ...commands]
}

/** remember goes to a source, and puts it first among the recent ones. */
function remember(label, source, go) {
  const others = (stored(recents) ?? []).filter(({ hash }) => hash !== source.hash)
  store(recents, [{ label: label + (source.namespace ? ' in ' + source.namespace : ''), hash: source.hash }, ...others].slice(0, mostRecent))
  go(source)
}
