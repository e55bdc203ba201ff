// The tree: resources by group, and keys by level. Roving focus, as the ARIA practices have it for trees.

import { el } from './dom.js'
import { addressOf, Keys, nameOf, Resource } from './source.js'
import { get } from './api.js'
import { held } from './press.js'

const mostChildren = 500 // of a level, at a time

/**
 * A node: {id, label, kind: group|resource|prefix|key|note|more, source, count, load, children, open}. load() reads the children;
 * a node without it has none.
 */
export class Tree {
  #element
  #onPick
  #roots = []
  #focused
  #selected
  #drawing
  #typed = { text: '', at: 0 }

  constructor(element, onPick) {
    this.#element = element
    this.#onPick = onPick
    element.addEventListener('keydown', (event) => this.#key(event))
    element.addEventListener('click', (event) => {
      const item = event.target.closest('[role=treeitem]')
      if (item) this.#click(this.#find(item.dataset.id), event.target.closest('.twist'))
    })
  }

  /** load reads resources and keys; what cannot be read is a line that says why. It returns false if the gateway asks who we are. */
  async load() {
    const first = this.#roots.length === 0
    const kept = new Set(this.#visible().filter(([node]) => node.open).map(([node]) => node.id))
    const [resources, keys] = await Promise.all([resourceNodes(), levelNodes({ key: '/' })])
    this.#roots = [
      { id: 'resources', label: 'Resources', kind: 'group', root: true, open: true, children: resources },
      { id: 'keys', label: 'Keys', kind: 'group', root: true, open: true, children: keys },
    ]
    for (const node of first ? [] : [...this.#roots, ...resources]) node.open = kept.has(node.id)
    for (const id of kept) {
      const node = this.#find(id)
      if (node && !node.open) await this.#open(node)
    }
    this.draw()
    this.#count(resources)
    return ![...resources, ...keys].some((node) => node.closed === 401)
  }

  /** #count finds out of how many objects there are: one request after the other, since nobody waits for it. */
  async #count(groups) {
    for (const group of groups) {
      for (const node of group.children ?? []) {
        try {
          const page = await get(node.source.path + '?limit=1&pretty=0', { accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json' })
          node.count = page.items.length + (page.metadata.remainingItemCount ?? 0)
        } catch {
          node.count = undefined // perhaps it may not be listed: its table will say so
        }
      }
      this.draw()
    }
  }

  /** counted says how many objects a resource has; undefined: that is not known. */
  counted(source, count) {
    for (const [node] of this.#visible()) {
      if (node.kind !== 'resource' || node.source.hash !== source.hash || node.count === count) continue
      node.count = count
      this.#later()
    }
  }

  /** resource is the source of a resource that there is. */
  resource(path) {
    for (const group of this.#roots[0].children) {
      for (const node of group.children ?? []) if (node.source?.path === path) return node.source
    }
    return undefined
  }

  /** select marks what is followed, and opens the levels that lead to it. */
  async select(source) {
    this.#selected = source.node
    const { key } = source.key ?? {}
    let level = key && this.#roots[1]
    while (level) {
      level.open = true
      if (level.load && !level.children) level.children = await level.load()
      level = level.children?.find((node) => node.source?.prefix && key !== node.key && key.startsWith(node.key))
    }
    this.draw()
    this.#element.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' })
  }

  /** learn puts a key that has appeared, or has gone, into the levels that are open. */
  learn(type, kv) {
    if (kv.key === undefined) return
    let level = this.#roots[1]
    for (let at = '/'; level?.children; ) {
      let next = level.children.find((node) => node.key === kv.key || (node.source?.prefix && kv.key.startsWith(node.key)))
      if (next?.key === kv.key) {
        if (type === 'deleted') level.children = level.children.filter((node) => node !== next)
        break
      }
      if (!next) {
        const full = level.children.length >= mostChildren || level.children.some((node) => node.given || node.closed)
        if (type === 'deleted' || full || !kv.key.startsWith(at)) return
        const slash = kv.key.indexOf('/', at.length)
        next = keyNode({ key: slash < 0 ? kv.key : kv.key.slice(0, slash + 1) }, at)
        const children = level.children.filter((node) => node.kind !== 'note')
        const place = children.findIndex((node) => node.key > next.key)
        children.splice(place < 0 ? children.length : place, 0, next)
        level.children = children
      }
      level = next
      at = next.key
    }
    this.#later()
  }

  focus() {
    this.#element.querySelector('[tabindex="0"]')?.focus()
  }

  #later() {
    this.#drawing ??= setTimeout(this.draw, 400)
  }

  #visible() {
    const out = []
    const walk = (nodes, level, parent) => {
      for (const node of nodes) {
        out.push([node, level, parent])
        if (node.open && node.children) walk(node.children, level + 1, node)
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
    const selected = node.source !== undefined && node.source.node === this.#selected
    const item = el('li', {
      role: 'treeitem', class: node.kind + (node.root ? ' root' : '') + (node.count === 0 ? ' empty' : ''), 'data-id': node.id, 'aria-level': level,
      'aria-selected': selected, tabindex: node.id === this.#focused ? 0 : -1, 'aria-expanded': node.load || node.children ? Boolean(node.open) : undefined,
    }, el('span', { class: 'twist', 'aria-hidden': true }), el('span', { class: 'label', title: node.title }, node.label))
    item.style.setProperty('--level', level)
    if (node.count) item.append(el('span', { class: 'count' }, node.count.toLocaleString('en')))
    return item
  }

  async #open(node) {
    if (!node.load && !node.children) return
    node.open = true
    if (node.load) node.children = await node.load()
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
    if (node.source && !twist) {
      this.#onPick(node.source)
      if (!node.open) await this.#open(node)
    } else if (node.open) {
      this.#close(node)
    } else {
      await this.#open(node)
    }
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
      case 'ArrowDown': go(at + 1); break
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
      default:
        if (event.key.length !== 1 || event.key === '/' || event.key === '?' || !this.#type(event.key, visible, at)) return
    }
    event.preventDefault()
    event.stopPropagation()
  }

  /** #type goes to the next node that begins with what was typed. */
  #type(letter, visible, at) {
    const now = performance.now()
    this.#typed = { text: (now - this.#typed.at < 700 ? this.#typed.text : '') + letter.toLowerCase(), at: now }
    const order = [...visible.slice(at + (this.#typed.text.length > 1 ? 0 : 1)), ...visible.slice(0, at)]
    const found = order.find(([node]) => node.label.toLowerCase().startsWith(this.#typed.text))
    if (found) this.#focus(found[0].id)
    return found !== undefined
  }

  #focus(id) {
    this.#focused = id
    for (const item of this.#element.children) item.tabIndex = item.dataset.id === id ? 0 : -1
    const item = this.#element.querySelector('[tabindex="0"]')
    item?.focus({ preventScroll: true })
    item?.scrollIntoView({ block: 'nearest' })
  }
}

const note = (label, extra = {}) => ({ id: 'note:' + label, label, title: label, kind: 'note', ...extra })

function keyNode(kv, parent) {
  const name = nameOf(kv)
  const source = new Keys(kv)
  const label = name.startsWith(parent) ? name.slice(parent.length) : name
  const node = { id: 'key:' + addressOf(kv), label: label || name, title: name, kind: source.prefix ? 'prefix' : 'key', key: kv.key, source }
  if (source.prefix) node.load = () => levelNodes(kv)
  return node
}

/** levelNodes reads one level of keys. Where it is closed, the keys that are open stand in its place. */
async function levelNodes(kv, next = '') {
  try {
    const page = await get('/v1/keys?' + addressOf(kv) + `&depth=1&keysOnly=1&pretty=0&limit=${mostChildren}` + next)
    const nodes = page.items.map((item) => keyNode(item, nameOf(kv)))
    if (page.continue) nodes.push({ id: 'more:' + addressOf(kv) + next, label: 'more…', kind: 'more', more: () => levelNodes(kv, '&continue=' + page.continue) })
    return nodes.length ? nodes : [note('no keys')]
  } catch (error) {
    const open = (error.body?.open ?? []).filter((key) => key.startsWith(kv.key ?? ''))
    return open.length ? open.map((key) => ({ ...keyNode({ key }, ''), given: true })) : [note(error.message, { closed: error.status ?? true })]
  }
}

async function resourceNodes() {
  try {
    const [core, named] = await Promise.all([get('/api?pretty=0'), get('/apis?pretty=0')])
    const versions = [...core.versions.map((version) => ['/api/' + version, version]),
      ...named.groups.flatMap((group) => group.versions.map(({ groupVersion }) => ['/apis/' + groupVersion, groupVersion]))]
    const nodes = await Promise.all(versions.map(async ([path, label], index) => {
      const { resources } = await get(path + '?pretty=0')
      const children = resources.filter((each) => each.verbs.includes('watch')).sort((a, b) => (a.name < b.name ? -1 : 1)).map((each) => ({
        id: path + '/' + each.name, label: each.name, title: each.kind, kind: 'resource', source: new Resource(path + '/' + each.name, each.namespaced),
      }))
      return { id: path, label, kind: 'group', children, open: index === 0 }
    }))
    return nodes.filter((node) => node.children.length)
  } catch (error) {
    return [note(error.message, { closed: error.status ?? true })]
  }
}
