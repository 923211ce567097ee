// The whole run's distributions: their shape on a logarithmic axis, and the percentile
// plot, whose axis spreads the tail: each step of it is ten times rarer.

import uPlot from 'uplot'
import { axis, drawn, Legend, type Size } from './chart.ts'
import { h } from './dom.ts'
import { millis, share, tick } from './format.ts'
import { density, quantiles, type Histogram } from './hdr.ts'
import { whenSeen } from './lazy.ts'
import { logSplits } from './logarithmic.ts'
import { colour, faint, styleOf } from './palette.ts'
import type { Values } from './series.ts'
import type { Line } from './spec.ts'

export interface Distribution {
  label: string
  histogram: Histogram
  hidden?: boolean // at first
}

/**
 * What a DistributionChart draws. The lines have a value for each x, null where there is
 * none.
 */
interface Plot {
  title: string
  note: string
  x: number[]
  lines: Line[]
  position: (x: number) => string // shown for the cursor
  x10: boolean // ticks at powers of ten only
  xTick: (x: number) => string
  yTick: (y: number) => string
  logarithmic?: boolean
}

/**
 * Returns the share of the recordings by how long they took, in ms on a logarithmic axis.
 * There must be at least one histogram with recordings.
 */
export function shapeOf(all: Distribution[]): Plot {
  const most = Math.max(...all.map((d) => d.histogram.count))
  const steps = most < 1000 ? 3 : most < 20_000 ? 6 : 12 // an octave: few recordings make no smooth shape
  const densities = all.map((d) => density(d.histogram, steps))
  const used = densities.flatMap((d) => [...d.keys()])
  const first = Math.min(...used) - 1
  const last = Math.max(...used) + 1
  const x = Array.from({ length: last - first + 1 }, (_, i) => 2 ** ((first + i + 0.5) / steps) / 1e6)
  const edge = (i: number) => millis(2 ** ((first + i) / steps) / 1e6)
  return {
    title: 'How long it took',
    note: `share of the answers in each ${Math.round((2 ** (1 / steps) - 1) * 100)} % of time`,
    x,
    lines: all.map((d, n) => ({ label: d.label, values: x.map((_, i) => densities[n]!.get(first + i) ?? 0), style: styleOf(n), filled: all.length < 3, hidden: d.hidden })),
    position: (v) => {
      const i = Math.round(Math.log2(v * 1e6) * steps - 0.5) - first
      return `${edge(i)} to ${edge(i + 1)}`
    },
    x10: false,
    xTick: tick(millis),
    yTick: tick(share),
  }
}

/**
 * Returns the time by percentile, in ms; x is the v of percentile. A line ends where it
 * has too few recordings for the percentile.
 */
export function percentilePlot(all: Distribution[]): Plot {
  const most = Math.max(...all.map((d) => d.histogram.count))
  const perDecade = 20
  const n = Math.ceil(Math.log10(Math.max(10, most)) * perDecade)
  const x = Array.from({ length: n + 1 }, (_, i) => 10 ** (i / perDecade))
  const qs = x.map((v) => 1 - 1 / v)
  return {
    title: 'Percentiles',
    note: 'the time within which that share of the answers came; to the right ever rarer ones',
    x,
    lines: all.map((d, i) => {
      const values = quantiles(d.histogram, qs).map((ns, k): number | null => (x[k]! <= d.histogram.count * 1.0001 ? ns / 1e6 : null))
      return { label: d.label, values: values as Values, style: styleOf(i), hidden: d.hidden }
    }),
    position: (v) => percentile(v),
    x10: true,
    xTick: percentile,
    yTick: tick(millis),
    logarithmic: true,
  }
}

/** Whether v is one of some digits times a power of ten. */
const isRound = (v: number, digits: number[]) => digits.some((d) => Math.abs(v / 10 ** Math.floor(Math.log10(v * 1.001)) - d) < 0.001)

/** Returns the percentile that 1 in v values lies above, as "99.9 %". v must be 1 or more. */
export function percentile(v: number): string {
  const q = 100 * (1 - 1 / v)
  return `${Number(q.toFixed(Math.max(1, Math.ceil(Math.log10(v)) - 1)))} %`
}

let ids = 0

