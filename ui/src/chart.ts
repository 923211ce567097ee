// A chart over the time of a run: uPlot, with a legend that shows the values at the
// cursor, zoom and cursor shared with all charts of the timeline.

import uPlot from 'uplot'
import { h, svg } from './dom.ts'
import { tick } from './format.ts'
import { steer } from './keys.ts'
import { whenSeen } from './lazy.ts'
import { logSplits } from './logarithmic.ts'
import { colour, faint, type Style } from './palette.ts'
import type { Series } from './series.ts'
import type { Chart, Line } from './spec.ts'
import type { Timeline } from './timeline.ts'
import { clockOf } from './clock.ts'
import type { Mark } from './result.ts'

/**
 * What all charts of one run share; charts follow the timeline for as long as the page
 * lives.
 */
export interface Surroundings {
  series: Series
  timeline: Timeline
  marks: Mark[]
}

export const height = 220

/** Size of a chart in pixels. */
export interface Size {
  width: number
  height: number
}
const axisWidth = 68

/**
 * All charts that are drawn. The page redraws them when colours change, and resizes them:
 * to a width in CSS pixels, or to that of their place.
 */
export const drawn = new Set<{ redraw(): void; resize(size?: Size): void }>()

// Between ticks of the time axis, in seconds.
const steps = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400]

// Between ticks of an axis of whole numbers.
const wholes = Array.from({ length: 16 }, (_, i) => [1, 2, 5].map((n) => n * 10 ** i)).flat()

let ids = 0

/**
 * A chart over the time of a run. It draws itself when its element comes near the screen,
 * and then adds itself to drawn and follows the timeline; it is never removed.
 */
export class TimeChart {
  readonly element: HTMLElement
  private readonly place: HTMLElement
  private readonly legend: Legend
  private readonly when: HTMLElement
  private plot?: uPlot
  private lines: Line[]
  private logarithmic: boolean

  constructor(
    private readonly chart: Chart,
    private readonly around: Surroundings,
    level: 'h3' | 'h4' = 'h3',
  ) {
    this.lines = chart.lines
    this.logarithmic = chart.logarithmic ?? false
    this.when = h('span', { class: 'when' })
    this.legend = new Legend(chart.format, (i, show) => this.plot?.setSeries(i + 1, { show }))
    const id = `chart-${++ids}`
    this.place = h('div', {
      class: 'plot',
      tabindex: 0,
      role: 'img',
      'aria-labelledby': id,
      'aria-describedby': id + '-lines',
      keydown: (e) => {
        const { key, ctrlKey, metaKey, altKey } = e as KeyboardEvent
        if (!ctrlKey && !metaKey && !altKey && steer(around.timeline, key, around.series.seconds[0] ?? 1)) e.preventDefault()
      },
    })
    this.legend.element.id = id + '-lines'
    this.element = h(
      'figure',
      { class: 'chart' },
      h('figcaption', {}, h(level, { id }, chart.title), this.when, this.controls()),
      chart.note !== undefined && h('p', { class: 'hint' }, chart.note),
      this.place,
      this.legend.element,
    )
    this.legend.show(this.lines)
    whenSeen(this.place, () => this.draw())
  }

  private controls(): HTMLElement {
    const all = h('span', { class: 'controls' })
    if (this.chart.choices) {
      const choices = this.chart.choices
      const select = h('select', {
        'aria-label': `what ${this.chart.title} shows`,
        change: () => {
          this.lines = choices[select.selectedIndex]!.lines
          this.legend.show(this.lines)
          this.draw()
        },
      })
      for (const c of choices) select.append(h('option', {}, c.name))
      all.append(select)
    }
    if (this.chart.logarithmic !== undefined) {
      const button = h('button', { type: 'button', 'aria-pressed': String(this.logarithmic), title: 'logarithmic axis' }, 'log')
      button.addEventListener('click', () => {
        this.logarithmic = !this.logarithmic
        button.setAttribute('aria-pressed', String(this.logarithmic))
        this.draw()
      })
      all.append(button)
    }
    return all
  }

