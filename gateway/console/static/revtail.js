// revtail.js lists, watches and mirrors what a revtail gateway serves: Kubernetes resources (/api, /apis) and any key of etcd (/v1/keys).
// It needs nothing but a browser, or another runtime with fetch. README.md of gateway/console describes it, revtail.d.ts has the types.
// It is one file, so that a page can bring its own copy.

// JSON whose numbers keep their value: a double has 53 bits, etcd's values and the counters in them may have more.

/** ExactNumber is a number that a double does not hold: `text` is its JSON. In arithmetic it is the nearest double. */
export class ExactNumber {
  constructor(text) {
    this.text = text
    Object.freeze(this)
  }

  toString() {
    return this.text
  }

  valueOf() {
    return Number(this.text)
  }
}

// A number of 16 or more digits, or with an exponent, where a value can begin. A text without one is parsed without a reviver, ten times as fast.
const risky = /(?:^|[:,[\s])-?(?:\d[\d.]{15}|[\d.]+[eE])/
const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** decimal is the value of a number's text: its sign, its digits without zeros at both ends, and the power of ten of the last one. */
function decimal(text) {
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  if (whole === undefined) return text
  const digits = (whole + fraction).replace(/^0+/, '')
  const trimmed = digits.replace(/0+$/, '')
  return trimmed ? sign + trimmed + 'e' + (BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - trimmed.length)) : '0'
}

const number = (text, value = Number(text)) => (String(value) === text || decimal(String(value)) === decimal(text) ? value : new ExactNumber(text))

let hasSource = false
JSON.parse('1', (_, value, context) => { hasSource = context?.source === '1' })

/** parse is JSON.parse, but a number that a double does not hold is an ExactNumber. */
export function parse(text) {
  if (!risky.test(text)) return JSON.parse(text)
  if (hasSource) return JSON.parse(text, (_, value, context) => (typeof value === 'number' ? number(context.source, value) : value))
  return parseMarked(text)
}

/** parseMarked is parse for a browser whose JSON.parse does not tell the source: the numbers are marked strings in between. */
function parseMarked(text) {
  JSON.parse(text) // throws for what is no JSON, before anything is replaced in it
  const mark = unused(text)
  const marked = text.replace(tokens, (token) => (token[0] === '"' || !(number(token) instanceof ExactNumber) ? token : `"${mark}${token}"`))
  return JSON.parse(marked, (_, value) => (typeof value === 'string' && value.startsWith(mark) ? new ExactNumber(value.slice(mark.length)) : value))
}

/** unused is a text that another one does not contain, also not escaped. */
function unused(text) {
  let mark
  do mark = `number-${Math.random().toString(36).slice(2)}:`
  while (text.includes(mark))
  return mark
}

/** stringify is JSON.stringify, but an ExactNumber is written as its text. */
export function stringify(value, space) {
  if (JSON.rawJSON) return JSON.stringify(value, (_, each) => (each instanceof ExactNumber ? JSON.rawJSON(each.text) : each), space)
  return stringifyMarked(value, space)
}

/** stringifyMarked is stringify for a browser without JSON.rawJSON. */
function stringifyMarked(value, space) {
  const mark = unused(JSON.stringify(value, undefined, space) ?? '')
  return JSON.stringify(value, (_, each) => (each instanceof ExactNumber ? mark + each.text : each), space)?.replaceAll(new RegExp(`"${mark}([^"]*)"`, 'g'), '$1')
}

const isObject = (value) => value !== null && typeof value === 'object' && !(value instanceof ExactNumber)

/** same tells whether two values are equal: numbers by value, objects by their members in any order, lists by position. */
export function same(a, b) {
  if (Object.is(a, b) || a === b) return true
  if (a instanceof ExactNumber && b instanceof ExactNumber) return decimal(a.text) === decimal(b.text)
  if (!isObject(a) || !isObject(b) || Array.isArray(a) !== Array.isArray(b)) return false
  const names = Object.keys(a)
  return names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && same(a[name], b[name]))
}

const quote = 34, comma = 44, backslash = 92, space = 32

