// What the gateway says of itself that keeps nothing from being served but is to be known, as that it serves data of others.

import { $ } from './dom.js'
import { request } from './api.js'

const kinds = ['claim', 'garbage-collector']

/** showProblems reads /readyz, which need not be ready, and shows the lines of the kinds above in a strip, and why values cannot be decrypted; an
 * answer that says nothing of them leaves it empty. */
export async function showProblems() {
  // Without a connection there is no text, and the status tells it.
  const { text } = await request('/readyz?verbose', { accept: 'text/plain' }).catch((error) => error)
  const lines = (text ?? '').split('\n')
  const problems = lines.filter((line) => line.startsWith('[-]decryption ') || kinds.some((kind) => line.startsWith(`[!]${kind} `)))
  $('problems').textContent = problems.map((line) => line.slice(line.indexOf(' ') + 1)).join('; ')
  $('problems').hidden = problems.length === 0
}