  /** Draws the chart, or draws it again, with the current lines and axis. */
  private draw() {
    this.plot?.destroy()
    const { series, timeline } = this.around
    const positive = (v: number | null) => (v !== null && v > 0 ? v : null)
    const once = series.rows === 1 // a line from its begin to its end
    const data = this.lines.map((l) => {
      const values = this.logarithmic ? l.values.map(positive) : l.values
      return once ? [...values, ...values] : values
    })
    const x = once ? [series.from[0]!, series.from[0]! + series.seconds[0]!] : series.middle
    const any = data.some((values) => values.some((v) => v !== null))
    this.plot = new uPlot(
      {
        width: this.width(),
        height,
        padding: [10, 26, 0, 0],
        legend: { show: false },
        cursor: {
          y: false,
          drag: { x: true, y: false, setScale: false, dist: 5 },
          bind: {
            dblclick: () => () => {
              timeline.reset()
              return null
            },
            mouseleave: () => () => {
              timeline.move(null)
              return null
            },
          },
          points: { size: 6 },
        },
        scales: {
          x: { time: false, range: () => [timeline.min, timeline.max] },
          y: this.logarithmic
            ? { distr: 3, range: (_u, min, max) => (any ? uPlot.rangeLog(min ?? 1, max ?? 10, 10, false) : [1, 10]) }
            : { range: (_u, _min, max) => [0, max > 0 ? uPlot.rangeNum(0, max, 0.1, true)[1]! : 1] },
        },
        axes: [
          { ...axis(), size: 30, space: 64, incrs: steps, values: (_u, splits) => splits.map((s) => clockOf(s, timeline.max - timeline.min)) },
          { ...axis(), size: axisWidth, splits: this.logarithmic ? logSplits : undefined, incrs: this.chart.whole ? wholes : undefined, values: (_u, splits) => splits.map((v) => (v === null ? '' : tick(this.chart.format)(v))) },
        ],
        series: [
          {},
          ...this.lines.map((l, i) => ({
            label: l.label,
            show: !this.legend.hidden(i),
            stroke: () => colour(l.style.colour),
            fill: l.filled ? () => faint(l.style.colour, 0.12) : undefined,
            width: l.style.width,
            dash: l.style.dash,
            points: { size: 5, fill: () => colour('--card') },
          })),
        ],
        hooks: {
          drawClear: [(u) => shadeWarmup(u, series)],
          draw: [(u) => drawMarks(u, this.around.marks)],
          setSelect: [
            (u) => {
              const { left, width } = u.select
              if (width <= 0) return
              u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
              timeline.zoom(u.posToVal(left, 'x'), u.posToVal(left + width, 'x'))
            },
          ],
          setCursor: [
            (u) => {
              const left = u.cursor.left ?? -1
              if (u.cursor.event) timeline.move(left < 0 ? null : u.posToVal(left, 'x'))
            },
          ],
        },
      },
      [x, ...data] as uPlot.AlignedData,
      this.place,
    )
    if (!drawn.has(this)) {
      drawn.add(this)
      timeline.follow({ zoomed: () => this.zoomed(), moved: () => this.moved() })
    }
    this.moved()
  }

  private zoomed() {
    const { min, max } = this.around.timeline
    this.plot!.setScale('x', { min, max })
    this.moved()
  }

  /**
   * Shows the timeline's moment, with the values of its row in the legend, or nothing if
   * it is not on the chart.
   */
  private moved() {
    const u = this.plot!
    const { series, timeline } = this.around
    const inside = timeline.at !== null && timeline.at >= timeline.min && timeline.at <= timeline.max
    const left = inside ? u.valToPos(timeline.at!, 'x') : -10
    if (u.cursor.left !== left) u.setCursor({ left, top: inside ? 0 : -10 }, false)
    if (!inside || series.rows === 0) {
      this.when.textContent = ''
      this.legend.values(undefined)
      return
    }
    const row = Math.min(u.valToIdx(timeline.at!), series.rows - 1)
    this.when.textContent = spanOf(series, row)
    this.legend.values(row)
  }

  private width(): number {
    return Math.max(160, this.place.clientWidth)
  }

  redraw() {
    this.plot?.redraw(false)
    this.legend.show(this.lines)
    this.moved()
  }

  resize(size?: Size) {
    this.plot?.setSize(size ?? { width: this.width(), height })
  }
}

/** Returns from when to when a row lasts, as "1 to 2 s, warm-up". */
export function spanOf(s: Series, row: number): string {
  const from = s.from[row]!
  const to = from + s.seconds[row]!
  return `${round(from)} to ${round(to)} s${s.warmup[row] ? ', warm-up' : ''}`
}

const round = (s: number) => String(Math.round(s * 100) / 100)

/** Returns the options that all axes share; colours are read again at each drawing. */
export function axis(): uPlot.Axis {
  return {
    stroke: () => colour('--muted'),
    grid: { stroke: () => colour('--grid'), width: 1 },
    ticks: { stroke: () => colour('--grid'), width: 1, size: 4 },
    font: '12px system-ui, sans-serif',
    gap: 4,
  }
}

