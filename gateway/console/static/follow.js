// Follows a source for as long as it is wanted: list, watch from there, and again from where it stopped.

import { Refused } from './api.js'

export const mostRows = 20_000
const shortest = 250 // ms to wait before the first try, and the longest
const longest = 5_000
const slice = 8 // ms of work at a time: the page must answer in between

const turn = new MessageChannel() // unlike timers, not slowed down in a tab that nobody sees
const turns = []
turn.port1.onmessage = () => turns.shift()()
const pause = () => new Promise((resolve) => {
  turns.push(resolve)
  turn.port2.postMessage(0)
})

const wait = (ms, signal) => new Promise((resolve) => {
  const done = () => {
    clearTimeout(timer)
    removeEventListener('online', done)
    resolve()
  }
  const timer = setTimeout(done, ms)
  addEventListener('online', done, { once: true })
  signal.addEventListener('abort', done, { once: true })
})

/**
 * follow runs until the signal is aborted, or the gateway refuses for good. It calls
 *   onState(name, detail): listing, live, reconnecting {error, delay, since}, expired {error}, refused {error}
 *   onList(list), when everything is as in this list now, and onFrame(frame) for each change after it.
 * After a lost connection it resumes at the last revision that it had completely; what comes again is the caller's to skip.
 */
export async function follow(source, { filter, signal, onState, onList, onFrame }) {
  let since
  let failures = 0
  while (!signal.aborted) {
    try {
      if (since === undefined) {
        onState('listing')
        const list = await source.list({ filter, signal, most: mostRows })
        if (signal.aborted) return
        since = list.revision
        onList(list)
      }
      let started = performance.now()
      let open = false
      for await (const frames of source.watch({ since, filter, signal })) {
        if (!open) onState('live', { since })
        open = true
        for (const frame of frames) {
          if (signal.aborted) return
          if (frame.type === 'error') throw frame.error
          onFrame(frame)
          failures = 0
          if (frame.resume) since = Math.max(since, frame.revision)
          if (performance.now() - started > slice) {
            await pause()
            started = performance.now()
          }
        }
      }
      if (signal.aborted) return
      onState('reconnecting', { delay: shortest, since }) // the stream has ended in order
      await wait(shortest, signal)
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof Refused && error.gone) {
        since = undefined
        onState('expired', { error })
        await wait(shortest * 2 ** Math.min(failures++, 5), signal)
        continue
      }
      if (error instanceof Refused && [400, 401, 403, 404, 405, 406, 422].includes(error.status)) {
        onState('refused', { error })
        return
      }
      const delay = Math.max(Math.min(shortest * 2 ** failures, longest) * (0.75 + Math.random() / 2), (error.retryAfter ?? 0) * 1000)
      failures++
      onState('reconnecting', { error, delay, since })
      await wait(delay, signal)
    }
  }
}
