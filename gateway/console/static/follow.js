// Follows a source for as long as it is wanted: list, watch from there, and again from where it stopped.

export const mostRows = 50_000
const slice = 8 // ms of work at a time: the page must answer in between

const turn = new MessageChannel() // unlike timers, not slowed down in a tab that nobody sees
const turns = []
turn.port1.onmessage = () => turns.shift()()
/** pause lets the page answer. */
export const pause = () => new Promise((resolve) => {
  turns.push(resolve)
  turn.port2.postMessage(0)
})

/**
 * follow runs until the signal is aborted, or the gateway refuses for good. It calls
 *   onState(name, detail): listing, live, reconnecting {error, delay, since}, expired {error}, refused {error}
 *   onList(list), when everything is as in this list now, and onFrame(frame) for each change after it.
 * After a lost connection it resumes at the last revision that it had completely. A filter is CEL, or {text, cel}.
 */
export async function follow(source, { filter, labels, signal, onState, onList, onFrame }) {
  let started = performance.now()
  try {
    for await (const { list, frame } of source.watch({ filter, labels, signal, most: mostRows, onState })) {
      if (signal.aborted) return
      if (list) onList(list)
      else onFrame(frame)
      if (performance.now() - started <= slice) continue
      await pause()
      started = performance.now()
    }
  } catch (error) {
    if (!signal.aborted) onState('refused', { error })
  }
}