/** end is where the value that begins at `at` ends, in a text that is JSON. */
function end(text, at) {
  let depth = 0
  for (;;) {
    const code = text.charCodeAt(at)
    if (code === quote) {
      do at = text.indexOf('"', at + 1)
      while (text.charCodeAt(at - 1) === backslash && escaped(text, at))
      if (depth === 0) return at + 1
    } else if (code === 123 || code === 91) {
      depth++
    } else if (code === 125 || code === 93) {
      if (depth === 0) return at // of a number or a word, the last of its list
      if (--depth === 0) return at + 1
    } else if (depth === 0 && (code <= space || code === comma || Number.isNaN(code))) {
      return at
    }
    at++
  }
}

function escaped(text, at) {
  let slashes = 0
  while (text.charCodeAt(at - 1 - slashes) === backslash) slashes++
  return slashes % 2 === 1
}

function skipSpace(text, at) {
  while (text.charCodeAt(at) <= space) at++
  return at
}

/** elements are the texts of the elements of a list, unchanged. */
function elements(text) {
  const found = []
  for (let at = skipSpace(text, skipSpace(text, 0) + 1); text[at] !== ']'; ) {
    const stop = end(text, at)
    found.push(text.slice(at, stop))
    at = skipSpace(text, stop)
    if (text.charCodeAt(at) === comma) at = skipSpace(text, at + 1)
  }
  return found
}

/** members are the texts of the members of an object, unchanged, by their names. */
function members(text) {
  const found = { __proto__: null }
  for (let at = skipSpace(text, skipSpace(text, 0) + 1); text[at] !== '}'; ) {
    const colon = end(text, at)
    const quoted = text.slice(at, colon)
    const name = quoted.includes('\\') ? JSON.parse(quoted) : quoted.slice(1, -1)
    at = skipSpace(text, skipSpace(text, colon) + 1)
    const stop = end(text, at)
    found[name] = text.slice(at, stop)
    at = skipSpace(text, stop)
    if (text.charCodeAt(at) === comma) at = skipSpace(text, at + 1)
  }
  return found
}

// What the gateway sends: lists, events and refusals, of Kubernetes resources and of keys.

/** RevtailError is a refusal of the gateway (status: the HTTP code, reason: as in a Kubernetes Status), or that it does not answer (status 0). */
export class RevtailError extends Error {
  constructor(status, reason, message, { body = {}, text = '', retryAfter = 0, revision = 0 } = {}) {
    super(message)
    Object.assign(this, { name: 'RevtailError', status, reason, body, text, retryAfter, revision })
  }

  /** gone: etcd has compacted the revision that was asked for. */
  get gone() {
    return this.status === 410
  }

  /** of reads a Status, a problem (RFC 9457), or the text of something between here and the gateway. */
  static of(status, text, headers = new Headers()) {
    let body = {}
    try {
      body = JSON.parse(text) ?? {}
    } catch { /* it is no JSON */ }
    return new RevtailError(body.code ?? body.status ?? status, body.reason ?? body.title ?? '', body.detail ?? body.message ?? (text.slice(0, 200).trim() || `status ${status}`), {
      body, text, retryAfter: Number(headers.get('Retry-After') ?? body.details?.retryAfterSeconds) || 0, revision: Number(headers.get('Revtail-Revision')) || 0,
    })
  }
}

/** Item is an object, or a key with its value. Its value is parsed when it is first asked for. */
export class Item {
  #value

  constructor(fields) {
    Object.assign(this, fields)
  }

  get value() {
    if (this.text !== undefined) this.#value ??= parse(this.text)
    return this.#value
  }

  /** detail is what etcd or the gateway counts for itself. */
  get detail() {
    if (this.address) return { revision: this.revision, created: this.createRevision, version: this.version, encoding: this.encoding, lease: this.lease }
    const { resourceVersion, generation, creationTimestamp, uid } = this.value.metadata
    return { revision: resourceVersion, generation, created: creationTimestamp, uid }
  }

  /** shown is what an object has beside its name; undefined for a key. */
  get shown() {
    if (this.address) return undefined
    const { metadata, kind, apiVersion, ...rest } = this.value
    return Object.keys(rest).length ? rest : { labels: metadata.labels ?? {} }
  }
}

const types = { PUT: 'ADDED', DELETE: 'DELETED', SYNC: 'BOOKMARK', PROGRESS: 'BOOKMARK' }

