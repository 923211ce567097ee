// Light or dark: as the system has it, until the reader chooses.

export type Theme = 'auto' | 'light' | 'dark'

const order: Theme[] = ['auto', 'light', 'dark']
const key = 'gobench.theme'

export const next = (t: Theme): Theme => order[(order.indexOf(t) + 1) % order.length]!

/** Returns what the reader chose on this machine before; auto if nothing is stored. */
export function remembered(): Theme {
  try {
    const t = localStorage.getItem(key)
    return order.find((o) => o === t) ?? 'auto'
  } catch {
    return 'auto' // a browser that keeps nothing
  }
}

/** Shows the page in a theme; auto is that of the system. */
export function apply(t: Theme) {
  if (t === 'auto') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = t
}

/** Stores the theme on this machine, if the browser allows that. */
export function remember(t: Theme) {
  try {
    localStorage.setItem(key, t)
  } catch {
    // a browser that keeps nothing
  }
}
