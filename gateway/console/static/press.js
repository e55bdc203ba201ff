// A row that is replaced between the press of a button and its release gets no click. While one is pressed, nothing is drawn.

const rows = '[role=treeitem], .row, .event'

let pressed = false
const waiting = new Set()

function release() {
  pressed = false
  setTimeout(() => { // after the click
    const draws = [...waiting]
    waiting.clear()
    for (const draw of draws) draw()
  })
}

addEventListener('pointerdown', (event) => { pressed = event.button === 0 && event.target.closest(rows) !== null }, true)
addEventListener('pointermove', (event) => { if (pressed && !(event.buttons & 1)) release() }, true) // it was released elsewhere
for (const end of ['pointerup', 'pointercancel']) addEventListener(end, () => { if (pressed) release() }, true)

/** held tells whether a row is pressed: then draw is called, once, when it is not any more. */
export function held(draw) {
  if (pressed) waiting.add(draw)
  return pressed
}
