// The charts of all metrics: a chart for each graph, under its group.

import { count, ofUnit } from './format.ts'
import { percentileLines, repeats } from './overview.ts'
import { styleOf } from './palette.ts'
import { closedResponses, isOwn, recorded, type Metric, type Result } from './result.ts'
import { percentiles, type Series, type Values } from './series.ts'
import type { Chart, Line } from './spec.ts'

export interface Group {
  name: string
  charts: Chart[]
}

/**
 * The groups of a run in the order of their declaration. Left out are metrics that
 * recorded nothing, and those that repeat others.
 */
export function groups(r: Result, s: Series): Group[] {
  const closed = closedResponses(r)
  const byName = new Map<string, Map<string, Metric[]>>()
  const above = new Map<string, Metric[]>()
  for (const m of r.metrics) {
    const before = above.get(m.group) ?? []
    above.set(m.group, [...before, m])
    if (!shows(m, s) || repeats(m, before) || closed.has(m.title)) continue
    const graphs = byName.get(m.group) ?? new Map<string, Metric[]>()
    byName.set(m.group, graphs)
    graphs.set(m.graph, [...(graphs.get(m.graph) ?? []), m])
  }
  return [...byName].map(([name, graphs]) => ({ name, charts: [...graphs].flatMap(([title, metrics]) => chartsOf(title, metrics, s)) }))
}

function shows(m: Metric, s: Series): boolean {
  if (m.type === 'gauge') return s.column(m.title, 'value')?.some((v) => v !== 0) ?? false // it may be 0 at the end
  return recorded(m)
}

/**
 * Returns a chart of a graph, one for each kind of values (counters, gauges,
 * distributions), as these share no axis; a kind without values has no chart.
 */
function chartsOf(title: string, metrics: Metric[], s: Series): Chart[] {
  const kinds = new Map<string, Metric[]>()
  for (const m of metrics) {
    const kind = m.type === 'counter' ? 'a second' : m.type === 'gauge' ? 'at the end of each interval' : 'distribution'
    kinds.set(kind, [...(kinds.get(kind) ?? []), m])
  }
  return [...kinds].flatMap(([kind, same]) => (kind === 'distribution' ? distributions(title, same, s) : plain(title, kind, same, s)))
}

function plain(title: string, kind: string, metrics: Metric[], s: Series): Chart[] {
  const { unit, type } = metrics[0]!
  const isGauge = type === 'gauge' && unit === 'N'
  const labels = shortened(metrics.map((m) => m.title))
  const lines = metrics.flatMap((m, i): Line[] => {
    const values = m.type === 'counter' ? s.rate(m.title) : s.column(m.title, 'value')
    return values ? [{ label: labels[i]!, values, style: styleOf(i), filled: metrics.length === 1 }] : []
  })
  return lines.length > 0 ? [{ title, note: kind, format: isGauge ? count : ofUnit(unit, type === 'counter'), whole: isGauge, lines }] : []
}

function distributions(title: string, metrics: Metric[], s: Series): Chart[] {
  const unit = metrics[0]!.unit
  const format = ofUnit(unit)
  const labels = shortened(metrics.map((m) => m.title))
  if (metrics.every(isOwn)) {
    const lines = metrics.flatMap((m, i): Line[] => {
      const values = s.column(m.title, 'max')
      return values ? [{ label: labels[i]!, values, style: styleOf(i) }] : []
    })
    return lines.length > 0 ? [{ title, format, lines }] : []
  }
  const logarithmic = unit === 'ns' ? false : undefined
  const only = metrics[0]!
  if (metrics.length === 1) return [{ title, note: only.title, format, lines: percentileLines(s, only.title), logarithmic }]
  const choices = [...percentiles].reverse().flatMap((p) => {
    const lines = metrics.flatMap((m, i): Line[] => {
      const values: Values | undefined = s.column(m.title, p)
      return values ? [{ label: labels[i]!, values, style: styleOf(i) }] : []
    })
    return lines.length > 0 ? [{ name: p, lines }] : []
  })
  const p99 = choices.findIndex((c) => c.name === 'p99')
  if (p99 > 0) choices.unshift(...choices.splice(p99, 1))
  return choices[0] ? [{ title, format, lines: choices[0].lines, choices, logarithmic }] : []
}

/**
 * Returns the titles without the parts, separated by dots, that all of them begin with;
 * each keeps at least its last part, as does a single title.
 */
export function shortened(titles: string[]): string[] {
  const parts = titles.map((t) => t.split('.'))
  let same = 0
  while (parts.every((p) => p.length > same + 1 && p[same] === parts[0]![same])) same++
  return parts.map((p) => p.slice(same).join('.'))
}