/** Shades the time up to the end of the last row of warm-up; does nothing without one. */
function shadeWarmup(u: uPlot, s: Series) {
  const end = s.warmup.lastIndexOf(true)
  if (end < 0) return
  const { left, top, width, height } = u.bbox
  const right = Math.min(left + width, u.valToPos(s.from[end]! + s.seconds[end]!, 'x', true))
  if (right <= left) return
  u.ctx.save()
  u.ctx.fillStyle = colour('--shade')
  u.ctx.fillRect(left, top, right - left, height)
  u.ctx.fillStyle = colour('--muted')
  u.ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`
  u.ctx.textBaseline = 'bottom'
  u.ctx.textAlign = 'left'
  if (right - left > u.ctx.measureText('warm-up').width + 8 * devicePixelRatio) u.ctx.fillText('warm-up', left + 4 * devicePixelRatio, top + height - 4 * devicePixelRatio)
  u.ctx.restore()
}

/**
 * Draws a dashed line for each mark inside the chart, with its number from 1 on; marks at
 * the same pixel share a line.
 */
function drawMarks(u: uPlot, marks: Mark[]) {
  const { left, top, width, height } = u.bbox
  const dpr = devicePixelRatio
  u.ctx.save()
  const numbers = new Map<number, number[]>() // by place
  marks.forEach((m, i) => {
    const x = Math.round(u.valToPos(m.at, 'x', true))
    numbers.set(x, [...(numbers.get(x) ?? []), i + 1])
  })
  for (const [x, all] of numbers) {
    if (x < left || x > left + width) continue
    u.ctx.strokeStyle = u.ctx.fillStyle = colour('--mark')
    u.ctx.lineWidth = dpr
    u.ctx.setLineDash([4 * dpr, 3 * dpr])
    u.ctx.beginPath()
    u.ctx.moveTo(x, top)
    u.ctx.lineTo(x, top + height)
    u.ctx.stroke()
    u.ctx.font = `600 ${10 * dpr}px system-ui, sans-serif`
    u.ctx.textBaseline = 'top'
    u.ctx.textAlign = 'left'
    u.ctx.fillText(all.length < 3 ? all.join(', ') : `${all[0]} to ${all.at(-1)}`, x + 3 * dpr, top + 2 * dpr)
  }
  u.ctx.restore()
}

/**
 * The lines of a chart, each a button that shows or hides it, with its value at the
 * cursor. Toggle is called with the index of a line that the reader shows or hides.
 */
export class Legend {
  readonly element = h('ul', { class: 'legend' })
  private cells: HTMLElement[] = []
  private lines: Line[] = []
  private off = new Map<string, boolean>() // by label: what the reader chose

  constructor(
    private readonly format: (v: number) => string,
    private readonly toggle: (line: number, show: boolean) => void,
  ) {}

  /**
   * Reports whether line i is hidden: as the reader chose for its label, or else as at
   * first.
   */
  hidden(i: number): boolean {
    const l = this.lines[i]!
    return this.off.get(l.label) ?? l.hidden ?? false
  }

  /** Replaces the lines; what the reader chose remains, by label. */
  show(lines: Line[]) {
    this.lines = lines
    this.cells = []
    this.element.replaceChildren(
      ...lines.map((l, i) => {
        const cell = h('span', { class: 'value' })
        this.cells.push(cell)
        const button = h('button', { type: 'button', 'aria-pressed': String(!this.hidden(i)), title: l.label }, swatch(l.style), h('span', { class: 'name' }, l.label), cell)
        button.addEventListener('click', () => {
          const off = !this.hidden(i)
          this.off.set(l.label, off)
          button.setAttribute('aria-pressed', String(!off))
          this.toggle(i, !off)
        })
        return h('li', {}, button)
      }),
    )
  }

  /** Shows the values of a row, with a dash for missing ones; undefined clears all. */
  values(row: number | undefined) {
    this.lines.forEach((l, i) => {
      const v = row === undefined ? undefined : l.values[row]
      this.cells[i]!.textContent = row === undefined ? '' : v === null || v === undefined ? '–' : this.format(v)
    })
  }
}

function swatch(s: Style): SVGElement {
  const line = svg('line', { x1: 0, y1: 5, x2: 26, y2: 5, 'stroke-width': 2.5, 'stroke-dasharray': s.dash.length > 0 ? s.dash.join(' ') : undefined })
  line.style.stroke = `var(${s.colour})`
  return svg('svg', { width: 26, height: 10, 'aria-hidden': 'true' }, line)
}