/**
 * A dialect: query makes the parameters of a request, page and event read an answer. `silence` is after how many ms without a line a stream
 * is given up.
 */
const keys = {
  accept: undefined, // a header for the columns of a list
  silence: 45_000, // PROGRESS comes every 15 s
  query: ({ at, since, watch, columns, ...query }) => ({ ...query, ...(watch ? { watch: 1, since } : { at, pretty: 0 }) }),

  item(text) {
    const raw = members(text)
    const address = raw.key === undefined ? { key64: JSON.parse(raw.key64) } : { key: JSON.parse(raw.key) }
    const id = keyName(address)
    return new Item({
      id, name: id, text: raw.value, revision: Number(raw.modRevision ?? raw.revision), path: keyPath(address), address, encoding: raw.encoding?.slice(1, -1),
      version: raw.version && Number(raw.version), lease: raw.lease?.slice(1, -1), createRevision: raw.createRevision && Number(raw.createRevision),
    })
  },

  page(text) {
    const { items, revision, continue: next } = members(text)
    return { items: elements(items).map((each) => this.item(each)), revision: Number(revision), next: next && JSON.parse(next) }
  },

  event(line) {
    const { type: given, revision, last, prev, error } = members(line)
    const type = types[JSON.parse(given)]
    if (error) return { type: 'ERROR', error: RevtailError.of(0, error) }
    if (type === 'BOOKMARK') return { type, revision: Number(revision), complete: true }
    const item = this.item(line)
    return { type: type === 'ADDED' && item.version > 1 ? 'MODIFIED' : type, item, revision: Number(revision), complete: last === 'true', old: prev && members(prev).value }
  },
}

const resources = (path) => ({
  accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json',
  silence: 150_000, // a bookmark comes every minute
  query({ at, since, watch, columns, ...query }) {
    const includeObject = columns ? 'Object' : undefined
    if (watch) return { ...query, includeObject, watch: 1, allowWatchBookmarks: true, resourceVersion: since }
    return { ...query, includeObject, pretty: 0, ...(at && !query.continue && { resourceVersion: at, resourceVersionMatch: 'Exact' }) }
  },

  item(text, cells) {
    const { name, namespace, resourceVersion, generation, creationTimestamp } = JSON.parse(members(text).metadata)
    return new Item({
      id: namespace ? `${namespace}/${name}` : name, namespace, name, text, cells: cells && parse(cells), received: Date.now(), revision: Number(resourceVersion), version: generation,
      created: creationTimestamp, path: (namespace ? inNamespace(path, namespace) : path) + '/' + encodeURIComponent(name),
    })
  },

  page(text) {
    const { items, rows, columnDefinitions, metadata } = members(text)
    const { resourceVersion, continue: next, remainingItemCount } = JSON.parse(metadata)
    return {
      items: rows ? elements(rows).map((row) => this.row(row)) : elements(items).map((each) => this.item(each)),
      columns: columnDefinitions && JSON.parse(columnDefinitions), revision: Number(resourceVersion), next, remaining: remainingItemCount,
    }
  },

  row(text) {
    const { cells, object } = members(text)
    return this.item(object, cells)
  },

  event(line) {
    const { type: given, object } = members(line)
    const type = JSON.parse(given)
    if (type === 'ERROR') return { type, error: RevtailError.of(0, object) }
    const { rows, metadata } = members(object)
    if (type === 'BOOKMARK') return { type, revision: Number(JSON.parse(metadata).resourceVersion), complete: true }
    const item = rows ? this.row(elements(rows)[0]) : this.item(object)
    return { type, item, revision: item.revision, complete: true }
  },
})

/** dialectOf reads what the gateway sends for a path. */
const dialectOf = (path) => (/^\/v1\/keys([/?]|$)/.test(path) ? keys : resources(path.split('?')[0]))

/** inNamespace is the path of a resource in one namespace. */
const inNamespace = (path, namespace) => path.replace(/\/(?:namespaces\/[^/]+\/)?([^/]+)$/, `/namespaces/${encodeURIComponent(namespace)}/$1`)

