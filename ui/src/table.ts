// Tables whose columns sort by their heads.

import { h } from './dom.ts'

export interface Column<T> {
  name: string
  title?: string // what it means
  show: (row: T) => string | Node
  by?: (row: T) => number | string | undefined // what it sorts by; none: it does not
  text?: boolean // left, not a number
}

/**
 * Returns a table in a region that scrolls, with the rows in the given order. The head of
 * a column with by sorts it, if there are two rows or more: numbers the greatest first,
 * text from A.
 */
export function table<T>(caption: string, columns: Column<T>[], rows: T[]): HTMLElement {
  const body = h('tbody')
  const lines = rows.map((row) => {
    const line = h('tr')
    columns.forEach((c, i) => {
      line.append(h(i === 0 ? 'th' : 'td', { class: c.text ? 'text' : 'number', scope: i === 0 ? 'row' : undefined }, c.show(row)))
    })
    return { row, line }
  })
  body.append(...lines.map((l) => l.line))
  const head = h('tr')
  const cells: HTMLElement[] = []
  for (const c of columns) {
    const cell = h('th', { scope: 'col', class: c.text ? 'text' : 'number', title: c.title })
    cells.push(cell)
    head.append(cell)
    if (!c.by || rows.length < 2) {
      cell.append(c.name)
      continue
    }
    const by = c.by
    cell.append(
      h('button', { type: 'button', click: () => {
        const now = cell.getAttribute('aria-sort')
        const up = now === null ? c.text === true : now === 'descending'
        for (const other of cells) other.removeAttribute('aria-sort')
        cell.setAttribute('aria-sort', up ? 'ascending' : 'descending')
        body.append(...[...lines].sort((a, b) => (up ? 1 : -1) * compare(by(a.row), by(b.row))).map((l) => l.line))
      } }, c.name),
    )
  }
  return h('div', { class: 'table', tabindex: 0, role: 'region', 'aria-label': caption }, h('table', {}, h('caption', {}, caption), h('thead', {}, head), body))
}

/**
 * Compares for sort: undefined before all else, numbers by size, and text, also with a
 * number, by the letters.
 */
export function compare(a: number | string | undefined, b: number | string | undefined): number {
  if (a === b) return 0
  if (a === undefined) return -1
  if (b === undefined) return 1
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return String(a).localeCompare(String(b), 'en')
}
