// Writing an object as it was: what the write would change is shown first, and it is made only if the object is still the one that was shown.

import { el } from './dom.js'
import { same, stringify } from './revtail.js'
import { changeView } from './changes.js'
import { timeText } from './history.js'

const serverFields = ['uid', 'resourceVersion', 'creationTimestamp', 'generation', 'managedFields', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'selfLink']
const jobLabels = ['controller-uid', 'batch.kubernetes.io/controller-uid', 'job-name', 'batch.kubernetes.io/job-name'] // that a server makes of the uid

const number = (revision) => revision.toLocaleString('en')
const without = (map, names) => map && Object.fromEntries(Object.entries(map).filter(([name]) => !names.includes(name)))

/** isRedacted tells whether a Secret has a redacted value. */
function isRedacted({ kind, data = {}, stringData = {} }) {
  const redacted = (text) => /^redacted: \d+ bytes, digest [0-9a-f]{12}$/.test(text)
  const decoded = (text) => {
    try {
      return atob(text)
    } catch {
      return ''
    }
  }
  return kind === 'Secret' && (Object.values(data).some((text) => redacted(decoded(text))) || Object.values(stringData).some(redacted))
}

/** unrestorable says why the state of a change cannot be written; empty: it can be. */
export function unrestorable({ omitted, item }) {
  if (omitted || !item) return 'The values of this state are not recorded: a gateway records those of Secrets only if they are encrypted in etcd.'
  return isRedacted(item.value) ? 'The gateway redacts the values of this Secret.' : ''
}

/**
 * restored is the object to write so that it is as it was: {value, owners}. live is what it replaces, with its uid, resourceVersion and owners; without it
 * what a server sets is left out, the status, and the owners, whose names are returned.
 */
export function restored(past, live) {
  const { ownerReferences = [], ...metadata } = without(past.metadata, serverFields)
  if (live) {
    if (live.metadata.deletionTimestamp) throw new Error('The object of this name is being deleted: wait until it is gone.')
    for (const name of ['uid', 'resourceVersion', 'ownerReferences']) if (live.metadata[name] !== undefined) metadata[name] = live.metadata[name]
    return { value: { ...past, metadata }, owners: [] }
  }
  const { status, ...value } = { ...past, metadata }
  return { value: value.kind === 'Job' && !value.spec?.manualSelector ? withoutUid(value) : value, owners: ownerReferences.map(({ kind, name }) => `${kind} ${name}`) }
}

/** withoutUid is a Job without the selector and the labels that a server has made of its uid. */
function withoutUid({ spec: { selector, ...spec }, metadata, ...job }) {
  const unlabelled = (meta) => meta && { ...meta, ...(meta.labels && { labels: without(meta.labels, jobLabels) }) }
  return { ...job, metadata: unlabelled(metadata), spec: { ...spec, ...(spec.template && { template: { ...spec.template, metadata: unlabelled(spec.template.metadata) } }) } }
}

const button = (label, action, run, kind) => el('button', { type: 'button', class: kind, 'data-action': action, onclick: run }, label)
const warnings = (texts) => (texts.length ? el('ul', { class: 'warnings', 'aria-label': 'Warnings' }, ...texts.map((text) => el('li', {}, text))) : '')

/** attempt asks the gateway what a write of a past state would store: {live, tried, warnings}. */
async function attempt(origin, { item }) {
  const live = await origin.read()
  const { value, owners } = restored(item.value, live?.value)
  const { item: tried, warnings: said } = await origin.tryOut(stringify(value), 'application/json', live?.revision)
  return { live, tried, warnings: owners.length ? [`Its owners are left out, since they may be gone: ${owners.join(', ')}.`, ...said] : said }
}

/** restore asks whether the state of a change is to be written, and writes it. on: {revealed, onStored(item)} */
export function restore(origin, change, { revealed, onStored }) {
  const of = `revision ${number(change.revision)}${change.time ? ', ' + timeText({ time: change.time }) : ''}`
  const body = el('div', { class: 'restore-body', tabindex: 0, role: 'group', 'aria-label': 'What would change' })
  const error = el('p', { class: 'object-note bad', role: 'alert' })
  const go = button('Restore', 'restore-confirm', undefined, 'primary')
  const again = button('Look again', 'restore-again', () => look())
  const cancel = button('Cancel', 'restore-cancel', () => dialog.close())
  const dialog = el('dialog', { class: 'object-dialog restore', 'aria-labelledby': 'restore-title' },
    el('h2', { id: 'restore-title' }, `Restore ${origin.item.id} as of revision ${number(change.revision)}?`), body, error, el('menu', {}, cancel, again, go))
  let write
  go.addEventListener('click', () => write())

  async function look() {
    error.textContent = ''
    again.hidden = true
    go.disabled = true
    body.replaceChildren(el('p', { class: 'object-note', role: 'status' }, 'The gateway checks the state…'))
    try {
      const { live, tried, warnings: texts } = await attempt(origin, change)
      const head = live ? `From the live state, revision ${number(live.revision)}, to that of ${of}.` : `It does not exist now, and is created again as of ${of}.`
      const after = live ? alike(tried, live) : tried
      const isSame = live && same(written(live.value), written(after.value))
      body.replaceChildren(el('p', { class: 'object-note' }, head), warnings(texts),
        ...(isSame ? [el('p', { class: 'object-note' }, 'The live state is the same: there is nothing to restore.')] : changeView(live, after, { revealed, label: 'What would change' })))
      go.disabled = Boolean(isSame)
      write = () => store(live, tried)
      if (!isSame) go.focus()
    } catch (refused) {
      body.replaceChildren()
      fail(refused)
    }
  }

  async function store(live, tried) {
    go.disabled = true
    try {
      const item = await origin.write(tried, live?.revision)
      dialog.close()
      onStored(item)
    } catch (refused) {
      fail(refused)
    }
  }

  function fail(refused) {
    const conflict = refused.status === 409 || refused.status === 412
    error.textContent = conflict ? 'Not restored: another client has changed it meanwhile. Nothing was written.' : `Not restored: ${refused.message}`
    again.hidden = false
    again.focus()
  }

  dialog.addEventListener('close', () => dialog.remove())
  document.body.append(dialog)
  dialog.showModal()
  cancel.focus()
  return look()
}

/** written is what of an object a write can change. */
const written = ({ metadata, ...rest }) => ({ ...rest, metadata: without(metadata, serverFields) })

/** alike is an item with the generation of another one, which a server counts and which is no difference to be shown. */
const alike = (item, { value: { metadata: { generation } } }) =>
  (generation === undefined ? item : Object.create(item, { value: { value: { ...item.value, metadata: { ...item.value.metadata, generation } } } }))
