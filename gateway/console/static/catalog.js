// What can be chosen: namespaces, resources and keys, as nodes of the tree.
//
// A node: {id, label, title, kind: root|namespace|resource|prefix|key|note|more, source, namespace, count, load, children, open}.
// load() reads the children; a node without it has none.

import { addressOf, Keys, nameOf, Resource } from './source.js'
import { counted, get } from './api.js'

const mostChildren = 500 // of a level, at a time

export const note = (label, extra = {}) => ({ id: 'note:' + label, label, title: label, kind: 'note', ...extra })

function keyNode(kv, parent) {
  const name = nameOf(kv)
  const source = new Keys(kv)
  const label = name.startsWith(parent) ? name.slice(parent.length) : name
  const node = { id: 'key:' + addressOf(kv), label: label || name, title: name, kind: source.prefix ? 'prefix' : 'key', key: kv.key, source }
  if (source.prefix) node.load = () => levelNodes(kv)
  return node
}

/** levelNodes reads one level of keys. Where it is closed, the keys that are open stand in its place. */
export async function levelNodes(kv, next = '') {
  try {
    const page = await get('/v1/keys?' + addressOf(kv) + `&depth=1&keysOnly=1&pretty=0&limit=${mostChildren}` + next)
    const nodes = page.items.map((item) => keyNode(item, nameOf(kv)))
    if (page.continue) nodes.push({ id: 'more:' + addressOf(kv) + next, label: 'more…', kind: 'more', more: () => levelNodes(kv, '&continue=' + page.continue) })
    return nodes.length ? nodes : [note('no keys')]
  } catch (error) {
    const open = (error.body?.open ?? []).filter((key) => key.startsWith(kv.key ?? ''))
    return open.length ? open.map((key) => ({ ...keyNode({ key }, ''), given: true })) : [note(wordsOf(error), { closed: true, error })]
  }
}

/** learn puts a key that has appeared, or has gone, into the levels below a node that are open. It returns whether they have changed. */
export function learn(root, type, kv) {
  if (kv.key === undefined) return false
  let level = root
  for (let at = '/'; level?.children; ) {
    let next = level.children.find((node) => node.key === kv.key || (node.source?.prefix && kv.key.startsWith(node.key)))
    if (next?.key === kv.key) {
      if (type === 'deleted') level.children = level.children.filter((node) => node !== next)
      return type === 'deleted'
    }
    if (!next) {
      const full = level.children.length >= mostChildren || level.children.some((node) => node.given || node.closed)
      if (type === 'deleted' || full || !kv.key.startsWith(at)) return false
      const slash = kv.key.indexOf('/', at.length)
      next = keyNode({ key: slash < 0 ? kv.key : kv.key.slice(0, slash + 1) }, at)
      const children = level.children.filter((node) => node.kind !== 'note')
      const place = children.findIndex((node) => node.key > next.key)
      children.splice(place < 0 ? children.length : place, 0, next)
      level.children = children
    }
    level = next
    at = next.key
  }
  return true
}

/** sourceOf is the source of the fields of a URL; undefined: they name none. known(path) is the source of a resource that is served. */
export function sourceOf({ key, key64, resource, namespace }, known) {
  if (key !== undefined) return new Keys({ key })
  if (key64 !== undefined) return new Keys({ key64 })
  if (!/^\/apis?\/[\w.-]+\/([\w.-]+\/)?[\w-]+$/.test(resource ?? '')) return undefined
  return (known(resource) ?? new Resource(resource, true)).within(namespace ?? '')
}

/** namespaceNodes reads the namespaces; where they may not be listed, one can still be typed beside the filter. */
export async function namespaceNodes() {
  const all = { id: 'namespace:', label: 'all namespaces', kind: 'namespace', namespace: '' }
  try {
    const page = await get(`/api/v1/namespaces?pretty=0&limit=${mostChildren}`, { accept: metadataOnly })
    const nodes = page.items.map(({ metadata }) => namespaceNode(metadata.name))
    if (page.metadata.continue) nodes.push(note(`the first ${mostChildren}; type others beside the filter of the table`))
    return [all, ...nodes]
  } catch (error) {
    return [all, note(wordsOf(error), { closed: true, error })]
  }
}

export const namespaceNode = (name) => ({ id: 'namespace:' + name, label: name, kind: 'namespace', namespace: name })

/** resourceNodes reads what the gateway serves, the core group first. */
export async function resourceNodes() {
  try {
    const [core, named] = await Promise.all([get('/api?pretty=0'), get('/apis?pretty=0')])
    const versions = [...core.versions.map((version) => ['/api/' + version, '']),
      ...named.groups.flatMap((group) => group.versions.map(({ groupVersion }) => ['/apis/' + groupVersion, groupVersion]))]
    const lists = await Promise.all(versions.map(async ([path, label]) => {
      const { resources } = await get(path + '?pretty=0')
      return resources.filter((each) => each.verbs.includes('watch')).sort((a, b) => (a.name < b.name ? -1 : 1)).map((each) => resourceNode(path, label, each))
    }))
    const nodes = lists.flat()
    return nodes.length ? nodes : [note('no resources')]
  } catch (error) {
    return [note(wordsOf(error), { closed: true, error })]
  }
}

function resourceNode(path, group, { name, kind, namespaced, shortNames, verbs, singularName }) {
  const source = new Resource(path + '/' + name, namespaced)
  source.verbs ??= verbs
  return {
    id: path + '/' + name, label: name, title: `${kind}, ${path.replace(/^\/apis?\//, '')}` + (shortNames ? ', short: ' + shortNames.join(', ') : ''),
    kind: 'resource', group, source, verbs, names: [...(shortNames ?? []), ...(singularName ? [singularName] : []), kind.toLowerCase()],
  }
}

export const metadataOnly = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'

/**
 * countOf is how many objects or keys a source has, in a namespace if it has namespaces; undefined: not known, perhaps they may not be listed.
 * With the newest revision it is counted once for all tabs.
 */
export async function countOf(source, namespace, revision) {
  try {
    return await counted((namespace && source.namespaced ? source.within(namespace) : source).path, revision)
  } catch {
    return undefined
  }
}

const wordsOf = (error) => (error.status ? error.message : 'The gateway does not answer.')
