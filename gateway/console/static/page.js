// What surrounds the data: theme, token, the curve of events.

import { $ } from './dom.js'
import { token } from './api.js'
import { announce } from './status.js'

const themes = ['system', 'light', 'dark']

/** nextTheme takes a theme, or the next one. */
export function nextTheme(theme) {
  const { dataset } = document.documentElement
  showTheme(themes.includes(theme) ? theme : themes[(themes.indexOf(dataset.theme ?? 'system') + 1) % themes.length])
}

function showTheme(theme) {
  const { dataset } = document.documentElement
  if (theme === 'system') delete dataset.theme
  else dataset.theme = theme
  try {
    localStorage.setItem('revtail.theme', theme)
  } catch { /* without storage it lasts as long as the page */ }
  $('theme-button').textContent = 'Theme: ' + theme
}


/** surround wires it; onToken is called when there is another token. */
export function surround(onToken) {
  $('theme-button').addEventListener('click', () => nextTheme())
  showTheme(document.documentElement.dataset.theme ?? 'system')
  $('token-button').addEventListener('click', () => askToken())
  $('token-forget').addEventListener('click', () => {
    token.set('')
    $('token-dialog').close('forgotten')
  })
  $('token-cancel').addEventListener('click', () => $('token-dialog').close('cancel'))
  $('token-dialog').addEventListener('close', () => {
    const given = $('token').value.trim()
    const { returnValue } = $('token-dialog')
    $('token').value = ''
    if (returnValue === 'use' && given) token.set(given)
    showToken()
    if (returnValue === 'forgotten' || (returnValue === 'use' && given)) {
      announce(given ? 'the token is tried' : 'the token is forgotten')
      onToken()
    }
  })
  showToken()
}

function showToken() {
  $('token-button').textContent = token.get() ? 'Token: set' : 'Token'
}

/** askToken opens the dialog. With an error, a 401, it says why the token that was sent is refused. */
export function askToken(error) {
  const sent = token.get()
  const refused = error && sent
  $('token-refused').hidden = !error
  $('token-refused').textContent = !error ? '' : refused
    ? `The gateway refused this token (${sent.length} characters): ${error.message}. Check that it is whole, has not expired, and is one of this gateway.`
    : `The gateway asks who you are: ${error.message}.`
  $('token-forget').disabled = !sent
  if (!$('token-dialog').open) {
    $('token-dialog').returnValue = ''
    $('token-dialog').showModal()
  }
  $('token').focus()
}

/** Rate counts events by the second, and draws the last minute. */
export class Rate {
  #seconds = new Array(60).fill(0)
  #bars

  constructor(svg) {
    this.#bars = this.#seconds.map((_, i) => {
      const bar = document.createElementNS('http://www.w3.org/2000/svg', 'rect')
      bar.setAttribute('x', i * 2)
      bar.setAttribute('width', 1.4)
      svg.append(bar)
      return bar
    })
    this.#draw()
    setInterval(() => {
      $('rate').textContent = this.#seconds.at(-1).toLocaleString('en')
      this.#draw()
      this.#seconds.push(0)
      this.#seconds.shift()
    }, 1000)
  }

  add(n) {
    this.#seconds[59] += n
  }

  #draw() {
    const top = Math.max(10, ...this.#seconds)
    this.#bars.forEach((bar, i) => {
      const height = this.#seconds[i] ? Math.max(2, (this.#seconds[i] / top) * 23) : 1
      bar.setAttribute('y', 24 - height)
      bar.setAttribute('height', height)
    })
  }
}
