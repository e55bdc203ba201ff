// The lists of namespaces, resources and keys. Roving focus, as the ARIA practices have it for trees.

import { el } from './dom.js'
import { countOf, learn, levelNodes, namespaceNode, namespaceNodes, resourceNodes } from './catalog.js'
import { newest } from './api.js'
import { held } from './press.js'

const mostCounted = 60 // prefixes of keys, and namespaces
const pause = 3_000 // ms between two looks at the revision; the lists are counted again where it has changed

/** Tree shows nodes of the catalog. onPick(source) is called for what can be followed, onNamespace(name) for a namespace, '' for all. */
export class Tree {
  scope = '' // the namespace of the resources that are counted and chosen
  #element
  #pick
  #roots = []
  #focused
  #selected
  #current // the source that is followed
  #drawing
  #text = '' // of the filter
  #revision
  #counting = false

  constructor(element, { onPick, onNamespace }) {
    this.#element = element
    this.#pick = (node) => (node.kind === 'namespace' ? onNamespace(node.namespace) : onPick(this.#scoped(node.source)))
    element.setAttribute('aria-multiselectable', 'true')
    element.addEventListener('keydown', (event) => this.#key(event))
    element.addEventListener('click', (event) => {
      const item = event.target.closest('[role=treeitem]')
      if (item) this.#click(this.#find(item.dataset.id), event.target.closest('.twist'))
    })
    setInterval(() => this.#recount(), pause)
  }

  #scoped(source) {
    return source.namespaced ? source.within(this.scope) : source
  }

  /** load reads everything; what cannot be read is a line that says why. It returns the error if the gateway asks who we are. */
  async load() {
    const first = this.#roots.length === 0
    const kept = new Set(this.#visible().filter(([node]) => node.open).map(([node]) => node.id))
    const [namespaces, resources, keys] = await Promise.all([namespaceNodes(), resourceNodes(), levelNodes({ key: '/' })])
    const root = (id, label, children) => ({ id, label, kind: 'root', open: first || kept.has(id), children })
    this.#roots = [root('namespaces', 'Namespaces', namespaces), root('resources', 'Resources', resources), root('keys', 'Keys', keys)]
    if (this.scope) this.inNamespace(this.scope)
    for (const id of kept) {
      const node = this.#find(id)
      if (node && !node.open) await this.#open(node)
    }
    this.draw()
    this.#revision = undefined
    this.#recount()
    return [...resources, ...keys].find((node) => node.error?.status === 401)?.error
  }

  /** #recount counts again if etcd has changed: one request after the other, since nobody waits for it. */
  async #recount() {
    if (this.#counting || document.hidden || !this.#roots.length) return
    this.#counting = true
    try {
      const revision = await newest().catch(() => 'unknown')
      if (revision === this.#revision) return
      if (this.#revision !== undefined) await this.#refresh()
      const scope = this.scope
      const current = this.#current?.namespaced ? this.#current : undefined // of which the objects of a namespace are counted
      const nodes = this.#visible().map(([node]) => node)
      const some = nodes.filter((node) => node.kind === 'prefix' || (node.kind === 'namespace' && current)).slice(0, mostCounted)
      for (const node of [...nodes.filter((each) => each.kind === 'resource'), ...some]) {
        if (scope !== this.scope || document.hidden) return
        const count = node.kind === 'namespace' ? await countOf(current.within(''), node.namespace, revision) : await countOf(node.source, scope, revision)
        if (count === node.count) continue
        node.count = count
        this.#later()
      }
      this.#revision = revision
    } finally {
      this.#counting = false
    }
  }

  /** #refresh reads namespaces and resources again, and keeps what has been counted. */
  async #refresh() {
    const lists = await Promise.all([namespaceNodes(), resourceNodes()])
    for (const [root, nodes] of lists.map((list, i) => [this.#roots[i], list])) {
      if (nodes.some((node) => node.error)) continue
      const known = new Map(root.children.map((node) => [node.id, node]))
      if (nodes.length !== known.size || nodes.some(({ id }) => !known.has(id))) root.children = nodes.map((node) => known.get(node.id) ?? node)
    }
    if (this.scope) this.inNamespace(this.scope)
  }

  /** counted says how many items the followed source has; undefined: that is not known. */
  counted(source, count) {
    if (count === undefined) return
    for (const [node] of this.#visible()) {
      const mine = node.kind === 'namespace' ? source.namespaced && node.namespace === source.namespace : node.source?.node === source.node && (source.namespace ?? '') === (source.namespaced ? this.scope : '')
      if (!mine || node.count === count) continue
      node.count = count
      this.#later()
    }
  }

  /** resource is the node of a resource that there is. */
  resource(path) {
    return this.resources().find((node) => node.id === path)
  }

  resources() {
    return (this.#roots[1]?.children ?? []).filter((node) => node.kind === 'resource')
  }

  namespaces() {
    return (this.#roots[0]?.children ?? []).filter((node) => node.namespace).map((node) => node.namespace)
  }

  /** inNamespace counts and chooses resources in a namespace from now on, one that was not listed too. */
  inNamespace(name) {
    const list = this.#roots[0]?.children
    if (name && list && !list.some((node) => node.namespace === name)) list.push(namespaceNode(name))
    if (this.scope !== name) {
      for (const node of this.resources()) if (node.source.namespaced) node.count = undefined
      this.#revision = undefined
    }
    this.scope = name
    this.#later()
  }

  /** select marks what is followed, and opens the levels that lead to it. */
  async select(source) {
    if (this.#current?.node !== source.node) {
      for (const node of this.#roots[0]?.children ?? []) node.count = undefined
      this.#revision = undefined
    }
    this.#current = source
    this.#selected = source.node
    if (source.namespaced) this.inNamespace(source.namespace ?? '')
    const { key } = source.key ?? {}
    let level = key && this.#roots[2]
    while (level) {
      level.open = true
      if (level.load && !level.children) level.children = await level.load()
      level = level.children?.find((node) => node.source?.prefix && key !== node.key && key.startsWith(node.key))
    }
    this.draw()
    this.#element.querySelector('[aria-selected="true"]:not(.namespace)')?.scrollIntoView({ block: 'nearest' })
  }

  /** learn puts a key that has appeared, or has gone, into the levels that are open. */
  learn(type, kv) {
    if (learn(this.#roots[2], type, kv)) this.#later()
  }

  focus() {
    this.#element.querySelector('[tabindex="0"]')?.focus()
  }

  /** filter shows what contains a text only; it opens the roots, and returns the first match that can be chosen. */
  filter(text) {
    this.#text = text.trim().toLowerCase()
    this.draw()
    return this.#text ? this.#visible().map(([node]) => node).find((node) => node.kind !== 'root') : undefined
  }

  choose(node) {
    this.#click(node)
  }

  #later() {
    this.#drawing ??= setTimeout(this.draw, 400)
  }

  #matches(node) {
    return [node.label, ...(node.names ?? [])].some((name) => name.toLowerCase().includes(this.#text)) || (node.open && node.children?.some((child) => this.#matches(child)))
  }

  #visible() {
    const out = []
    const walk = (nodes, level, parent) => {
      for (const node of nodes) {
        const root = node.kind === 'root'
        if (this.#text && !(root ? node.children.some((child) => this.#matches(child)) : this.#matches(node))) continue
        out.push([node, level, parent])
        if (node.children && (node.open || (root && this.#text))) walk(node.children, level + 1, node)
      }
    }
    walk(this.#roots, 1)
    return out
  }

  #find(id) {
    return this.#visible().find(([node]) => node.id === id)?.[0]
  }

  draw = () => {
    if (held(this.draw)) return
    clearTimeout(this.#drawing)
    this.#drawing = undefined
    const visible = this.#visible()
    if (!visible.some(([node]) => node.id === this.#focused)) this.#focused = visible[0]?.[0].id
    const had = this.#element.contains(document.activeElement)
    this.#element.replaceChildren(...visible.map(([node, level]) => this.#item(node, level)))
    if (had) this.#element.querySelector('[tabindex="0"]')?.focus({ preventScroll: true })
  }

  #item(node, level) {
    const selected = node.kind === 'namespace' ? node.namespace === this.scope : node.source !== undefined && node.source.node === this.#selected
    const item = el('li', {
      role: 'treeitem', class: node.kind + (node.count === 0 ? ' none' : ''), 'data-id': node.id, 'aria-level': level,
      'aria-selected': node.source || node.kind === 'namespace' ? selected : undefined, tabindex: node.id === this.#focused ? 0 : -1,
      'aria-expanded': node.load || node.children ? Boolean(node.open || (node.kind === 'root' && this.#text)) : undefined,
    }, node.load || node.children ? el('span', { class: 'twist', 'aria-hidden': true }) : undefined, el('span', { class: 'label', title: node.title }, node.label))
    item.style.setProperty('--level', level)
    if (node.group) item.append(el('span', { class: 'api' }, node.group))
    if (node.count !== undefined) item.append(el('span', { class: 'count' }, node.count.toLocaleString('en')))
    return item
  }

  async #open(node) {
    if (!node.load && !node.children) return
    node.open = true
    if (node.load) node.children = await node.load()
    this.#revision = undefined // count what has appeared
    this.draw()
  }

  #close(node) {
    node.open = false
    this.draw()
  }

  async #click(node, twist) {
    if (!node) return
    this.#focused = node.id
    if (node.kind === 'more') {
      const parent = this.#visible().find(([each]) => each === node)[2]
      parent.children = [...parent.children.slice(0, -1), ...await node.more()]
      return this.draw()
    }
    if ((node.source || node.kind === 'namespace') && !twist) {
      this.#pick(node)
      if (!node.open) await this.#open(node)
      return this.draw()
    }
    if (node.open) this.#close(node)
    else await this.#open(node)
    this.focus()
  }

  #key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return
    const visible = this.#visible()
    const at = visible.findIndex(([node]) => node.id === this.#focused)
    if (at < 0) return
    const [node, , parent] = visible[at]
    const go = (index) => this.#focus(visible[Math.min(visible.length - 1, Math.max(0, index))][0].id)
    switch (event.key) {
      case 'j':
      case 'ArrowDown': go(at + 1); break
      case 'k':
      case 'ArrowUp': go(at - 1); break
      case 'Home': go(0); break
      case 'End': go(visible.length - 1); break
      case 'ArrowRight':
        if (node.open && node.children?.length) go(at + 1)
        else this.#open(node)
        break
      case 'ArrowLeft':
        if (node.open) this.#close(node)
        else if (parent) this.#focus(parent.id)
        break
      case 'Enter':
      case ' ': this.#click(node); break
      default: return
    }
    event.preventDefault()
    event.stopPropagation()
  }

  #focus(id) {
    this.#focused = id
    for (const item of this.#element.children) item.tabIndex = item.dataset.id === id ? 0 : -1
    const item = this.#element.querySelector('[tabindex="0"]')
    item?.focus({ preventScroll: true })
    item?.scrollIntoView({ block: 'nearest' })
  }
}
