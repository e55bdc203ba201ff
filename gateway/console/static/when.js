// Which state of an item is shown: the live one, one of the past, or the last one of an item that was deleted.

import { el } from './dom.js'
import { timeOfChange, timeText } from './history.js'

/** drawWhen says it in an element. missing is why there is no state of the past revision; onLive is called to go back to the live one. */
export function drawWhen(element, { item, past, deleted, missing, timeOf, onLive }) {
  const at = (revision, known = timeOf(revision)) => `revision ${revision.toLocaleString('en')}${known ? ', ' + timeText(known) : ''}`
  const state = at(item.revision, timeOfChange({ item, compacted: true }, timeOf))
  element.classList.toggle('past', past !== undefined)
  element.classList.toggle('gone', past === undefined && deleted !== undefined)
  if (past !== undefined) {
    element.replaceChildren(el('span', {}, `The past, as of ${at(past)}. ${missing ? missing + ' What is shown' : 'This state'} is of ${state}.`),
      el('button', { type: 'button', 'data-action': 'live', onclick: onLive }, 'Back to live'))
  } else if (deleted !== undefined) {
    element.replaceChildren(`Deleted at ${at(deleted)}. This is its last state, of ${state}.`)
  } else {
    element.replaceChildren(`Live: ${state}`)
  }
}
