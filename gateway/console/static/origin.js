// One object, or one key, in the gateway: its states of now and of earlier, what its user may do with it, and writes.

import { request } from './api.js'
import { internals, parse, stringify } from './revtail.js'
import { addressOf } from './source.js'

const { elements, members } = internals

/** warningsOf are the texts of the Warning headers of an answer. */
export const warningsOf = (headers) => Array.from((headers.get('Warning') ?? '').matchAll(/299 \S+ ("(?:[^"\\]|\\.)*")/g), ([, text]) => text.slice(1, -1).replace(/\\(.)/g, '$1'))

const json = { 'Content-Type': 'application/json' }

/** Origin is where an item comes from. */
export class Origin {
  constructor(source, item) {
    this.source = source
    this.item = item
    this.isKey = item.path.startsWith('/v1/keys')
    this.address = item.address
    this.collection = this.isKey ? undefined : item.path.slice(0, item.path.lastIndexOf('/'))
    const parts = /^\/apis?\/(?:([^/]+)\/)?(v[^/]+)\/(?:namespaces\/([^/]+)\/)?([^/]+)\/[^/]+$/.exec(item.path)
    if (!this.isKey && parts) [, this.group = '', this.version, , this.resource] = parts
  }

  /** read is the item as of a revision, or of now; undefined: it is not there. It throws a Refused that is gone if etcd has compacted the revision. */
  async read(at, signal) {
    try {
      if (!this.isKey && at === undefined) return this.source.item((await request(this.item.path + '?pretty=0', { signal })).text)
      const [text] = elements(members((await request(this.#path(at), { signal })).text).items)
      return text && this.source.item(text)
    } catch (error) {
      if (error.status === 404) return undefined
      throw error
    }
  }

  #path(at) {
    if (this.isKey) return `/v1/keys?${addressOf(this.address)}&pretty=0` + (at === undefined ? '' : '&at=' + at)
    return `${this.collection}?fieldSelector=${encodeURIComponent('metadata.name=' + this.item.name)}&limit=1&pretty=0` +
      (at === undefined ? '' : `&resourceVersion=${at}&resourceVersionMatch=Exact`)
  }

  /** other is another item of the same kind: NAMESPACE/NAME, NAME in the same namespace, or a key. */
  other(id) {
    if (this.isKey) return new Origin(this.source, { id, name: id, address: { key: id }, path: '/v1/keys?' + addressOf({ key: id }) })
    const slash = id.indexOf('/')
    const name = id.slice(slash + 1)
    const namespace = slash < 0 ? this.item.namespace : id.slice(0, slash)
    const path = this.#root() + (namespace ? `/namespaces/${encodeURIComponent(namespace)}` : '') + `/${this.resource}/${encodeURIComponent(name)}`
    return new Origin(this.source, { id, name, namespace, path })
  }

  #root() {
    return this.group ? `/apis/${this.group}/${this.version}` : `/api/${this.version}`
  }

  /** others are the names of items of the same kind: those of the same source, of which there are at most `most`. */
  async others(most) {
    const list = await this.source.list({ most })
    return list.items.map((item) => item.id).filter((id) => id !== this.item.id).slice(0, most)
  }

  // Changes

  /** permits asks the gateway whether its user may create, update or delete the item: {allowed, reason}. */
  async permits(verb, signal) {
    const resourceAttributes = { verb, group: this.group, version: this.version, resource: this.resource, namespace: this.item.namespace, name: verb === 'create' ? undefined : this.item.name }
    const nonResourceAttributes = { verb: verb === 'create' ? 'update' : verb, path: '/v1/keys' + this.item.id }
    try {
      if (!this.isKey) {
        const { resources } = JSON.parse((await request(this.#root() + '?pretty=0', { signal })).text)
        const kind = resources.find((each) => each.name === this.resource)
        if (kind && !kind.verbs.includes(verb)) return { allowed: false, reason: `The gateway serves ${this.resource} for reading only.` }
      }
      const review = { kind: 'SelfSubjectAccessReview', apiVersion: 'authorization.k8s.io/v1', spec: this.isKey ? { nonResourceAttributes } : { resourceAttributes } }
      const answer = await request('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { method: 'POST', headers: json, body: JSON.stringify(review), signal })
      const { allowed, reason } = JSON.parse(answer.text).status
      return { allowed, reason: reason || `The policy of the gateway does not allow you to ${verb} this.` }
    } catch (error) {
      signal?.throwIfAborted()
      return { allowed: true, reason: `Not known: ${error.message}` } // the attempt will say
    }
  }

  /** kindOf is the kind of the objects beside this one, as discovery says it. */
  async kindOf() {
    const { resources } = JSON.parse((await request(this.#root() + '?pretty=0')).text)
    return { group: this.group, version: this.version, kind: resources.find((each) => each.name === this.resource)?.kind }
  }

  /** bytesOf is the value of a key, byte for byte, as of a revision or of now. */
  async bytesOf(at) {
    const page = JSON.parse((await request(this.#path(at) + '&encoding=base64')).text)
    return Uint8Array.from(atob(page.items[0].value), (each) => each.charCodeAt(0))
  }

  /** tryOut lets the gateway check an object and fill in its defaults, and stores nothing: {item, warnings}. The revision is that of the object
   *  that is changed; undefined: it is new. */
  async tryOut(text, type, revision) {
    const query = '?dryRun=All&fieldValidation=Warn&fieldManager=revtail-console&pretty=0'
    const put = (body) => request((revision === undefined ? this.collection : this.item.path) + query,
      { method: revision === undefined ? 'POST' : 'PUT', headers: { 'Content-Type': type }, body })
    const answer = await put(text).catch((error) => {
      if (error.status !== 422 || !error.message.includes('metadata.resourceVersion')) throw error
      return put(withRevision(text, type, revision)) // not all kinds can be replaced without one
    })
    return { item: this.source.item(answer.text), warnings: warningsOf(answer.headers) }
  }

  /** write stores what was tried out, if the object still has the revision; undefined: if it does not exist. It returns the item as it is stored. */
  async write(tried, revision) {
    const value = parse(tried.text)
    delete value.metadata.managedFields // the gateway keeps its own
    if (revision !== undefined) value.metadata.resourceVersion = String(revision)
    else for (const name of ['resourceVersion', 'uid', 'creationTimestamp', 'generation']) delete value.metadata[name]
    const answer = await request((revision === undefined ? this.collection : this.item.path) + '?fieldManager=revtail-console&pretty=0',
      { method: revision === undefined ? 'POST' : 'PUT', headers: json, body: stringify(value) })
    return this.source.item(answer.text)
  }

  /** writeKey stores a text under the key, if it still has the revision; undefined: if it does not exist. It returns the new revision. */
  async writeKey(text, revision, ttl) {
    const headers = { 'Content-Type': 'application/octet-stream', ...(revision === undefined ? { 'If-None-Match': '*' } : { 'If-Match': `"${revision}"` }) }
    const answer = await request(`/v1/keys?${addressOf(this.address)}&pretty=0` + (ttl ? '&ttl=' + encodeURIComponent(ttl) : ''), { method: 'PUT', headers, body: text })
    return Number(members(answer.text).revision)
  }

  /** remove deletes the item if it is still as it is shown. It returns what is left, which is an object that has finalizers. */
  async remove(propagationPolicy) {
    const { revision, value } = this.item
    if (this.isKey) {
      await request(`/v1/keys?${addressOf(this.address)}&pretty=0`, { method: 'DELETE', headers: { 'If-Match': `"${revision}"` } })
      return undefined
    }
    const body = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy, preconditions: { uid: value.metadata.uid, resourceVersion: String(revision) } }
    const left = JSON.parse((await request(this.item.path + '?pretty=0', { method: 'DELETE', headers: json, body: JSON.stringify(body) })).text)
    return left.metadata?.deletionTimestamp ? left : undefined
  }
}

/** withRevision is the text of an object, in JSON or in the YAML of yaml.js, with a resourceVersion. */
function withRevision(text, type, revision) {
  if (type !== 'application/json') return text.replace(/^metadata:[ \t]*\n([ \t]+)/m, (start, indent) => `${start}resourceVersion: "${revision}"\n${indent}`)
  const value = parse(text)
  value.metadata.resourceVersion = String(revision)
  return stringify(value)
}
