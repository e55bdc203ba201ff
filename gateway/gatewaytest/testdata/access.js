// accessFaults finds what of WCAG 2.2 (A and AA) a page breaks, as far as a program sees it: "rule: element: what is wrong".
// It returns an expression for the test that evaluates this file.
(() => {
  // Colours and places are those at the end of what moves now. A test that wants another moment pauses it.
  for (const each of document.getAnimations()) if (each.playState === 'running' && each.effect.getTiming().iterations === 1) each.finish()
  const faults = []
  const root = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document.body // the rest of the page is inert below a modal dialog
  const nameOf = (e) => e.tagName.toLowerCase() + (e.id ? '#' + e.id : '') + (e.className && typeof e.className === 'string' ? '.' + e.className.trim().split(/\s+/).join('.') : '')
  const fault = (rule, e, text) => faults.push(`${rule}: ${nameOf(e)}: ${text}`)
  const visible = (e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: false }) && e.getClientRects().length > 0 && !e.closest('.unseen, [aria-hidden=true]')
  const all = (selector) => [...root.querySelectorAll(selector)].filter(visible)

  // Colours

  const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true })
  const colours = new Map()
  const rgba = (text) => {
    if (!colours.has(text)) {
      canvas.clearRect(0, 0, 1, 1)
      canvas.fillStyle = text
      canvas.fillRect(0, 0, 1, 1)
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data
      colours.set(text, [r, g, b, a / 255])
    }
    return colours.get(text)
  }
  const over = (top, below, alpha = top[3]) => [0, 1, 2].map((i) => top[i] * alpha + below[i] * (1 - alpha)).concat(1)
  const luminance = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0)
  const contrast = (a, b) => {
    const [x, y] = [luminance(a), luminance(b)].sort((m, n) => n - m)
    return (x + 0.05) / (y + 0.05)
  }
  const groundOf = (e) => {
    const layers = []
    for (let at = e; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor)
      if (colour[3] > 0) layers.push(colour)
      if (colour[3] === 1) break
    }
    return layers.reduceRight((below, layer) => over(layer, below), rgba('canvas'))
  }
  const opacityOf = (e) => {
    let opacity = 1
    for (let at = e; at; at = at.parentElement) opacity *= Number(getComputedStyle(at).opacity)
    return opacity
  }

  const checkContrast = (e, text, style) => {
    if (e.closest(':disabled, [aria-disabled=true]')) return
    const ground = groundOf(e)
    const colour = rgba(style.color)
    const ratio = contrast(over(colour, ground, colour[3] * opacityOf(e)), ground)
    const size = parseFloat(style.fontSize)
    const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5
    if (ratio < least) fault('contrast', e, `${ratio.toFixed(2)} of "${text.trim().slice(0, 30)}", want ${least}`)
  }
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const e = node.parentElement
    if (node.data.trim() && visible(e) && !e.closest('option, datalist')) checkContrast(e, node.data, getComputedStyle(e))
  }
  for (const e of all('input[placeholder]')) if (!e.value) checkContrast(e, e.placeholder, { ...getComputedStyle(e), color: getComputedStyle(e, '::placeholder').color, fontSize: getComputedStyle(e).fontSize, fontWeight: '400' })
  for (const e of all('input:not([type=range], [type=checkbox], :disabled), select:not(:disabled), textarea')) { // the part that says where to type
    const style = getComputedStyle(e)
    if (style.borderBottomWidth === '0px' || e.closest('.palette')) continue
    const ratio = contrast(over(rgba(style.borderBottomColor), groundOf(e.parentElement)), groundOf(e.parentElement))
    if (ratio < 3) fault('contrast of parts', e, `${ratio.toFixed(2)} of the border, want 3`)
  }

  // Names: the test takes those of the browser's accessibility tree; here what they refer to.

  for (const e of root.querySelectorAll('[aria-labelledby], [aria-describedby], [aria-controls], [aria-activedescendant], label[for], output[for]')) {
    for (const attribute of ['aria-labelledby', 'aria-describedby', 'aria-controls', 'aria-activedescendant', 'for']) {
      for (const id of (e.getAttribute(attribute) ?? '').split(/\s+/).filter(Boolean)) if (!document.getElementById(id)) fault('names', e, `${attribute} names #${id}, which does not exist`)
    }
  }
  const ids = [...document.querySelectorAll('[id]')].map((e) => e.id)
  for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) fault('names', document.getElementById(id), 'its id is not unique')
  for (const e of root.querySelectorAll('img:not([alt])')) fault('names', e, 'it has no alt')

  // Roles

  const parents = { treeitem: ['tree', 'group'], option: ['listbox', 'group'], gridcell: ['row'], columnheader: ['row'], row: ['grid', 'rowgroup', 'table', 'treegrid'], tab: ['tablist'], menuitem: ['menu', 'menubar', 'group'] }
  const required = { slider: ['aria-valuenow'], separator: ['aria-valuenow', 'aria-valuemin', 'aria-valuemax'], combobox: ['aria-expanded', 'aria-controls'], tab: ['aria-selected'], option: ['aria-selected'], checkbox: ['aria-checked'], switch: ['aria-checked'] }
  const known = new Set(['alert', 'alertdialog', 'button', 'cell', 'checkbox', 'columnheader', 'combobox', 'dialog', 'document', 'feed', 'form', 'grid', 'gridcell', 'group', 'img', 'link', 'list', 'listbox', 'listitem', 'log', 'main', 'menu', 'menubar', 'menuitem', 'menuitemcheckbox', 'menuitemradio', 'navigation', 'none', 'note', 'option', 'presentation', 'progressbar', 'radio', 'radiogroup', 'region', 'row', 'rowgroup', 'rowheader', 'search', 'searchbox', 'separator', 'slider', 'spinbutton', 'status', 'switch', 'tab', 'table', 'tablist', 'tabpanel', 'textbox', 'timer', 'toolbar', 'tooltip', 'tree', 'treegrid', 'treeitem'])
  for (const e of all('[role]')) {
    const role = e.getAttribute('role')
    if (!known.has(role)) fault('roles', e, `there is no role ${role}`)
    if (parents[role]) {
      let parent = e.parentElement
      while (parent && ((!parent.getAttribute('role') && parent !== document.body) || ['none', 'presentation'].includes(parent.getAttribute('role')))) parent = parent.parentElement
      if (!parents[role].includes(parent?.getAttribute('role'))) fault('roles', e, `${role} is in ${parent ? nameOf(parent) : 'nothing'}, want one of ${parents[role]}`)
    }
    for (const attribute of required[role] ?? []) if (!e.hasAttribute(attribute) && (role !== 'separator' || e.tabIndex >= 0)) fault('roles', e, `it has no ${attribute}`)
  }
  const interactive = 'a[href], button, input, select, textarea, summary, [role=button], [role=link], [role=tab], [role=menuitem], [role=checkbox], [role=switch]'
  for (const e of all(interactive)) {
    const outer = e.parentElement.closest(interactive)
    if (outer && root.contains(outer)) fault('roles', e, `it is a control in ${nameOf(outer)}`)
  }
  for (const e of all('ul, ol')) {
    const wrong = [...e.children].find((child) => !['LI', 'SCRIPT', 'TEMPLATE'].includes(child.tagName))
    if (wrong) fault('roles', wrong, 'it is in a list and no li')
  }
  for (const e of all('dl')) for (const child of e.children) if (!['DT', 'DD', 'DIV'].includes(child.tagName)) fault('roles', child, 'it is in a dl')
  if (root === document.body) {
    for (const landmark of ['main', 'nav, [role=navigation]', 'header']) if (document.querySelectorAll(landmark).length !== 1) fault('roles', document.body, `${document.querySelectorAll(landmark).length} of ${landmark}, want 1`)
    if (document.querySelectorAll('h1').length !== 1) fault('roles', document.body, `${document.querySelectorAll('h1').length} h1, want 1`)
  }
  let level = 0
  for (const e of all('h1, h2, h3, h4')) {
    const next = Number(e.tagName[1])
    if (level && next > level + 1) fault('roles', e, `a heading of level ${next} after one of ${level}`)
    level = next
  }
  if (!document.documentElement.lang || !document.title) fault('names', document.documentElement, 'it has no lang, or no title')

  // Focus order: without tabindex the order is that of the document

  for (const e of root.querySelectorAll('[tabindex]')) if (e.tabIndex > 0) fault('focus order', e, `tabindex ${e.tabIndex}`)

  // Target size: 24 px, or 24 px away from every other target

  const targets = all(interactive + ', [role=treeitem], [role=option], [role=separator], .row[data-id]').filter((e) => !e.disabled && e.type !== 'hidden' && !e.closest('[inert]'))
  const boxOf = (e) => { // with a label, which is a part of its target; with what is stretched over its parent
    const box = (e.closest('label') ?? e).getBoundingClientRect()
    const after = getComputedStyle(e, '::after')
    return after.position === 'absolute' && after.inset === '0px' ? e.closest('li').getBoundingClientRect() : box
  }
  for (const e of targets) {
    const box = boxOf(e)
    if (box.width >= 23.5 && box.height >= 23.5) continue
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2]
    const near = targets.find((other) => {
      const o = boxOf(other)
      return other !== e && !e.contains(other) && !other.contains(e) && Math.hypot(Math.max(o.x - x, 0, x - o.right), Math.max(o.y - y, 0, y - o.bottom)) < 12
    })
    if (near) fault('target size', e, `${Math.round(box.width)} × ${Math.round(box.height)} px, near ${nameOf(near)}`)
  }

  // Reflow: nothing but tables and texts of programs scrolls in two directions

  const { scrollingElement } = document
  if (scrollingElement.scrollWidth > innerWidth || scrollingElement.scrollHeight > innerHeight) fault('reflow', scrollingElement, `${scrollingElement.scrollWidth} × ${scrollingElement.scrollHeight} px in ${innerWidth} × ${innerHeight}`)
  for (const e of all('button, input, select, h1')) {
    const box = e.getBoundingClientRect()
    if (e.closest('.skip, .events, .tree, .table, [role=tabpanel], pre, .lines, .strip')) continue
    if (box.right > innerWidth + 1 || box.left < -1) fault('reflow', e, `from ${Math.round(box.left)} to ${Math.round(box.right)} px in ${innerWidth}`)
  }
  return faults
})()