/**
 * A chart of a Plot. It draws itself when its element comes near the screen, and then adds
 * itself to drawn; it is never removed.
 */
export class DistributionChart {
  readonly element: HTMLElement
  private readonly place: HTMLElement
  private readonly legend: Legend
  private readonly where = h('span', { class: 'when' })
  private plot?: uPlot
  private logarithmic: boolean

  constructor(private readonly what: Plot) {
    this.logarithmic = what.logarithmic ?? false
    this.legend = new Legend(what.yTick, (i, show) => {
      this.plot?.setSeries(i + 1, { show })
      this.plot?.setScale('x', this.span())
    })
    const id = `distribution-${++ids}`
    this.place = h('div', { class: 'plot tall', role: 'img', 'aria-labelledby': id })
    const caption = h('figcaption', {}, h('h3', { id }, what.title), this.where)
    if (what.logarithmic !== undefined) {
      const button = h('button', { type: 'button', 'aria-pressed': String(this.logarithmic), title: 'logarithmic axis' }, 'log')
      button.addEventListener('click', () => {
        this.logarithmic = !this.logarithmic
        button.setAttribute('aria-pressed', String(this.logarithmic))
        this.draw()
      })
      caption.append(h('span', { class: 'controls' }, button))
    }
    this.element = h('figure', { class: 'chart' }, caption, h('p', { class: 'hint' }, what.note), this.place, this.legend.element)
    this.legend.show(what.lines)
    whenSeen(this.place, () => this.draw())
  }

  private draw() {
    const w = this.what
    this.plot?.destroy()
    const values = w.lines.map((l) => (this.logarithmic ? l.values.map((v) => (v !== null && v > 0 ? v : null)) : l.values))
    this.plot = new uPlot(
      {
        width: this.width(),
        height: 260,
        padding: [10, 28, 0, 0],
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
        scales: {
          x: { time: false, distr: 3, range: () => [this.span().min, this.span().max] },
          y: this.logarithmic ? { distr: 3 } : { range: (_u, _min, max) => [0, max > 0 ? max * 1.08 : 1] },
        },
        axes: [
          {
            ...axis(),
            size: 30,
            splits: logSplits,
            values: (_u, splits) => splits.map((v) => (v === null ? '' : w.xTick(v))),
            filter: (u, splits) => {
              const wide = w.x10 || u.scales.x!.max! / u.scales.x!.min! > 300
              return splits.map((v) => (isRound(v, wide ? [1] : [1, 2, 5]) ? v : null))
            },
          },
          { ...axis(), size: 68, splits: this.logarithmic ? logSplits : undefined, values: (_u, splits) => splits.map((v) => (v === null ? '' : w.yTick(v))) },
        ],
        series: [
          {},
          ...w.lines.map((l, i) => ({
            label: l.label,
            show: !this.legend.hidden(i),
            stroke: () => colour(l.style.colour),
            fill: l.filled ? () => faint(l.style.colour, 0.15) : undefined,
            width: l.style.width,
            dash: l.style.dash,
            points: { show: false },
          })),
        ],
        hooks: {
          setCursor: [
            (u) => {
              const i = u.cursor.idx
              const inside = i !== null && i !== undefined && (u.cursor.left ?? -1) >= 0
              this.where.textContent = inside ? w.position(w.x[i]!) : ''
              this.legend.values(inside ? i : undefined)
            },
          ],
        },
      },
      [w.x, ...values] as uPlot.AlignedData,
      this.place,
    )
    drawn.add(this)
  }

  /**
   * Returns the range of x where the lines that are shown have values, with one more on
   * each side; all of x if they have no values.
   */
  private span(): { min: number; max: number } {
    const { x, lines } = this.what
    const any = (at: number) => lines.some((l, i) => !this.legend.hidden(i) && l.values[at])
    const first = x.findIndex((_, i) => any(i))
    const last = x.findLastIndex((_, i) => any(i))
    return { min: x[Math.max(0, first - 1)]!, max: last < 0 ? x.at(-1)! : x[Math.min(x.length - 1, last + 1)]! }
  }

  private width(): number {
    return Math.max(160, this.place.clientWidth)
  }

  redraw() {
    this.plot?.redraw(false)
  }

  resize(size?: Size) {
    this.plot?.setSize(size ?? { width: this.width(), height: 260 })
  }
}
