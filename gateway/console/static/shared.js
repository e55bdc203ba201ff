// The side of a tab of what all tabs share: its streams and counts come from worker.js. Where there is no SharedWorker, the tab has its own.

import { Counts } from './counts.js'
import { Gateway, internals, RevtailError } from './revtail.js'

const { openStream, Queue } = internals

const version = 'revtail 1' // another one does not meet a worker that an earlier page has started
const patience = 5_000 // ms until the worker has said hello
const longest = 30_000 // ms for a count

const queues = new Map() // of the streams of this tab
const waiting = new Map() // for a count: {resolve, reject}
let last = 0
let connected // a promise of the port; of undefined: there is no worker

/** connect starts the worker, or joins it. */
function connect() {
  if (!globalThis.SharedWorker) return Promise.resolve()
  return new Promise((resolve) => {
    try {
      const name = new URL('worker.js', import.meta.url).href
      // A policy of this name makes one URL, and no other one can be made: see the Content-Security-Policy.
      const url = globalThis.trustedTypes?.createPolicy('revtail-worker', { createScriptURL: () => name }).createScriptURL('') ?? name
      const worker = new SharedWorker(url, { type: 'module', name: version })
      setTimeout(resolve, patience)
      worker.onerror = () => resolve()
      worker.port.onmessage = ({ data }) => {
        if (data.hello) resolve(worker.port)
        else take(worker.port, data)
      }
      addEventListener('pagehide', () => {
        worker.port.postMessage({ bye: true })
        for (const queue of queues.values()) queue.end() // a page that comes back resumes
      })
    } catch {
      resolve() // a browser without workers that are modules
    }
  })
}

const failed = (error) => new RevtailError(error.status ?? 0, error.reason ?? 'ConnectionLost', error.message, error)

function take(port, { id, lines, end, error, answer, failure, ping }) {
  if (ping) port.postMessage({ pong: true })
  if (answer !== undefined) waiting.get(id)?.resolve(answer)
  if (failure) waiting.get(id)?.reject(failed(failure))
  const queue = queues.get(id)
  if (lines) {
    let chars = 0
    queue?.opened()
    for (const line of lines) {
      chars += line.length
      queue?.push(line)
    }
    if (chars) port.postMessage({ id, read: chars })
  }
  if (end) queue?.end(error && failed(error))
}

/** sharedStream is openStream of a worker that all tabs share. */
export async function* sharedStream(gateway, path, options) {
  const port = await (connected ??= connect())
  if (!port) return yield* openStream(gateway, path, options)
  const { query, accept, since, silence } = options
  const id = ++last
  const queue = new Queue(options)
  queues.set(id, queue)
  port.postMessage({ id, open: { url: gateway.url, token: await gateway.bearer(), transport: gateway.transport, path, query: plain(query), accept, since, silence } })
  try {
    yield* queue.batches()
  } finally {
    queues.delete(id)
    port.postMessage({ id, close: true })
  }
}

const plain = (query) => Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined && value !== ''))

const own = new Counts()

/** sharedCount is how many items the list at a path has, as of a revision, see Counts; without a path: the newest revision. */
export async function sharedCount(gateway, path, revision) {
  const port = await (connected ??= connect())
  const token = await gateway.bearer()
  const mine = new Gateway({ url: gateway.url, token })
  if (!port) return path ? own.count(mine, path, revision) : own.newest(mine)
  const id = ++last
  try {
    return await new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject })
      setTimeout(() => reject(new RevtailError(0, 'Timeout', 'there was no count in time')), longest)
      port.postMessage({ id, count: { url: gateway.url, token, path, revision } })
    })
  } finally {
    waiting.delete(id)
  }
}
