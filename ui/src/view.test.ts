import assert from 'node:assert/strict'
import { test } from 'node:test'
import { percentile, percentilePlot, shapeOf } from './distribution.ts'
import { groups, shortened } from './groups.ts'
import { steer } from './keys.ts'
import { logTicks } from './logarithmic.ts'
import { overview, repeats } from './overview.ts'
import { answered, headline, marks, percentile as percentileOf, type Metric, type Result } from './result.ts'
import type { Series, Values } from './series.ts'
import { bands, sayBand } from './strip.ts'
import { compare } from './table.ts'
import { Timeline } from './timeline.ts'

const result = (r: Partial<Result>): Result => ({ gobench: '', id: '', name: '', state: 'finished', created: '', seconds: 10, measured_seconds: 10, complete: true, metrics: [], errors: [], config: { seed: 1, interval_seconds: 1, graceful_stop_seconds: 30, classes: [] }, environment: { host: '', os: '', arch: '', cpus: 1 }, ...r })
const metric = (title: string, type: Metric['type'], more: Partial<Metric> = {}): Metric => ({ title, type, group: title.split('.')[0]!, graph: title, unit: type === 'histogram' ? 'ns' : 'N', ...more })
const ofA = (role: string, type: Metric['type'], more: Partial<Metric> = {}) => metric(`vu.a.${role}`, type, { role: `class.${role}`, of: 'a', group: 'Users (a)', ...more })
const series = (columns: Record<string, Values>): Series => {
  const rows = Object.values(columns)[0]?.length ?? 0
  const column = (title: string, field: string) => columns[`${title} ${field}`]
  return { rows, every: 1, from: [...Array(rows).keys()], seconds: Array(rows).fill(1), middle: [...Array(rows).keys()].map((i) => i + 0.5), warmup: Array(rows).fill(false), errors: Array(rows).fill(0), health: new Map(), column, rate: (title) => column(title, 'count') }
}

test('a timeline zooms within the run and tells who follows', () => {
  const t = new Timeline(100)
  let told = 0
  t.follow({ zoomed: () => told++ })
  t.zoom(40, 20)
  assert.deepEqual([t.min, t.max, t.zoomed, told], [20, 40, true, 1])
  t.zoom(20, 40)
  assert.equal(told, 1, 'nothing changed')
  t.zoom(-5, 500)
  assert.deepEqual([t.min, t.max, t.zoomed], [0, 100, false])
  t.zoom(100, 100)
  assert.deepEqual([t.min, t.max], [99.9, 100])
  t.reset()
  assert.equal(t.zoomed, false)
})

test('keys move the cursor and zoom around it', () => {
  const t = new Timeline(100)
  assert.ok(steer(t, 'ArrowRight', 1))
  assert.equal(t.at, 51)
  assert.ok(steer(t, 'ArrowLeft', 1))
  assert.ok(steer(t, '+', 1))
  assert.deepEqual([t.min, t.max], [25, 75])
  assert.ok(steer(t, '-', 1))
  assert.deepEqual([t.min, t.max], [0, 100])
  steer(t, '+', 1)
  assert.ok(steer(t, 'Escape', 1))
  assert.deepEqual([t.at, t.zoomed], [null, false])
  assert.equal(steer(t, 'Tab', 1), false)
})

test('the headline is the response time of a schedule, and the operations of clients', () => {
  const latency = metric('home.latency', 'histogram', { role: 'op.time', of: 'home', count: 90, lost: 10 })
  const response = ofA('response', 'histogram', { count: 50 })
  const ended = Object.entries({ ok: 87, failed: 3, unanswered: 10 }).flatMap(([role, count]) => [
    metric(`home.${role}`, 'counter', { role: `op.${role}`, of: 'home', count }),
    metric(`home.url.a.${role}`, 'counter', { role: `op.${role}`, of: 'home', by: 'url', part: 'a', count }),
  ])
  const open = result({ metrics: [response, ofA('planned', 'counter', { count: 50 }), latency, ...ended, metric('home.ttfb', 'histogram', { count: 90 })], config: { ...result({}).config, classes: [{ name: 'a', users: 1, rate: 0, load: '', closed: false }] } })
  assert.deepEqual(headline(open), { operations: [latency], main: latency, response, done: 100, failed: 3, unanswered: 10, iterations: false, rate: 10 })
  const service = ofA('service', 'histogram', { count: 7 })
  const closed = result({ metrics: [service, ofA('done', 'counter', { count: 8 }), ofA('failed', 'counter', { count: 1 }), ofA('cut', 'counter', { count: 1 })], config: open.config })
  assert.deepEqual(headline(closed), { operations: [service], main: service, response: undefined, done: 9, failed: 1, unanswered: 1, iterations: true, rate: 0.9 })
  assert.equal(headline(result({})).main, undefined)
})

