// The state of the page in the URL: what is shown, so that a link shows the same in another tab.
//
// #key=/app/&filter=open&sort=-age&object=/app/a&tab=diff&change=4701&at=4711
// A source has its own fields (key, key64, resource, namespace); the others below are the view.

const view = ['filter', 'sort', 'columns', 'object', 'tab', 'compare', 'change', 'at']
const steps = ['object', 'at'] // a change of these is a step of the browser's history; a change of another replaces the entry
const longest = 4_000 // characters of one field: a longer one is left out, because browsers and chats cut long links

/** parse returns the fields of a fragment; a plus is a plus, because keys contain it. */
export function parse(hash) {
  return Object.fromEntries(new URLSearchParams(hash.replace(/^#/, '').replaceAll('+', '%2B')))
}

/** sidesText is a comparison {left, right} as a field of the URL; sidesOf reads it. */
export const sidesText = (sides) => sides && [sides.left, sides.right].map(encodeURIComponent).join(',')

export function sidesOf(text) {
  const [left, right] = (text ?? '').split(',').map(decodeURIComponent)
  return left && right ? { left, right } : undefined
}

/** Address is the fragment of the page. onChange(fields) is called when the user goes back or forward, or edits it. */
export class Address {
  #fields = {}
  #source = ''

  constructor(onChange) {
    addEventListener('hashchange', () => {
      if (location.hash.replace(/^#/, '') !== this.#text()) onChange(this.read())
    })
  }

  /** read takes the fields of the URL over. */
  read() {
    const all = parse(location.hash)
    this.#fields = {}
    for (const name of view) if (all[name]) this.#fields[name] = all[name]
    const source = Object.entries(all).filter(([name]) => !view.includes(name))
    this.#source = source.map(([name, value]) => name + '=' + encodeURIComponent(value)).join('&')
    return all
  }

  /** show writes what is shown: the hash of its source, and fields of the view; undefined removes a field. */
  show(source, fields) {
    const before = this.#fields
    const now = this.#source === source ? { ...before } : {}
    for (const [name, value] of Object.entries(fields)) {
      if (value === undefined || value === '' || String(value).length > longest) delete now[name]
      else now[name] = String(value)
    }
    const step = this.#source !== source || steps.some((name) => before[name] !== now[name])
    this.#source = source
    this.#fields = now
    const hash = '#' + this.#text()
    if (hash === location.hash) return
    if (step) history.pushState(null, '', hash)
    else history.replaceState(null, '', hash)
  }

  get(name) {
    return this.#fields[name]
  }

  #text() {
    const fields = view.filter((name) => this.#fields[name] !== undefined).map((name) => name + '=' + encodeURIComponent(this.#fields[name]))
    return [this.#source, ...fields].filter(Boolean).join('&')
  }
}
