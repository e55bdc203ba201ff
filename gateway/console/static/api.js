// The gateway of this page, with the token of this tab.

import { Gateway, parse, RevtailError } from './revtail.js'
import { sharedCount, sharedStream } from './shared.js'

/** Refused is every error of a request: see RevtailError. */
export { RevtailError as Refused }

const tokenKey = 'revtail.token'

// Where a browser keeps nothing, the page does, until it is left.
let kept
try {
  kept = sessionStorage
} catch {
  const items = new Map()
  kept = { getItem: (name) => items.get(name), setItem: (name, text) => items.set(name, text), removeItem: (name) => items.delete(name) }
}

/** token is the bearer token of this tab: gone with it, and in no URL, log or cookie. */
export const token = {
  get: () => kept.getItem(tokenKey) ?? '',
  set: (text) => (text ? kept.setItem(tokenKey, text) : kept.removeItem(tokenKey)),
}

export const gateway = new Gateway({ token: () => token.get(), open: sharedStream })

/** request makes a request: {status, headers, text}. It throws a Refused for every status but 2xx, and if there is no answer. */
export function request(path, { accept = 'application/json', headers, ...options } = {}) {
  return gateway.request(path, { ...options, headers: { Accept: accept, ...headers } })
}

/** get is the JSON of an answer. */
export const get = async (path, options) => parse((await request(path, options)).text)

/** newest is the newest revision of etcd, asked for once for all tabs. */
export const newest = () => sharedCount(gateway)

/** counted is how many items the list at a path has; with a revision that newest() has returned, counted once for all tabs. */
export const counted = (path, revision) => sharedCount(gateway, path, revision)