test('a percentile among the operations without an answer has no time', () => {
  assert.ok(answered(0.99, metric('a', 'histogram', { count: 99, lost: 1 })))
  assert.ok(!answered(0.99, metric('a', 'histogram', { count: 98, lost: 2 })))
})

test('a percentile of too few values is a dash', () => {
  const of = (count: number) => percentileOf(metric('a', 'histogram', { unit: 'ns', count, 'p99(ms)': 7 } as Partial<Metric>), 'p99', 0.99, (v) => `${v} ms`)
  assert.deepEqual([of(99), of(100)], ['–', '7 ms'])
})

test('notes that tell a time become marks', () => {
  const r = result({ notes: ['at 20.5 s: paused', 'the target is here', 'class a ended after 3.2 s: done'], thresholds: [{ expression: 'x', ok: false, at_seconds: 5 }, { expression: 'y', ok: true }] })
  assert.deepEqual(marks(r).map((m) => m.at), [3.2, 5, 20.5])
})

test('the overview has the charts that have something to show', () => {
  const r = result({ metrics: [metric('home.latency', 'histogram', { role: 'op.time', of: 'home', count: 2 }), metric('home.error.refused', 'counter', { role: 'op.unanswered', of: 'home', by: 'error', part: 'refused', count: 1 }), metric('home.error.reset', 'counter', { role: 'op.unanswered', of: 'home', by: 'error', part: 'reset', count: 0 }), metric('home.connections_open', 'gauge', { role: 'connections', of: 'home', by: 'state', part: 'open', value: 0 }), ofA('active', 'gauge', { value: 0 })], config: { ...result({}).config, classes: [{ name: 'a', users: 1, rate: 0, load: '', closed: true }] } })
  const s = series({ 'home.latency count': [1, 1], 'home.latency p99': [3, 4], 'vu.a.active value': [1, 0], 'home.error.refused count': [0, 1], 'home.error.reset count': [0, 0], 'home.connections_open value': [1, 0] })
  const charts = overview(r, s)
  assert.deepEqual(charts.map((c) => c.title), ['Rate', 'Percentiles over time', 'Users', 'Errors by class', 'Connections'])
  assert.deepEqual(charts[3]!.lines.map((l) => [l.label, l.values]), [['home refused', [0, 1]]])
  assert.deepEqual(overview(r, series({})), [])
})

test('a graph is a chart, and another where its metrics share no axis', () => {
  const one = { group: 'G', graph: 'Connections' }
  const r = result({ metrics: [metric('a.open', 'gauge', { ...one, value: 0 }), metric('a.opened', 'counter', { ...one, count: 3 }), metric('a.never', 'counter', { ...one, count: 0 }), metric('b.size', 'histogram', { group: 'G', graph: 'Size', unit: 'B', count: 2 })] })
  const all = groups(r, series({ 'a.open value': [1, 0], 'a.opened count': [3, 0], 'a.never count': [0, 0], 'b.size p50': [1, 2], 'b.size max': [3, 4] }))
  assert.deepEqual(all.map((g) => g.name), ['G'])
  assert.deepEqual(all[0]!.charts.map((c) => [c.title, c.note, c.lines.map((l) => l.label)]), [['Connections', 'at the end of each interval', ['open']], ['Connections', 'a second', ['opened']], ['Size', 'b.size', ['max', 'p50']]])
})

