// The health strip: for each signal of the generator's health a band over the time of
// the run, low where all was well, half high where it was amber, full where it was red.

import { drawn, spanOf, type Surroundings } from './chart.ts'
import { clockOf } from './clock.ts'
import { h } from './dom.ts'
import { whenSeen } from './lazy.ts'
import { colour } from './palette.ts'
import type { Level } from './series.ts'

/** What signals are called, in the order in which the strip has them; others follow. */
const names: Record<string, string> = {
  start_lag: 'Start lag',
  rate: 'Planned rate',
  cpu: 'CPU',
  neighbours: 'Other processes',
  cpu_pressure: 'CPU pressure',
  steal: 'CPU steal',
  throttled: 'CPU throttled',
  cpu_quota: 'CPU quota',
  scheduler: 'Scheduler',
  canary: 'Canary',
  gc_pause: 'GC pauses',
  gc_cpu: 'GC CPU',
  memory: 'Memory',
  memory_limit: 'Memory limit',
  swap_in: 'Swap',
  drops: 'Packet drops',
  link: 'Network card',
  local_fd: 'Open files',
  local_port: 'Local ports',
  clock_step: 'Clock',
}

/** Signals that the strip has even if all was well. */
const always = ['start_lag', 'cpu', 'scheduler', 'canary', 'gc_pause', 'memory']

/** A signal over the rows of a run; amber and red are the numbers of rows with that level. */
export interface Band {
  signal: string
  name: string
  levels: Level[]
  amber: number // rows
  red: number
}

/**
 * Returns the bands of the signals in health and of those in always, in the order of
 * names; other signals follow by their names. A signal that health lacks is at ease in all
 * rows.
 */
export function bands(health: Map<string, Level[]>, rows: number): Band[] {
  const signals = [...Object.keys(names).filter((s) => health.has(s) || always.includes(s)), ...[...health.keys()].filter((s) => !(s in names)).sort()]
  return signals.map((signal) => {
    const levels = health.get(signal) ?? new Array<Level>(rows).fill(0)
    return { signal, name: names[signal] ?? signal, levels, amber: levels.filter((l) => l === 1).length, red: levels.filter((l) => l === 2).length }
  })
}

/** Returns in how many rows a band was raised, as "red in 2, amber in 3", or "at ease". */
export function sayBand(b: Band): string {
  const parts = [b.red > 0 ? `red in ${b.red}` : '', b.amber > 0 ? `amber in ${b.amber}` : ''].filter((s) => s !== '')
  return parts.length > 0 ? parts.join(', ') : 'at ease'
}

const bandHeight = 18

/**
 * Returns the health strip. It draws itself when it comes near the screen, and then
 * follows the timeline and moves its cursor.
 */
export function strip(around: Surroundings): HTMLElement {
  const { series, timeline } = around
  const when = h('span', { class: 'when' })
  const all = bands(series.health, series.rows).map((band) => {
    const canvas = h('canvas', { class: 'band', height: bandHeight, role: 'img', 'aria-label': `${band.name}: ${sayBand(band)}` })
    const said = h('span', { class: band.red > 0 ? 'said red' : band.amber > 0 ? 'said amber' : 'said' }, sayBand(band))
    const row = h('div', { class: 'signal' }, h('span', { class: 'name' }, band.name), canvas, said)
    canvas.addEventListener('mousemove', (e) => {
      const share = e.offsetX / canvas.clientWidth
      timeline.move(timeline.min + share * (timeline.max - timeline.min))
    })
    canvas.addEventListener('mouseleave', () => timeline.move(null))
    canvas.addEventListener('dblclick', () => timeline.reset())
    return { band, canvas, row, said }
  })
  const from = h('span')
  const to = h('span')
  const draw = () => {
    for (const b of all) drawBand(b.canvas, b.band.levels, around)
    from.textContent = clockOf(timeline.min, timeline.max - timeline.min)
    to.textContent = clockOf(timeline.max, timeline.max - timeline.min)
  }
  const moved = () => {
    draw()
    const row = timeline.at === null ? -1 : rowAt(around, timeline.at)
    when.textContent = row < 0 ? '' : spanOf(series, row)
    for (const b of all) b.said.textContent = row < 0 ? sayBand(b.band) : ['at ease', 'amber', 'red'][b.band.levels[row]!]!
  }
  const element = h(
    'figure',
    { class: 'chart strip' },
    h('figcaption', {}, h('h3', {}, 'Signals'), when),
    h('div', { class: 'signals' }, ...all.map((b) => b.row), h('div', { class: 'signal scale' }, h('span'), h('span', { class: 'ends' }, from, to), h('span'))),
  )
  whenSeen(element, () => {
    moved()
    drawn.add({ redraw: draw, resize: draw })
    timeline.follow({ zoomed: draw, moved })
  })
  return element
}

/** Returns the row at a moment, or the last one after its end; -1 without rows. */
function rowAt({ series }: Surroundings, at: number): number {
  let row = series.from.findIndex((from, i) => at < from + series.seconds[i]!)
  if (row < 0) row = series.rows - 1
  return row
}

/** Draws a band for the time that the timeline shows, with its cursor. */
function drawBand(canvas: HTMLCanvasElement, levels: Level[], { series, timeline }: Surroundings) {
  const dpr = devicePixelRatio
  const width = Math.max(1, Math.round(canvas.clientWidth * dpr))
  const height = Math.round(bandHeight * dpr)
  canvas.width = width
  canvas.height = height
  const c = canvas.getContext('2d')!
  const x = (s: number) => ((s - timeline.min) / (timeline.max - timeline.min)) * width
  c.fillStyle = colour('--ok-band')
  c.fillRect(0, height - 3 * dpr, width, 3 * dpr)
  for (let i = 0; i < series.rows; i++) {
    const level = levels[i]!
    if (level === 0) continue
    const left = Math.floor(x(series.from[i]!)) // whole pixels: neighbours touch
    const right = Math.max(left + 2 * dpr, Math.floor(x(series.from[i]! + series.seconds[i]!)))
    if (right < 0 || left > width) continue
    c.fillStyle = colour(level === 2 ? '--red-band' : '--amber-band')
    const high = level === 2 ? height : Math.round(height * 0.6)
    c.fillRect(left, height - high, right - left, high)
  }
  if (timeline.at !== null) {
    c.fillStyle = colour('--muted')
    c.fillRect(Math.round(x(timeline.at)), 0, dpr, height)
  }
}