/** keyName is a key for people: bytes that are no text are escaped. */
function keyName({ key, key64 }) {
  if (key !== undefined) return key
  return Array.from(atob(key64), (c) => (c >= ' ' && c <= '~' ? c : '\\x' + c.charCodeAt(0).toString(16).padStart(2, '0'))).join('')
}

/** keyPath is the path of a key or prefix; of a key that no URL path can contain, with a query. */
function keyPath({ key, key64 }) {
  if (key === undefined) return '/v1/keys?key64=' + encodeURIComponent(key64)
  if (!key.startsWith('/') || /\/\/|\/\.{1,2}(\/|$)|[\0-\x1f\\]/.test(key)) return '/v1/keys?key=' + encodeURIComponent(key)
  return '/v1/keys' + key.split('/').map(encodeURIComponent).join('/')
}

// The streams of a watch: lines as they come, over a WebSocket, fetch or EventSource.

const most = 8 << 20 // characters that wait for a reader: above it the stream is closed, and the watch resumes when they have been read
const opening = 30_000 // ms that a stream may take to open

const lost = (why) => new RevtailError(0, 'ConnectionLost', why)

/**
 * openStream yields the lines of a watch in batches; the first one is empty, and says that the stream is open. It returns when the stream
 * has ended in order. A browser does not say why a WebSocket or an EventSource has not opened: fetch does, or gets the stream through.
 */
async function* openStream(gateway, path, options) {
  const pushed = { websocket: webSocket, sse: eventSource }[gateway.transport]
  if (pushed) {
    const queue = new Queue(options)
    try {
      yield* pushed(queue, gateway, path, options)
      return
    } catch (error) {
      if (queue.open || options.signal?.aborted || error.status) throw error
    }
  }
  yield* fetched(gateway, path, options)
}

/** Queue holds what a source pushes until it is read. */
class Queue {
  open = false
  #lines = []
  #held = 0
  #ended = false
  #error
  #wake = () => {}
  #heard

  constructor({ silence, signal }) {
    this.silence = silence
    this.signal = signal
  }

  opened() {
    this.open = true
    this.#touch()
  }

