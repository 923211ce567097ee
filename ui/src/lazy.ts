// Drawing what is on the screen first: a page of fifty charts opens at once.

const waiting = new Map<Element, () => void>()

const observer =
  typeof IntersectionObserver === 'undefined'
    ? undefined
    : new IntersectionObserver(
        (entries) => {
          for (const e of entries) if (e.isIntersecting) draw(e.target)
        },
        { rootMargin: '400px' },
      )

/** Calls what waits for e, once. */
function draw(e: Element) {
  const f = waiting.get(e)
  waiting.delete(e)
  observer?.unobserve(e)
  f?.()
}

/**
 * Calls f once, when e comes near the screen, or at drawAll. A second f for e replaces the
 * first. Without IntersectionObserver only drawAll calls it.
 */
export function whenSeen(e: Element, f: () => void) {
  waiting.set(e, f)
  observer?.observe(e)
}

/** Calls all that waits, one after the other while the page is idle: who scrolls, or takes a picture of the whole page, finds it drawn. */
export function drawInTurn() {
  const e = [...waiting.keys()].find((x) => x.getClientRects().length > 0) // what is folded is drawn when it is opened
  if (!e) return
  const next = () => {
    draw(e)
    drawInTurn()
  }
  if (typeof requestIdleCallback === 'undefined') setTimeout(next)
  else requestIdleCallback(next)
}

/** Calls all that waits at once, as before printing. */
export function drawAll() {
  for (const e of [...waiting.keys()]) draw(e)
}
