// What the gateway says of itself that keeps nothing from being served but is to be known, as that it serves data of others.

import { $ } from './dom.js'
import { request } from './api.js'

const kinds = ['claim', 'garbage-collector']

/** showProblems reads /readyz and shows the lines of the kinds above in a strip; an answer that says nothing of them leaves it empty. */
export async function showProblems() {
  let lines = []
  try {
    lines = (await request('/readyz?verbose', { accept: 'text/plain' })).text.split('\n')
  } catch { /* the status tells that there is no connection */ }
  const problems = lines.filter((line) => kinds.some((kind) => line.startsWith(`[!]${kind} `)))
  $('problems').textContent = problems.map((line) => line.slice(line.indexOf(' ') + 1)).join('; ')
  $('problems').hidden = problems.length === 0
}