  push(line) {
    this.#lines.push(line)
    this.#held += line.length
    if (this.#held > most) this.end()
    this.#touch()
  }

  end(error) {
    if (!this.#ended) this.#error = error
    this.#ended = true
    this.#wake()
  }

  #touch() {
    this.#heard = performance.now()
    this.#wake()
  }

  /** batches yields what has come, until it is ended and all has been read. */
  async *batches() {
    const aborted = () => this.end(this.signal.reason)
    this.signal?.addEventListener('abort', aborted)
    this.#heard = performance.now()
    const timer = setInterval(() => {
      const quiet = performance.now() - this.#heard
      if (quiet > (this.open ? this.silence : opening)) this.end(lost(`the stream was silent for ${Math.round(quiet / 1000)} s`))
    }, 5_000)
    try {
      while (!this.open && !this.#ended) await this.#news()
      if (!this.open) throw this.#error ?? lost('the stream was not opened')
      yield []
      for (;;) {
        while (!this.#lines.length && !this.#ended) await this.#news()
        if (!this.#lines.length) break
        const lines = this.#lines
        this.#lines = []
        yield lines
        this.#held -= lines.reduce((sum, line) => sum + line.length, 0)
      }
      if (this.#error) throw this.#error
    } finally {
      clearInterval(timer)
      this.signal?.removeEventListener('abort', aborted)
    }
  }

  #news() {
    return new Promise((resolve) => { this.#wake = resolve })
  }
}

async function ticketOf(gateway, path) {
  const { text } = await gateway.request('/v1/tickets', {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ path: path.split('?')[0] }),
  })
  return JSON.parse(text).ticket
}

/** protocolsOf are the subprotocols of a WebSocket that carry a token, as Kubernetes has it; the second one is for the gateway to accept. */
function protocolsOf(token) {
  if (!token) return []
  const encoded = btoa(String.fromCharCode(...new TextEncoder().encode(token))).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
  return ['base64url.bearer.authorization.k8s.io.' + encoded, 'revtail']
}

async function* webSocket(queue, gateway, path, { query, accept }) {
  const token = await gateway.bearer()
  const ticket = token && gateway.tickets ? await ticketOf(gateway, path) : undefined
  const url = gateway.address(path, { ...query, accept, ticket })
  url.protocol = url.protocol.replace('http', 'ws')
  const socket = new WebSocket(url.href, ticket ? [] : protocolsOf(token))
  socket.onopen = () => queue.opened()
  socket.onmessage = ({ data }) => queue.push(data)
  socket.onerror = () => queue.end(lost('the connection was lost'))
  socket.onclose = ({ code }) => queue.end(code === 1000 || code === 1001 ? undefined : lost(`the connection was lost (${code})`))
  try {
    yield* queue.batches()
  } finally {
    socket.onmessage = null
    socket.close()
  }
}

async function* eventSource(queue, gateway, path, { query }) {
  const ticket = await gateway.bearer() ? await ticketOf(gateway, path) : undefined
  const source = new EventSource(gateway.address(path, { ...query, ticket }).href)
  source.onopen = () => queue.opened()
  source.onmessage = ({ data }) => queue.push(data)
  source.onerror = () => {
    source.close() // its own attempts would use the ticket again
    queue.end(lost('the connection was lost'))
  }
  try {
    yield* queue.batches()
  } finally {
    source.close()
  }
}

async function* fetched(gateway, path, { query, accept, silence, signal }) {
  const silent = new AbortController()
  const both = signal ? AbortSignal.any([signal, silent.signal]) : silent.signal
  const response = await gateway.fetch(path, { headers: accept ? { Accept: accept } : {}, query, signal: both })
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  let timer
  try {
    yield []
    for (;;) {
      timer = setTimeout(() => silent.abort(lost('the stream is silent')), silence)
      const { value, done } = await reader.read()
      clearTimeout(timer)
      if (done) return
      const lines = (rest + value).split('\n')
      rest = lines.pop()
      yield lines.filter(Boolean)
    }
  } finally {
    clearTimeout(timer)
    reader.cancel().catch(() => {}) // it has ended, one way or another
  }
}

// A map of what a list has, which stays true.

/**
 * Live has the items of a list by id, and changes with them. Each change is an event `change` with a detail of {id, item, old, type}; the state
 * of its connection is `state`, with an event of that name; what the gateway refuses for good is an event `error`, and the error of changes().
 */
export class Live extends EventTarget {
  revision = 0
  state = 'listing'
  columns
  error
  #items = new Map()
  #ending = new AbortController()
  #readers = new Set()

  constructor(gateway, path, { signal, ...options } = {}) {
    super()
    signal?.addEventListener('abort', () => this.close(), { once: true })
    if (signal?.aborted) this.close()
    this.ready = new Promise((resolve, reject) => this.#follow(gateway, path, options, resolve).then(() => {
      reject(signal?.reason ?? new DOMException('The map was closed.', 'AbortError'))
    }, reject))
    this.ready.catch(() => {}) // those who wait for it get the error
  }

  async #follow(gateway, path, options, ready) {
    const onState = (state, detail) => this.#become(state, detail)
    try {
      for await (const event of gateway.watch(path, { ...options, signal: this.#ending.signal, onState })) {
        this.revision = Math.max(this.revision, event.revision)
        if (event.type === 'LIST') {
          this.columns = event.columns ?? this.columns
          this.#reset(event.items)
          ready()
        } else if (event.item) {
          this.#set(event.item.id, event.type === 'DELETED' ? undefined : event.item)
        }
      }
      this.#become('closed')
    } catch (error) {
      this.error = error
      this.#become('refused', { error })
      this.dispatchEvent(new CustomEvent('error', { detail: error }))
      throw error
    } finally {
      for (const reader of this.#readers) reader.wake()
    }
  }

  #become(state, detail = {}) {
    this.state = state
    this.dispatchEvent(new CustomEvent('state', { detail: { state, ...detail } }))
  }

  #reset(items) {
    const kept = new Set(items.map((item) => item.id))
    for (const id of [...this.#items.keys()]) if (!kept.has(id)) this.#set(id)
    for (const item of items) if (this.#items.get(item.id)?.revision !== item.revision) this.#set(item.id, item)
  }

  #set(id, item) {
    const old = this.#items.get(id)
    if (item) this.#items.set(id, item)
    else if (!this.#items.delete(id)) return
    const change = { id, item, old, type: !old ? 'ADDED' : item ? 'MODIFIED' : 'DELETED' }
    this.dispatchEvent(new CustomEvent('change', { detail: change }))
    for (const reader of this.#readers) reader.add(change)
  }

  get size() {
    return this.#items.size
  }

  get(id) {
    return this.#items.get(id)
  }

  has(id) {
    return this.#items.has(id)
  }

  keys() {
    return this.#items.keys()
  }

  values() {
    return this.#items.values()
  }

  entries() {
    return this.#items.entries()
  }

  forEach(call, self) {
    for (const [id, item] of this.#items) call.call(self, item, id, this)
  }

  [Symbol.iterator]() {
    return this.#items.entries()
  }

  /** changes yields each change from now on. A reader that is slower than they come gets one for each id: from what it knew to what is. */
  async *changes() {
    const reader = new Reader()
    this.#readers.add(reader)
    try {
      while (this.state !== 'closed' && !this.error) {
        yield* reader.take()
        await reader.news
      }
      yield* reader.take()
      if (this.error) throw this.error
    } finally {
      this.#readers.delete(reader)
    }
  }

  /** close ends the watch. The map keeps what it has. */
  close() {
    this.#ending.abort()
  }

  [Symbol.dispose ?? Symbol('dispose')]() {
    this.close()
  }
}

/** Reader holds the changes that one iteration has not taken yet. */
class Reader {
  #changes = new Map()
  #wait() {
    this.news = new Promise((resolve) => { this.wake = resolve })
  }

  constructor() {
    this.#wait()
  }

  add({ id, item, old }) {
    const before = this.#changes.has(id) ? this.#changes.get(id).old : old
    this.#changes.delete(id)
    if (before || item) this.#changes.set(id, { id, item, old: before, type: !before ? 'ADDED' : item ? 'MODIFIED' : 'DELETED' })
    this.wake()
  }

  *take() {
    this.#wait()
    const changes = this.#changes
    this.#changes = new Map()
    yield* changes.values()
  }
}

// The client.

const refusals = [400, 401, 403, 404, 405, 406, 422]
const shortest = 250 // ms before a stream is opened again, and the longest
const longest = 5_000

/** wait ends after a time, when the network is back, or with the signal. */
const wait = (ms, signal) => new Promise((resolve) => {
  const done = () => {
    clearTimeout(timer)
    globalThis.removeEventListener?.('online', done)
    resolve()
  }
  const timer = setTimeout(done, ms)
  globalThis.addEventListener?.('online', done, { once: true })
  signal?.addEventListener('abort', done, { once: true })
})

/** Gateway is the gateway at a URL, with the rights of a token. See GatewayOptions in revtail.d.ts. */
export class Gateway {
  constructor({ url = new URL('..', import.meta.url).href, token, transport = 'websocket', tickets = false, open = openStream } = {}) {
    Object.assign(this, { url: url.endsWith('/') ? url : url + '/', token, transport, tickets, open })
  }

  /** bearer is the token of now; empty: none. */
  async bearer() {
    return (typeof this.token === 'function' ? await this.token() : this.token) || ''
  }

  /** address is the URL of a path with more parameters, those that are undefined or empty left out. */
  address(path, query = {}) {
    const url = new URL(this.url + path.slice(1))
    for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== '') url.searchParams.set(name, value)
    return url
  }

  /** fetch sends a request. It throws a RevtailError for every status but 2xx, and if there is no answer. */
  async fetch(path, { method = 'GET', headers = {}, body, query, signal } = {}) {
    const token = await this.bearer()
    const all = { Accept: 'application/json', ...(token && { Authorization: 'Bearer ' + token }), ...headers }
    const response = await fetch(this.address(path, query), { method, headers: all, body, signal, cache: 'no-store' }).catch((error) => {
      signal?.throwIfAborted()
      throw new RevtailError(0, 'Unreachable', `The gateway at ${this.url} does not answer: ${error.message}`)
    })
    if (response.ok) return response
    throw RevtailError.of(response.status, await response.text(), response.headers)
  }

  /** request is fetch with the whole answer: {status, headers, text}. */
  async request(path, options) {
    const response = await this.fetch(path, options)
    return { status: response.status, headers: response.headers, text: await response.text() }
  }

  /** pages reads a list page by page, all as of one revision. */
  async *pages(path, { signal, limit = 500, ...query } = {}) {
    const dialect = dialectOf(path)
    const headers = query.columns && dialect.accept ? { Accept: dialect.accept } : {}
    let next
    do {
      const { text } = await this.request(path, { headers, signal, query: dialect.query({ ...query, limit, continue: next }) })
      const page = dialect.page(text)
      yield page
      next = page.next
    } while (next)
  }

  /** list reads a list, `most` items of it at most. A key that does not exist is an empty list. */
  async list(path, { most = Infinity, ...options } = {}) {
    const list = { items: [], revision: 0, columns: undefined, next: undefined, remaining: undefined }
    try {
      for await (const { items, columns, ...page } of this.pages(path, { limit: Math.min(500, most), ...options })) {
        list.items.push(...items)
        list.columns ??= columns
        Object.assign(list, page)
        if (list.items.length >= most) break
      }
    } catch (error) {
      if (error.status !== 404 || !error.revision) throw error
      list.revision = error.revision
    }
    return list
  }

  /** watch follows a list. Its events are WatchEvent in revtail.d.ts. It ends with the signal, and throws what the gateway refuses. */
  async *watch(path, { since, most, signal, onState = () => {}, ...query } = {}) {
    const dialect = dialectOf(path)
    let [start, newest, seen, failures, compacted] = [since ?? 0, since ?? 0, new Set(), 0, false] // everything up to start has been told
    while (!signal?.aborted) {
      let [delay, failure] = [shortest]
      try {
        if (since === undefined) {
          onState('listing')
          const list = await this.list(path, { ...query, most, prev: undefined, signal })
          start = newest = since = list.revision
          seen = new Set()
          yield { type: 'LIST', compacted, ...list }
        }
        let live = false
        const accept = query.columns ? dialect.accept : undefined
        for await (const lines of this.open(this, path, { query: dialect.query({ ...query, watch: true, since }), accept, since, silence: dialect.silence, signal })) {
          if (!live) onState('live', { since })
          live = true
          for (const line of lines) {
            if (signal?.aborted) return
            const event = dialect.event(line)
            if (event.error) throw event.error
            failures = 0
            if (event.item) { // a revision that a lost connection has cut into two comes again as a whole
              if (event.revision > newest) [newest, seen] = [event.revision, new Set()]
              if (event.revision > start && event.revision === newest && !seen.has(event.item.id)) yield event
              seen.add(event.item.id)
            } else {
              yield event
            }
            if (event.complete) since = Math.max(since, event.revision)
          }
        }
      } catch (error) {
        if (signal?.aborted) return
        if (refusals.includes(error.status)) throw error
        failure = error
        compacted = error.gone === true
        if (compacted) since = undefined
        delay = Math.max(Math.min(shortest * 2 ** failures++, longest) * (0.75 + Math.random() / 2), (error.retryAfter ?? 0) * 1000)
      }
      if (signal?.aborted) return
      onState(compacted && since === undefined ? 'expired' : 'reconnecting', { error: failure, delay, since })
      await wait(delay, signal)
    }
  }
  /** live is a Map of what a list has, which stays true. It resolves when the map is there, and throws what the gateway refuses. */
  async live(path, options) {
    const map = new Live(this, path, options)
    await map.ready
    return map
  }
}

const split = ({ url, token, transport, tickets, open, ...options } = {}) => [new Gateway({ url, token, transport, tickets, open }), options]

/** list, watch and live are those of a Gateway with the options given: {url, token, transport, tickets} beside their own. */
export function list(path, options) {
  const [gateway, own] = split(options)
  return gateway.list(path, own)
}

export function watch(path, options) {
  const [gateway, own] = split(options)
  return gateway.watch(path, own)
}

export function live(path, options) {
  const [gateway, own] = split(options)
  return gateway.live(path, own)
}

/** internals are parts that the console uses too. They change without notice. */
export const internals = { elements, members, dialectOf, inNamespace, keyName, openStream, Queue }