test('response times of a closed class are its service times, shown once', () => {
  const times = { graph: 'Iteration time', count: 1 }
  const r = result({ metrics: [ofA('response', 'histogram', times), ofA('service', 'histogram', times)], config: { ...result({}).config, classes: [{ name: 'a', users: 1, rate: 0, load: '', closed: true }] } })
  const s = series({ 'vu.a.response p99': [1], 'vu.a.service p99': [1] })
  assert.deepEqual(groups(r, s)[0]!.charts.map((c) => c.note), ['vu.a.service'])
  r.config.classes[0]!.closed = false
  assert.deepEqual(groups(r, s)[0]!.charts[0]!.lines.map((l) => l.label), ['response', 'service'])
})

test('what says the same as one above is left out', () => {
  const spread = { stdev: 1, max: 2, within_stdev: 0.5 }
  const ok = metric('a.ok', 'counter', { role: 'op.ok', of: 'a', count: 5, spread })
  const part = { role: 'op.ok', of: 'a', by: 'status', part: '200', count: 5 }
  assert.ok(repeats(metric('a.status.200', 'counter', { ...part, spread }), [ok]))
  assert.ok(!repeats(metric('b.status.200', 'counter', { ...part, of: 'b', spread }), [ok]))
  assert.ok(!repeats(metric('a.status.200', 'counter', { ...part, spread: { ...spread, max: 3 } }), [ok]))
})

test('titles lose what all begin with', () => {
  assert.deepEqual(shortened(['http.status.2xx', 'http.status.5xx']), ['2xx', '5xx'])
  assert.deepEqual(shortened(['http.latency']), ['latency'])
  assert.deepEqual(shortened(['a.b', 'c.b']), ['a.b', 'c.b'])
})

test('distributions', () => {
  const histogram = { count: 1000, min: 1e6, max: 8e6, ranges: [{ lo: 1e6, hi: 1e6, n: 990 }, { lo: 8e6, hi: 8e6, n: 10 }] }
  const plot = percentilePlot([{ label: 'a', histogram }])
  const at = (v: number) => plot.lines[0]!.values[plot.x.findIndex((x) => Math.abs(x - v) < 1e-9 * v)]
  assert.deepEqual([at(1), at(10), at(100), at(1000)], [1, 1, 1, 8])
  assert.deepEqual([1, 10, 100, 1000, 100_000].map(percentile), ['0 %', '90 %', '99 %', '99.9 %', '99.999 %'])
  const shape = shapeOf([{ label: 'a', histogram }])
  const total = shape.lines[0]!.values.reduce<number>((n, v) => n + (v ?? 0), 0)
  assert.ok(Math.abs(total - 1) < 1e-9)
  const top = shape.x[shape.lines[0]!.values.indexOf(0.99)]!
  assert.ok(top > 0.9 && top < 1.2, `99 % lie at ${top} ms`)
})

test('bands of health', () => {
  const all = bands(new Map([['start_lag', [0, 1, 2]], ['odd', [0, 0, 1]]]), 3)
  assert.deepEqual(all.map((b) => b.signal), ['start_lag', 'cpu', 'scheduler', 'canary', 'gc_pause', 'memory', 'odd'])
  assert.deepEqual([all[0]!, all[1]!, all[6]!].map(sayBand), ['red in 1, amber in 1', 'at ease', 'amber in 1'])
})

test('rows sort by size, words by letters, nothing first', () => {
  assert.deepEqual([10, 9, -1].sort(compare), [-1, 9, 10])
  assert.ok(compare(undefined, -5) < 0)
  assert.ok(compare('b', 'a') > 0)
})

test('ticks of a logarithmic axis end, wherever it begins', () => {
  assert.deepEqual(logTicks(0.0972, 0.31), [0.1, 0.2, 0.3])
  assert.deepEqual(logTicks(8, 20), [8, 9, 10, 20])
  for (let at = -9; at < 9; at += 0.01) {
    const ticks = logTicks(10 ** at, 10 ** (at + 2.5))
    assert.ok(ticks.length >= 18 && ticks.length <= 26, `${ticks.length} ticks from ${10 ** at}`)
  }
})
