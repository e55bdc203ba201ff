// Where the gateway is, what it is asked, and how its answers are read.

const gateway = new URL('..', import.meta.url).href // the page is at /ui/ of it
const tokenKey = 'revtail.token'

/**
 * Refused is an answer that is an error. The status is its HTTP code; body is what it says, problem or Status; of its headers it has
 * retryAfter, in seconds, and revision, as of which it is true.
 */
export class Refused extends Error {
  constructor(status, message, body = {}, headers = new Headers()) {
    super(message)
    this.status = status
    this.body = body
    this.retryAfter = Number(headers.get('Retry-After')) || 0
    this.revision = Number(headers.get('Revtail-Revision')) || 0
  }

  /** gone says that etcd has forgotten the revision that was asked for. */
  get gone() {
    return this.status === 410
  }
}

// Where a browser keeps nothing, the page does, until it is left.
let kept
try {
  kept = sessionStorage
} catch {
  const items = new Map()
  kept = { getItem: (name) => items.get(name), setItem: (name, text) => items.set(name, text), removeItem: (name) => items.delete(name) }
}

/** token is the bearer token of this tab: gone with it, and sent in a header only. */
export const token = {
  get: () => kept.getItem(tokenKey) ?? '',
  set: (text) => (text ? kept.setItem(tokenKey, text) : kept.removeItem(tokenKey)),
}

/** request makes a GET. It throws a Refused for every status but 2xx, and fetch's own error when there is no answer. */
export async function request(path, { signal, accept = 'application/json' } = {}) {
  const headers = { Accept: accept }
  if (token.get()) headers.Authorization = 'Bearer ' + token.get()
  const response = await fetch(gateway + path.slice(1), { headers, signal, cache: 'no-store' })
  if (response.ok) return response
  const text = await response.text()
  let body = {}
  try {
    body = JSON.parse(text)
  } catch { /* something between here and the gateway has answered */ }
  const message = body.detail ?? body.message ?? `${response.status} ${response.statusText}: ${text.slice(0, 200)}`
  throw new Refused(response.status, message, body, response.headers)
}

export const get = async (path, options) => (await request(path, options)).json()

/**
 * stream reads JSON lines as they come, in batches; the first one is empty, and says that the stream is open. A stream in which
 * nothing at all comes for `silence` ms is given up.
 */
export async function* stream(path, { signal, silence }) {
  const silent = new AbortController()
  const response = await request(path, { signal: AbortSignal.any([signal, silent.signal]) })
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  let timer
  try {
    yield []
    for (;;) {
      clearTimeout(timer)
      timer = setTimeout(() => silent.abort(new Error('the stream is silent')), silence)
      const { value, done } = await reader.read()
      if (done) return
      const lines = (rest + value).split('\n')
      rest = lines.pop()
      yield lines
    }
  } finally {
    clearTimeout(timer)
    reader.cancel().catch(() => {}) // it has ended, one way or another
  }
}
