// What is shown as a link, or as a command that lists or watches the same.

import { $, el } from './dom.js'
import { token } from './api.js'
import { Keys } from './source.js'
import { byHand, copy, shell } from './copy.js'
import { announce, tell } from './status.js'

const base = new URL('..', import.meta.url).href.replace(/\/$/, '')
const query = (fields) => Object.entries(fields).filter(([, value]) => value !== undefined && value !== '').map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')
const join = (path, fields) => path + (query(fields) ? (path.includes('?') ? '&' : '?') + query(fields) : '')

/** commandsOf are the link and the commands of what is shown: [{label, text}]. etcdctl has no filters. */
export function commandsOf({ source, at, revision, labels, expression }) {
  if (!source) return [{ label: 'Link', text: location.href }]
  const header = token.get() ? ` -H "Authorization: Bearer $TOKEN"` : ''
  const curl = (flags, path) => `curl ${flags}${header} ${shell(base + path)}`
  const keys = source instanceof Keys
  const filter = { filter: expression, labelSelector: labels }
  const exact = at === undefined ? {} : keys ? { at } : { resourceVersion: at, resourceVersionMatch: 'Exact' }
  const since = at ?? revision
  const watch = keys ? { watch: 1, since } : { watch: 1, resourceVersion: since }
  const commands = [
    { label: 'Link', text: location.href },
    { label: at === undefined ? 'curl, list' : `curl, list of revision ${at}`, text: curl('-s', join(source.path, { ...exact, ...filter })) },
    { label: `curl, watch from revision ${since}`, text: curl('-sN', join(source.path, { ...watch, ...filter })) },
  ]
  if (keys && source.key.key !== undefined) {
    const prefix = source.prefix ? '--prefix ' : ''
    commands.push({ label: 'etcdctl, get', text: `etcdctl get ${prefix}${at === undefined ? '' : `--rev=${at} `}${shell(source.key.key)}` })
    commands.push({ label: 'etcdctl, watch', text: `etcdctl watch ${prefix}--rev=${since + 1} ${shell(source.key.key)}` })
  }
  if (!keys) {
    const [, group, version] = /^\/apis\/([^/]+)\/([^/]+)\//.exec(source.path) ?? []
    const name = group ? `${source.title}.${version}.${group}` : source.title
    const kubectl = `kubectl --server=${shell(base)}${token.get() ? ' --token="$TOKEN"' : ''} get`
    const scope = (!source.namespaced ? '' : source.namespace ? ' -n ' + shell(source.namespace) : ' -A') + (labels ? ' -l ' + shell(labels) : '')
    const raw = at !== undefined || expression
    commands.push({ label: raw ? 'kubectl, get --raw' : 'kubectl, get', text: raw ? `${kubectl} --raw ${shell(join(source.path, { ...exact, ...filter }))}` : `${kubectl} ${name}${scope}` })
    if (!raw) commands.push({ label: 'kubectl, watch', text: `${kubectl} ${name}${scope} --watch --output-watch-events` })
  }
  if (expression) commands.push({ label: 'CEL expression', text: expression })
  return commands
}

/** take copies a text, and says so: at the button, or where that is not shown, in a strip. */
export async function take(text, label) {
  if (!await copy(text)) return byHand(text, label)
  const here = $('copy-button').checkVisibility()
  if (here) {
    $('copy-button').textContent = 'Copied'
    announce('copied: ' + label)
  } else tell(`Copied: ${label}.`)
  setTimeout(() => {
    $('copy-button').textContent = 'Copy as'
    if (!here) tell('')
  }, 1500)
}

/** CopyMenu is the menu of the button; shown() is what is shown. */
export class CopyMenu {
  constructor(shown) {
    $('copy-menu').addEventListener('beforetoggle', (event) => {
      if (event.newState === 'open') $('copy-menu').replaceChildren(...commandsOf(shown()).map((each) => this.#entry(each)))
    })
    $('copy-menu').addEventListener('toggle', (event) => {
      if (event.newState !== 'open') return
      const box = $('copy-button').getBoundingClientRect()
      $('copy-menu').style.top = box.bottom + 4 + 'px'
      $('copy-menu').style.left = Math.max(8, box.right - $('copy-menu').offsetWidth) + 'px'
      $('copy-menu').querySelector('button')?.focus()
    })
    $('copy-menu').addEventListener('keydown', (event) => {
      const steps = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }
      const all = [...$('copy-menu').querySelectorAll('button')]
      if (event.key === 'Escape') this.#close()
      else if (event.key in steps) all[(all.indexOf(document.activeElement) + steps[event.key] + all.length) % all.length].focus()
      else return
      event.preventDefault()
    })
  }

  #close() {
    $('copy-menu').hidePopover()
    $('copy-button').focus()
  }

  #entry({ label, text }) {
    const run = () => {
      this.#close()
      take(text, label)
    }
    return el('button', { type: 'button', onclick: run }, el('span', { class: 'what' }, label), el('code', {}, text))
  }
}
