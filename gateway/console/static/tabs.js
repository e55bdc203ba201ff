// A row of tabs, as the ARIA practices have it: one of them is in the tab order, arrows choose another one.

import { el } from './dom.js'

/** tabList is tabs [id, label] of one panel: {element, chosen, choose(id), label(id, text)}. onChoose is called when the user has chosen one, also the one that is shown. */
export function tabList(tabs, panel, onChoose) {
  const buttons = new Map(tabs.map(([id, label]) => [id, el('button', { type: 'button', role: 'tab', id: 'tab-' + id, 'aria-controls': panel.id, onclick: () => pick(id) }, label)]))
  const ids = [...buttons.keys()]
  const list = { chosen: undefined }
  list.choose = (id) => {
    if (!buttons.has(id)) return
    list.chosen = id
    for (const [each, button] of buttons) {
      button.setAttribute('aria-selected', each === id)
      button.tabIndex = each === id ? 0 : -1
    }
    panel.setAttribute('aria-labelledby', 'tab-' + id)
  }
  list.label = (id, text) => { buttons.get(id).textContent = text }
  const pick = (id) => {
    list.choose(id)
    onChoose(id)
  }
  list.element = el('div', { class: 'object-tabs', role: 'tablist', 'aria-label': 'Views' }, ...buttons.values())
  list.element.addEventListener('keydown', (event) => {
    const at = ids.indexOf(list.chosen)
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1 + ids.length, Home: 0, End: ids.length - 1 }[event.key]
    if (to === undefined || event.altKey || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    event.stopPropagation()
    pick(ids[to % ids.length])
    buttons.get(list.chosen).focus()
  })
  list.choose(ids[0])
  return list
}
