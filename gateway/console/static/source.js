// What can be followed: keys, and resources. Both are the same to the rest of the page.
//
// An item: {id, namespace, name, revision, text, value, cells, created, path}
//   text: the JSON of the object, or of the value of a key, exactly as the gateway sent it; value: parse(text)
//   cells: the gateway's columns of a resource; created: when, as an RFC 3339 time; path: the URL path of this object or key
// A frame: {type: added|changed|deleted|mark, item, old, revision}

import { gateway, Refused } from './api.js'
import { Columns } from './columns.js'
import { internals, parse } from './revtail.js'

const { dialectOf, inNamespace, keyName } = internals

export const nameOf = keyName

/** addressOf is how a key is said in a query. */
export function addressOf({ key, key64 }) {
  return key !== undefined ? 'key=' + encodeURIComponent(key) : 'key64=' + encodeURIComponent(key64)
}

const kinds = { ADDED: 'added', MODIFIED: 'changed', DELETED: 'deleted', BOOKMARK: 'mark' }

/** Frame is a change. Its old value is parsed when it is needed. */
class Frame {
  constructor({ type, item, revision, old }) {
    Object.assign(this, { type: kinds[type], item, revision, before: old === undefined ? undefined : { value: undefined, text: old } })
  }

  get old() {
    if (this.before?.text === undefined) return undefined
    return this.before.value ?? parse(this.before.text)
  }
}

/** Source is a list of the gateway, at a path. */
class Source {
  async list({ at, filter, labels, signal, most }) {
    const list = await gateway.list(this.path, { at, filter: this.expression(filter), labelSelector: labels, columns: true, signal, most })
    if (list.columns) this.columns.define(list.columns)
    return { ...list, more: Boolean(list.next) }
  }

  /** watch yields {list} for a state, and {frame} for a change after it. */
  async *watch({ since, filter, labels, signal, most, onState }) {
    const options = { since, filter: this.expression(filter), labelSelector: labels, columns: true, prev: this.previous, signal, most, onState }
    for await (const event of gateway.watch(this.path, options)) {
      if (event.columns) this.columns.define(event.columns)
      yield event.type === 'LIST' ? { list: { ...event, more: Boolean(event.next) } } : { frame: new Frame(event) }
    }
  }

  /** get reads one item of the list: {item, revision}; without an item where there is none. */
  async get(id, { at, signal } = {}) {
    const { path, query } = this.one(id)
    const { items: [item], revision } = await gateway.list(path, { ...query, at, columns: true, signal, most: 1 })
    return { item, revision }
  }

  /** item is the item of a text that the gateway has sent. */
  item(text) {
    return dialectOf(this.path).item(text)
  }

  /** expression is a filter of the gateway: one in CEL, or {text, cel}, where a text is searched in names and values, whatever its case. */
  expression(filter) {
    if (!filter?.text) return filter?.cel ?? (typeof filter === 'string' ? filter : undefined)
    const search = this.search(JSON.stringify(filter.text))
    return filter.cel ? `(${search}) && (${filter.cel})` : search
  }
}

/** Keys is a key or, where it ends with a slash, all that begin with it. */
export class Keys extends Source {
  kind = 'keys'
  columns = new Columns([
    { name: 'key', type: 'name' }, { name: 'value', type: 'value' }, { name: 'size', type: 'bytes' }, { name: 'revision', type: 'integer' },
    { name: 'version', type: 'integer', priority: 1 }, { name: 'lease', type: 'string', priority: 1 },
  ])
  noun = 'key'
  previous = 1

  constructor(key) {
    super()
    this.key = key
    this.title = nameOf(key)
    this.path = '/v1/keys?' + addressOf(key)
    this.hash = addressOf(key)
    this.node = this.hash // what is selected in the tree
    this.prefix = this.title.endsWith('/') ? this.title : ''
  }

  one(id) {
    return { path: '/v1/keys?' + addressOf({ key: id }), query: {} }
  }

  search(text) {
    return `key.containsFold(${text}) || text.containsFold(${text})`
  }
}

/** Resource is the objects of a resource: in all namespaces, or in one. `path` is its URL without a namespace. */
export class Resource extends Source {
  kind = 'resource'
  noun = 'object'
  prefix = ''
  verbs // that discovery allows; undefined: not known

  constructor(path, namespaced, namespace = '', verbs = undefined) {
    super()
    const at = path.lastIndexOf('/')
    this.namespaced = namespaced
    this.namespace = namespace
    this.verbs = verbs
    this.resource = path
    this.title = path.slice(at + 1)
    this.node = 'resource=' + encodeURIComponent(path)
    this.hash = this.node + (namespace ? '&namespace=' + encodeURIComponent(namespace) : '')
    this.path = namespace ? inNamespace(path, namespace) : path
    this.columns = new Columns([{ name: 'name', type: 'name' }, { name: 'age', type: 'age' }], namespaced && { name: 'Namespace', type: 'namespace', priority: namespace ? 1 : 0 })
  }

  within(namespace) {
    return new Resource(this.resource, this.namespaced, namespace, this.verbs)
  }

  one(id) {
    const [name, namespace] = id.split('/').reverse()
    return { path: namespace ? inNamespace(this.resource, namespace) : this.resource, query: { fieldSelector: 'metadata.name=' + name } }
  }

  search(text) {
    return `text.containsFold(${text})`
  }
}

/** oldest finds the oldest revision after `gone` that etcd still has; `there` is one that it has. It asks as often as that halves. */
export async function oldest(source, gone, there, signal) {
  while (there - gone > 1) {
    const middle = Math.floor((gone + there) / 2)
    try {
      await source.list({ at: middle, most: 1, signal })
      there = middle
    } catch (error) {
      if (!(error instanceof Refused) || !error.gone) throw error
      gone = middle
    }
  }
  return there
}

/** compared is what of a value is compared: what the server counts for itself is left out. */
export function compared(value) {
  if (!value?.metadata?.resourceVersion) return value
  const { resourceVersion, managedFields, ...metadata } = value.metadata
  return { ...value, metadata }
}
