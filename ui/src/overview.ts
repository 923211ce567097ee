// The first charts of a run: what every reader looks for.

import { count, millis, ofUnit } from './format.ts'
import { styleOf, type Style } from './palette.ts'
import { headline, isWhole, ofClass, recorded, type Metric, type Result } from './result.ts'
import { percentiles, type Series, type Values } from './series.ts'
import type { Chart, Choice, Line } from './spec.ts'

/** Styles of percentiles, the same in every chart. */
const percentileStyles: Record<(typeof percentiles)[number], Style> = {
  p50: { colour: '--line-0', dash: [], width: 2 },
  p90: { colour: '--line-2', dash: [10, 3], width: 1.5 },
  p95: { colour: '--line-3', dash: [5, 3], width: 1.5 },
  p99: { colour: '--line-1', dash: [], width: 1.5 },
  max: { colour: '--line-7', dash: [2, 3], width: 1.5 },
}

/**
 * Returns the percentiles of a histogram over time, the greatest first: the least is drawn
 * over the others. Empty if the series lacks the title.
 */
export function percentileLines(s: Series, title: string): Line[] {
  return [...percentiles].reverse().flatMap((p) => {
    const values = s.column(title, p)
    return values ? [{ label: p, values, style: percentileStyles[p] }] : []
  })
}

/**
 * Returns the charts that the report begins with; those with nothing to show are left out.
 * Empty for a series without rows.
 */
export function overview(r: Result, s: Series): Chart[] {
  if (s.rows === 0) return []
  return [rate(r, s), times(r, s), users(r, s), errors(r, s), connections(r, s)].filter((c) => c !== undefined)
}

const names: Record<string, string> = { 'class.response': 'response time', 'class.service': 'service time', 'class.failure': 'time of failures', 'class.start_lag': 'start lag', 'class.queue_wait': 'queue wait' }

/**
 * Returns a metric's name as readers of charts know it: of a class of users "buyer response
 * time", of most others the title.
 */
export function nameOf(m: Metric): string {
  if (m.role === 'class.task') return `${m.of} task ${m.part}`
  const name = names[m.role ?? '']
  return name ? `${m.of} ${name}` : m.title
}

/** How many lines a chart of many shows before the reader asks for more. */
export const shownAtFirst = 8

/** Returns the times of the steps that recorded something: each has its line. */
const steps = (r: Result) => r.metrics.filter((m) => m.role === 'step.time' && recorded(m))

function rate(r: Result, s: Series): Chart | undefined {
  const top = headline(r)
  const lines: Line[] = []
  const add = (label: string, values: Values | undefined, extra: Partial<Line> = {}) => {
    if (values) lines.push({ label, values, style: styleOf(lines.length), ...extra })
  }
  const busiest = [...new Set([...top.operations, ...steps(r)])].sort((a, b) => (b.count ?? 0) - (a.count ?? 0))
  busiest.forEach((m, i) => add(nameOf(m), s.rate(m.title), { filled: busiest.length === 1, hidden: i >= shownAtFirst }))
  for (const c of r.config.classes) {
    const planned = ofClass(r, c, 'class.planned')
    if (planned) add(`${c.name} planned`, s.rate(planned.title), { style: { colour: '--line-7', dash: [6, 4], width: 1.5 } })
    const dropped = ofClass(r, c, 'class.dropped')
    if (dropped && recorded(dropped)) add(`${c.name} dropped`, s.rate(dropped.title))
  }
  if (lines.length === 0) return undefined
  return { title: 'Rate', note: 'answers a second', format: (v) => ofUnit('N', true)(v), lines }
}

function times(r: Result, s: Series): Chart | undefined {
  const top = headline(r)
  const all = [top.response, top.main, ...top.operations, ...steps(r)].filter((m, i, a) => m !== undefined && a.indexOf(m) === i)
  const choices: Choice[] = all.flatMap((m) => {
    const lines = percentileLines(s, m!.title)
    return lines.length > 0 ? [{ name: nameOf(m!), lines }] : []
  })
  const first = choices[0]
  if (!first) return undefined
  return { title: 'Percentiles over time', format: millis, lines: first.lines, choices, logarithmic: true }
}

function users(r: Result, s: Series): Chart | undefined {
  const lines = r.config.classes.flatMap((c, i) => {
    const active = ofClass(r, c, 'class.active')
    const values = active && s.column(active.title, 'value')
    return values ? [{ label: c.name, values, style: styleOf(i), filled: r.config.classes.length === 1 }] : []
  })
  return lines.length > 0 ? { title: 'Users', note: 'active at the end of each interval', format: count, whole: true, lines } : undefined
}

/**
 * Reports whether a metric counts failures that no other one counts: answers that are
 * failures, what got no answer, by class where classes are counted, and failed steps.
 */
function isFailure(m: Metric, all: Metric[]): boolean {
  if (m.role === 'op.unanswered') return m.by === 'error' || (isWhole(m) && !all.some((x) => x.role === m.role && x.of === m.of && x.by === 'error'))
  return (m.role === 'op.failed' && isWhole(m)) || m.role === 'step.failed' || m.role === 'check.failed'
}

function errors(r: Result, s: Series): Chart | undefined {
  const kinds = r.metrics.filter((m) => isFailure(m, r.metrics) && recorded(m))
  const lines = kinds.sort((a, b) => (b.count ?? 0) - (a.count ?? 0)).flatMap((m, i): Line[] => {
    const values = s.rate(m.title)
    return values ? [{ label: m.by === 'error' ? `${m.of} ${m.part}` : m.title, values, style: styleOf(i), hidden: i >= shownAtFirst }] : []
  })
  if (s.errors.some((n) => n > 0)) {
    const values = s.errors.map((n, i) => (s.seconds[i] ? n / s.seconds[i]! : null))
    lines.unshift({ label: 'failed', values, style: { colour: '--line-7', dash: [2, 3], width: 2 } })
  }
  if (lines.length === 0) return undefined
  return { title: 'Errors by class', note: 'a second', format: ofUnit('N', true), lines }
}

function connections(r: Result, s: Series): Chart | undefined {
  const lines: Line[] = []
  const open = r.metrics.filter((m) => m.type === 'gauge' && m.role === 'connections')
  for (const m of open) {
    const values = s.column(m.title, 'value')
    if (values?.some((v) => v)) lines.push({ label: m.title, values, style: styleOf(lines.length), filled: open.length === 1 })
  }
  return lines.length > 0 ? { title: 'Connections', note: 'open at the end of each interval', format: count, whole: true, lines } : undefined
}

/**
 * Reports whether m is a part that repeats the recordings of a whole above it, as the text
 * report does. Only metrics with a spread can.
 */
export function repeats(m: Metric, above: Metric[]): boolean {
  if (m.count === undefined || !m.spread || isWhole(m) || m.role === 'op.failed') return false
  return above.some(
    (a) => a.count === m.count && a.unit === m.unit && a.spread !== undefined && a.spread.stdev === m.spread!.stdev && a.spread.max === m.spread!.max && a.spread.within_stdev === m.spread!.within_stdev && isWhole(a) && a.of === m.of,
  )
}
