// Colours of lines, which tell apart for colour-blind readers too and have their values
// for light and dark in CSS (--line-0 to --line-7), and the dashes that go with them: no
// line is known by its colour alone.

export const lineColours = 8

const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 5], [12, 4], [3, 6], [1, 4]]

export interface Style {
  colour: string // the name of a CSS variable
  dash: number[]
  width: number
}

/**
 * Returns the style of the i-th line of a chart. Colours repeat after 8 lines, with other
 * dashes.
 */
export function styleOf(i: number): Style {
  return { colour: `--line-${i % lineColours}`, dash: dashes[(i + Math.floor(i / lineColours)) % dashes.length]!, width: 1.5 }
}

/** Returns the current value of a CSS variable, as "#rrggbb"; it differs by light and dark. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim()
}

/** Returns the same with an opacity from 0 to 1. */
export function faint(name: string, share: number): string {
  return colour(name) + Math.round(share * 255).toString(16).padStart(2, '0') // colours are #rrggbb
}
