// One item, whole.

import { $, el, pretty, textOf } from './dom.js'

/** shown is a value less what nobody reads: who has managed which field. */
function shown(value) {
  if (!value?.metadata?.managedFields) return value
  const { managedFields, ...metadata } = value.metadata
  return { ...value, metadata }
}

/** Detail shows an item until it is closed; onBefore is called with the revision before its last change. */
export class Detail {
  item

  constructor(onBefore) {
    $('detail-close').addEventListener('click', () => this.close())
    $('detail-before').addEventListener('click', () => onBefore(this.item.revision - 1))
    $('detail-copy').addEventListener('click', () => {
      const { value } = this.item
      navigator.clipboard?.writeText(typeof value === 'string' ? value : JSON.stringify(value, null, 2))
    })
  }

  show(item) {
    this.item = item
    $('detail').hidden = false
    $('detail-title').textContent = item.id
    const facts = Object.entries(item.detail).filter(([, value]) => value !== undefined)
    $('detail-facts').replaceChildren(...facts.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, textOf(value)))))
    $('detail-value').replaceChildren(...pretty(shown(item.value)))
  }

  close() {
    this.item = undefined
    $('detail').hidden = true
  }
}
