import { h } from '../dom.ts'
import { bytes, count, digits, millis, ofUnit, seconds, share } from '../format.ts'
import { repeats } from '../overview.ts'
import { closedResponses, figure, least, percentile, recorded, sourceName, type Failure, type FigureName, type Host, type Mark, type Metric, type Result, type Threshold } from '../result.ts'
import { table, type Column } from '../table.ts'

/** Says when a threshold was crossed. One over the whole run that does not abort it is judged at the end. */
function crossedAt(t: Threshold): string {
  if (t.ok || t.at_seconds === undefined) return ''
  return t.wrong || / over | abort$/.test(t.expression) ? seconds(t.at_seconds) : 'the end'
}

/** Returns the table of thresholds; undefined if the run had none. */
export function thresholds(r: Result): HTMLElement | undefined {
  if (!r.thresholds?.length) return undefined
  const columns: Column<Threshold>[] = [
    { name: 'Condition', text: true, show: (t) => h('code', {}, t.expression), by: (t) => t.expression },
    { name: 'Result', text: true, show: (t) => h('span', { class: `outcome ${t.ok ? 'good' : t.undecided ? 'warn' : 'bad'}` }, t.ok ? '✓ met' : t.undecided ? '? not decided' : '✕ crossed'), by: (t) => (t.ok ? 2 : t.undecided ? 1 : 0) },
    { name: 'Value', text: true, show: (t) => t.value ?? '–' },
    { name: 'Crossed at', show: crossedAt, by: (t) => (t.ok ? undefined : t.at_seconds) },
    { name: 'Why', text: true, show: (t) => h('span', { class: 'long' }, t.reason ?? '') },
  ]
  return table('What the run was to meet', r.thresholds.some((t) => t.reason) ? columns : columns.slice(0, -1), r.thresholds)
}

/**
 * Returns the table of the errors that clients, steps and users reported; undefined without any. It has
 * no sum and no shares: an error that a step returns is reported by its iteration, too.
 */
export function errors(r: Result): HTMLElement | undefined {
  if (r.errors.length === 0) return undefined
  const columns: Column<Failure>[] = [
    { name: 'Source', text: true, show: (e) => sourceName(e.source), by: (e) => e.source },
    { name: 'Class', text: true, show: (e) => e.class, by: (e) => e.class },
    { name: 'Text', text: true, show: (e) => h('span', { class: 'long' }, e.text), by: (e) => e.text },
    { name: 'Count', show: (e) => count(e.count), by: (e) => e.count },
  ]
  return table('Errors, as clients, steps and users reported them', columns, r.errors)
}

/** Returns the failed exchanges of each kind, folded; undefined if none were stored. */
export function samples(r: Result): HTMLElement | undefined {
  if (!r.samples?.length) return undefined
  return h(
    'div',
    {},
    h('p', { class: 'hint' }, 'The first failed exchanges of each kind, as they went. Secrets are left out.'),
    ...r.samples.map((s) => h('details', { class: 'sample' }, h('summary', {}, h('b', {}, s.class), ` of ${sourceName(s.source)}, at ${seconds(s.at_seconds)}`), h('pre', { tabindex: 0 }, s.text))),
  )
}

/**
 * Returns the notes: marks by number, then those that are not among marks; undefined if
 * there are neither.
 */
export function notes(r: Result, marks: Mark[]): HTMLElement | undefined {
  const plain = (r.notes ?? []).filter((n) => !marks.some((m) => m.text === n))
  if (plain.length + marks.length === 0) return undefined
  return h(
    'div',
    {},
    marks.length > 0 && h('p', { class: 'hint' }, 'Numbers stand at dashed lines in the charts.'),
    marks.length > 0 && h('ol', { class: 'notes' }, ...marks.map((m) => h('li', {}, m.text))),
    plain.length > 0 && h('ul', { class: 'notes' }, ...plain.map((n) => h('li', {}, n))),
  )
}

/**
 * Returns the totals of counters and gauges, and of distributions. A box shows metrics
 * that recorded nothing or repeat others too. Undefined for a run without metrics.
 */
