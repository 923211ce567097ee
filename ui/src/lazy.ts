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

function draw(e: Element) {
  const f = waiting.get(e)
  waiting.delete(e)
  observer?.unobserve(e)
  f?.()
}

/** Calls f when e comes near the screen. */
export function whenSeen(e: Element, f: () => void) {
  waiting.set(e, f)
  observer?.observe(e)
}

/** Calls all that waits, as before printing. */
export function drawAll() {
  for (const e of [...waiting.keys()]) draw(e)
}
