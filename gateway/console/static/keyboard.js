// The keys of the page, in one table: the page listens to them, and its help lists them.

import { $, el } from './dom.js'

/** bindings: the keys of an action of the page, and what they do. */
export const bindings = [
  { group: 'Move', keys: ['j', 'ArrowDown'], action: 'next', text: 'next row' },
  { group: 'Move', keys: ['k', 'ArrowUp'], action: 'previous', text: 'row before' },
  { group: 'Move', keys: ['Enter'], action: 'open', text: 'open the row' },
  { group: 'Move', keys: ['Escape'], action: 'back', text: 'clear the filter, close the object, go back to live' },
  { group: 'Move', keys: ['g'], action: 'browse', text: 'to the lists of namespaces, resources and keys' },
  { group: 'Move', keys: ['s'], action: 'table', text: 'to the table' },
  { group: 'Move', keys: ['o'], action: 'object', text: 'to the object' },
  { group: 'Move', keys: ['e'], action: 'events', text: 'to the events' },
  { group: 'Move', keys: ['m'], action: 'maximise', text: 'maximise the object, or restore it' },
  { group: 'Find', keys: [':', 'Control+k'], action: 'palette', text: 'go to a kind, namespace, key, or run a command' },
  { group: 'Find', keys: ['/'], action: 'filter', text: 'filter by a text; by CEL after =, as in = object.spec.replicas > 3' },
  { group: 'Find', keys: ['b'], action: 'find', text: 'find in the lists' },
  { group: 'Time', keys: ['['], action: 'earlier', text: 'one revision earlier' },
  { group: 'Time', keys: [']'], action: 'later', text: 'one revision later' },
  { group: 'Time', keys: ['0'], action: 'live', text: 'back to live' },
  { group: 'Do', keys: ['y'], action: 'copyLink', text: 'copy the link of what is shown' },
  { group: 'Do', keys: ['c'], action: 'copyObject', text: 'what can be copied of the object' },
  { group: 'Do', keys: ['n'], action: 'create', text: 'new object, where the gateway allows it' },
  { group: 'Do', keys: ['p'], action: 'pause', text: 'hold the list of events, or let it go on' },
  { group: 'Do', keys: ['r'], action: 'reload', text: 'read the lists again' },
  { group: 'Do', keys: ['t'], action: 'theme', text: 'theme: system, light, dark' },
  { group: 'Do', keys: ['?'], action: 'help', text: 'this list' },
]

const names = { ArrowDown: '↓', ArrowUp: '↑', Escape: 'Esc', 'Control+k': 'Ctrl K' }
const typed = 'input:not([type=range]), textarea, select, [contenteditable=true]'
const own = 'a[href], button, summary, [role=tab], [role=treeitem], [role=separator], [role=option], input[type=range]' // have Enter and arrows of their own

/** listen runs actions[name]() for the keys above. Nothing runs while a person types or a dialog is open, except Escape in a field. */
export function listen(actions) {
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.isComposing || event.altKey || document.querySelector('dialog[open]')) return
    const pressed = (event.ctrlKey || event.metaKey ? 'Control+' : '') + event.key
    const binding = bindings.find(({ keys }) => keys.includes(pressed))
    if (!binding) return
    const { target } = event
    const everywhere = pressed === 'Control+k' || (pressed === 'Escape' && target.closest('#filter, #browse-filter'))
    if (!everywhere && target.closest(typed + ', [popover]')) return
    if (['Enter', 'ArrowDown', 'ArrowUp'].includes(pressed) && target !== document.body && (target.closest(own) || !target.closest('#table'))) return
    if (actions[binding.action](event) === false) return // left to the browser
    event.preventDefault()
  })
}

/** helpOf shows the table of bindings. */
export function helpOf() {
  const groups = [...new Set(bindings.map(({ group }) => group))]
  $('help-keys').replaceChildren(...groups.map((group) => el('section', {}, el('h3', {}, group),
    el('dl', { class: 'keys' }, ...bindings.filter((each) => each.group === group).flatMap(({ keys, text }) => [
      el('dt', {}, ...keys.map((key) => el('kbd', {}, names[key] ?? key))), el('dd', {}, text)])))))
  $('help-dialog').showModal()
}
