// What can be followed: keys, and resources. Both are the same to the rest of the page.
//
// An item: {id, name, namespace, value, revision, version, created, detail}
// A frame: {type: added|changed|deleted|mark|error, item, old, revision, resume, error}; resume: a watch may begin after it

import { get, Refused, stream } from './api.js'

const pageSize = 500

/** nameOf is a key for people: bytes that are no text are escaped. */
export function nameOf({ key, key64 }) {
  if (key !== undefined) return key
  return Array.from(atob(key64), (c) => (c >= ' ' && c <= '~' ? c : '\\x' + c.charCodeAt(0).toString(16).padStart(2, '0'))).join('')
}

/** addressOf is how a key is said in a query. */
export function addressOf({ key, key64 }) {
  return key !== undefined ? 'key=' + encodeURIComponent(key) : 'key64=' + encodeURIComponent(key64)
}

const query = (parameters) => Object.entries(parameters).filter(([, value]) => value !== undefined && value !== '')
  .map(([name, value]) => `&${name}=${encodeURIComponent(value)}`).join('')

/** pages reads a list of either dialect until it has `most` items: {items, revision, more}. */
async function pages(first, read, most) {
  const items = []
  let path = first
  for (;;) {
    const page = await read(path)
    items.push(...page.items)
    if (!page.next || items.length >= most) return { items, revision: page.revision, more: Boolean(page.next) }
    path = first + query({ continue: page.next })
  }
}

/** Keys is a key or, where it ends with a slash, all that begin with it. */
export class Keys {
  columns = ['key', 'value', 'revision', 'version']
  silence = 45_000 // the gateway says something every 15 s
  noun = 'key'

  constructor(key) {
    this.key = key
    this.title = nameOf(key)
    this.path = '/v1/keys?' + addressOf(key)
    this.hash = addressOf(key)
    this.node = this.hash // what is selected in the tree
    this.prefix = this.title.endsWith('/') ? this.title : ''
  }

  item(kv) {
    const detail = { revision: kv.modRevision, created: kv.createRevision, version: kv.version, encoding: kv.encoding }
    if (kv.lease) detail.lease = kv.lease
    return { id: nameOf(kv), name: nameOf(kv), address: kv, value: kv.value, revision: kv.modRevision, version: kv.version, detail }
  }

  async list({ at, filter, signal, most }) {
    const first = this.path + '&pretty=0&limit=' + Math.min(pageSize, most) + query({ at, filter })
    try {
      return await pages(first, async (path) => {
        const page = await get(path, { signal })
        return { items: page.items.map((kv) => this.item(kv)), revision: page.revision, next: page.continue }
      }, most)
    } catch (error) {
      if (error.status !== 404 || !error.revision) throw error
      return { items: [], revision: error.revision, more: false } // one key, that is not there
    }
  }

  async *watch({ since, filter, signal }) {
    for await (const lines of stream(this.path + '&watch=1&prev=1' + query({ since, filter }), { signal, silence: this.silence })) {
      yield lines.map((line) => this.frame(JSON.parse(line)))
    }
  }

  frame(event) {
    const { type, revision } = event
    switch (type) {
      case 'PUT':
        return { type: event.version === 1 ? 'added' : 'changed', item: this.item(event), old: event.prev?.value, revision, resume: event.last }
      case 'DELETE':
        return { type: 'deleted', item: this.item({ ...event, modRevision: revision }), old: event.prev?.value, revision, resume: event.last }
      case 'ERROR':
        return { type: 'error', error: new Refused(event.error.status, event.error.detail, event.error) }
    }
    return { type: 'mark', revision, resume: true } // SYNC, PROGRESS
  }
}

/** Resource is the objects of a resource: in all namespaces, or in one. `path` is its URL without a namespace. */
export class Resource {
  silence = 150_000 // a bookmark comes every minute
  noun = 'object'
  prefix = ''

  constructor(path, namespaced, namespace = '') {
    const at = path.lastIndexOf('/')
    this.namespaced = namespaced
    this.namespace = namespace
    this.title = path.slice(at + 1)
    this.node = 'resource=' + encodeURIComponent(path)
    this.hash = this.node + query({ namespace })
    this.path = namespace ? `${path.slice(0, at)}/namespaces/${encodeURIComponent(namespace)}${path.slice(at)}` : path
    this.columns = [...(namespaced ? ['namespace'] : []), 'name', 'value', 'revision', 'generation', 'age']
  }

  within(namespace) {
    return new Resource(decodeURIComponent(this.node.slice('resource='.length)), this.namespaced, namespace)
  }

  item(object) {
    const { metadata, kind, apiVersion, ...rest } = object
    const id = metadata.namespace ? metadata.namespace + '/' + metadata.name : metadata.name
    return {
      id, name: metadata.name, namespace: metadata.namespace, value: object, shown: Object.keys(rest).length ? rest : { labels: metadata.labels ?? {} },
      revision: Number(metadata.resourceVersion), version: metadata.generation, created: metadata.creationTimestamp,
      detail: { revision: metadata.resourceVersion, generation: metadata.generation, created: metadata.creationTimestamp, uid: metadata.uid },
    }
  }

  async list({ at, filter, signal, most }) {
    const exact = at ? { resourceVersion: at, resourceVersionMatch: 'Exact' } : {}
    return pages(this.path + '?pretty=0&limit=' + Math.min(pageSize, most) + query({ filter }), async (path) => {
      const page = await get(path.includes('&continue=') ? path : path + query(exact), { signal })
      const head = { kind: page.kind.replace(/List$/, ''), apiVersion: page.apiVersion }
      const items = page.items.map((object) => this.item({ ...head, ...object }))
      return { items, revision: Number(page.metadata.resourceVersion), next: page.metadata.continue }
    }, most)
  }

  async *watch({ since, filter, signal }) {
    const path = this.path + '?watch=1&allowWatchBookmarks=true' + query({ resourceVersion: since, filter })
    for await (const lines of stream(path, { signal, silence: this.silence })) {
      yield lines.map((line) => this.frame(JSON.parse(line)))
    }
  }

  frame({ type, object }) {
    if (type === 'ERROR') return { type: 'error', error: new Refused(object.code, object.message, object) }
    const revision = Number(object.metadata.resourceVersion)
    if (type === 'BOOKMARK') return { type: 'mark', revision, resume: true }
    const kind = { ADDED: 'added', MODIFIED: 'changed', DELETED: 'deleted' }[type]
    return { type: kind, item: this.item(object), revision, resume: true }
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
