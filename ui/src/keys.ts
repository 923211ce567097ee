import type { Timeline } from './timeline.ts'

/**
 * Changes the timeline, whose rows last row seconds, as a key says: arrows move the
 * cursor, + and - zoom around it, Escape shows all again. Returns false for other keys.
 */
export function steer(t: Timeline, key: string, row: number): boolean {
  const middle = t.at ?? (t.min + t.max) / 2
  const width = t.max - t.min
  const step = Math.max(row, width / 200)
  switch (key) {
    case 'ArrowLeft':
      t.move(Math.max(t.min, middle - step))
      return true
    case 'ArrowRight':
      t.move(Math.min(t.max, middle + step))
      return true
    case '+':
    case '=':
      t.zoom(middle - width / 4, middle + width / 4)
      return true
    case '-':
      t.zoom(middle - width, middle + width)
      return true
    case 'Escape':
      t.reset()
      t.move(null)
      return true
  }
  return false
}