export function metricTables(r: Result): HTMLElement | undefined {
  if (r.metrics.length === 0) return undefined
  const closed = closedResponses(r)
  const repeated = new Set(r.metrics.filter((m, i) => repeats(m, r.metrics.slice(0, i).filter((a) => a.group === m.group))))
  const told = (m: Metric) => recorded(m) && !closed.has(m.title) && !repeated.has(m)
  const counts = r.metrics.filter((m) => m.type !== 'histogram')
  const distributions = r.metrics.filter((m) => m.type === 'histogram')
  const all = h('div', { class: 'totals' })
  const show = (everything: boolean) => {
    const pick = (metrics: Metric[]) => (everything ? metrics : metrics.filter(told))
    all.replaceChildren(...[countTable(pick(counts)), distributionTable(pick(distributions))].filter((t) => t !== undefined))
  }
  show(false)
  const hidden = r.metrics.filter((m) => !told(m)).length
  const box = h('input', { type: 'checkbox', change: () => show(box.checked) })
  return h('div', {}, hidden > 0 && h('label', { class: 'screen' }, box, ` show ${count(hidden)} more that recorded nothing or repeat another`), all)
}

/** Returns the table of counters and gauges; undefined for no metrics. */
function countTable(metrics: Metric[]): HTMLElement | undefined {
  if (metrics.length === 0) return undefined
  const plain = (m: Metric) => (m.unit === 'B' ? bytes : count)
  const spread = (f: (s: NonNullable<Metric['spread']>, m: Metric) => string) => (m: Metric) => (m.spread && m.count ? f(m.spread, m) : '')
  const columns: Column<Metric>[] = [
    { name: 'Metric', text: true, show: (m) => m.title, by: (m) => m.title },
    { name: 'Total', title: 'of a gauge its last value', show: (m) => plain(m)(m.count ?? m.value ?? 0), by: (m) => m.count ?? m.value },
    { name: 'Per second', show: (m) => (m.rps === undefined ? '' : ofUnit(m.unit)(m.rps)), by: (m) => m.rps },
    { name: 'Stdev', title: 'of the rates of whole intervals', show: spread((s, m) => ofUnit(m.unit)(s.stdev)), by: (m) => m.spread?.stdev },
    { name: 'Max', title: 'greatest rate of a whole interval', show: spread((s, m) => ofUnit(m.unit)(s.max)), by: (m) => m.spread?.max },
    { name: '± stdev', title: 'share of intervals less than a stdev from the average', show: spread((s) => whole(s.within_stdev)), by: (m) => m.spread?.within_stdev },
  ]
  return table('Counters and gauges', columns, metrics)
}

const whole = (v: number) => `${Math.round(v * 100)} %`

const shares: Partial<Record<FigureName, number>> = { p50: 0.5, p90: 0.9, p95: 0.95, p99: 0.99, 'p99.9': 0.999 }

/** Returns the table of histograms; undefined for no metrics. */
function distributionTable(metrics: Metric[]): HTMLElement | undefined {
  if (metrics.length === 0) return undefined
  const shown = (m: Metric, name: FigureName): string | Node => {
    const text = figureOf(m, name)
    const own = least(m, name, m.unit === 'ns' ? millis : digits)
    return own === '' || name === 'avg' ? text : h('div', { title: 'what it is at least, without gobench’s own delays' }, text, h('div', { class: 'own' }, `≥ ${own}`))
  }
  const figureOf = (m: Metric, name: FigureName): string => {
    const format = (v: number) => (m.unit === 'ns' ? millis(v) : m.unit === 'B' ? bytes(v) : m.unit === 'permille' ? share(v / 1000) : v === 0 ? '0' : digits(v))
    const q = shares[name]
    if (q !== undefined) return figure(m, 'max') === undefined ? '' : percentile(m, name as 'p50', q, format)
    const v = figure(m, name)
    return v === undefined ? '' : format(v)
  }
  const names: FigureName[] = ['avg', 'stdev', 'min', 'p50', 'p90', 'p95', 'p99', 'p99.9', 'max']
  const columns: Column<Metric>[] = [
    { name: 'Metric', text: true, show: (m) => m.title, by: (m) => m.title },
    { name: 'Count', show: (m) => count(m.count ?? 0), by: (m) => m.count },
    ...names.map((name): Column<Metric> => ({ name, show: (m) => shown(m, name), by: (m) => figure(m, name) })),
    { name: '± stdev', title: 'share of recordings less than a stdev from the average', show: (m) => (m.within_stdev === undefined ? '' : whole(m.within_stdev)), by: (m) => m.within_stdev },
  ]
  return table('Distributions', columns, metrics)
}

/**
 * Returns the table of the hosts of a master's run: when the load began on each after the
 * first, and how their clocks were. Undefined for a run of one machine.
 */
export function hosts(r: Result): HTMLElement | undefined {
  const all = r.hosts ?? []
  if (all.length === 0) return undefined
  const first = Math.min(...all.flatMap((x) => (x.began ? [moment(x.began)] : [])))
  const columns: Column<Host>[] = [
    { name: 'Host', text: true, show: (x) => x.name || x.agent, by: (x) => x.name },
    { name: 'System', text: true, show: (x) => [x.environment.os && `${x.environment.os}/${x.environment.arch}`, x.environment.cpus ? `${x.environment.cpus} CPUs` : ''].filter(Boolean).join(', ') },
    { name: 'Executors', show: (x) => count(x.executors), by: (x) => x.executors },
    { name: 'Load began', title: 'after that of the first host', show: (x) => (x.began ? `+${millis(moment(x.began) - first)}` : ''), by: (x) => (x.began ? moment(x.began) : undefined) },
    { name: 'Clock', title: 'ahead of that of the master', show: clock, by: (x) => x.clock_seconds },
    { name: 'Lost', title: 'since the load began', show: (x) => (x.lost_seconds ? `after ${seconds(x.lost_seconds)}` : ''), by: (x) => x.lost_seconds },
  ]
  return table('Hosts', columns, all)
}

/**
 * Formats how far a host's clock is ahead of the master's, as "+1.50 ms ± 100 µs"; empty
 * if unknown.
 */
function clock(x: Host): string {
  if (x.clock_error_seconds <= 0) return ''
  return `${x.clock_seconds < 0 ? '-' : '+'}${millis(Math.abs(x.clock_seconds) * 1000)} ± ${millis(x.clock_error_seconds * 1000)}`
}

/**
 * Returns a moment of RFC 3339 in milliseconds since 1970, with the parts of one that Date
 * drops.
 */
function moment(text: string): number {
  return Date.parse(text.replace(/\.\d+/, '')) + 1000 * Number(/\.\d+/.exec(text)?.[0] ?? 0)
}

/**
 * Returns the table of the run's configuration and environment; what is unknown is left
 * out.
 */
export function configuration(r: Result): HTMLElement {
  const c = r.config
  const e = r.environment
  const rows: [string, string | undefined][] = [
    ['command', c.command?.join(' ')],
    ['scenario', c.scenario],
    ['executor', c.executor_sha256],
    ['target', c.target],
    ...Object.entries(c.options ?? {}).sort().map(([k, v]): [string, string] => [`option ${k}`, v]),
    ...Object.entries(c.parameters ?? {}).sort().map(([k, v]): [string, string] => [`parameter ${k}`, v]),
    ['seed', String(c.seed)],
    ['duration', c.duration_seconds ? seconds(c.duration_seconds) : undefined],
    ['interval', seconds(c.interval_seconds)],
    ['graceful stop', seconds(c.graceful_stop_seconds)],
    ['created', r.created],
    ['load began', r.start_time],
    ['host', e.host],
    ['system', `${e.os}/${e.arch}${e.kernel ? ` ${e.kernel}` : ''}`],
    ['CPUs', `${e.cpus}${e.cpu ? ` ${e.cpu}` : ''}`],
    ['memory', e.memory_bytes ? bytes(e.memory_bytes) : undefined],
    ['open files', e.open_files ? count(e.open_files) : undefined],
    ['Go', e.go],
    ['gobench', r.gobench],
    ['run', r.id],
  ]
  const known = rows.filter((row): row is [string, string] => row[1] !== undefined && row[1] !== '')
  return table('What was asked, and of what', [{ name: 'What', text: true, show: (x) => x[0] }, { name: 'Value', text: true, show: (x) => h('code', { class: 'long' }, x[1]) }], known)
}
