// The result of a run as docs/formats/result.md describes it.

export interface Result {
  gobench: string
  id: string
  name: string
  state: string
  cause?: string
  created: string
  start_time?: string
  seconds: number
  measured_seconds: number
  warmup_seconds?: number
  config: Config
  environment: Environment
  hosts?: Host[]
  complete: boolean
  missing?: string[]
  verdict?: 'VALID' | 'SUSPECT' | 'INVALID'
  reasons?: Reason[]
  notes?: string[]
  thresholds?: Threshold[]
  metrics: Metric[]
  errors: Failure[]
  samples?: Sample[]
}

export interface Config {
  command?: string[]
  scenario?: string
  executor_sha256?: string
  target?: string
  options?: Record<string, string>
  parameters?: Record<string, string>
  seed: number
  duration_seconds?: number
  interval_seconds: number
  graceful_stop_seconds: number
  classes: Class[]
}

export interface Class {
  name: string
  users: number
  rate: number
  load: string
  closed: boolean
}

export interface Environment {
  host: string
  os: string
  arch: string
  kernel?: string
  cpu?: string
  cpus: number
  memory_bytes?: number
  open_files?: number
  go?: string
}

/** One of several hosts that made the load of a master's run. */
export interface Host {
  name: string
  agent: string
  executors: number
  began?: string
  clock_seconds: number
  clock_error_seconds: number
  lost_seconds?: number
  environment: Environment
}

export interface Reason {
  signal: string
  level: 'amber' | 'red'
  text: string
  advice: string
  windows: number
  worst_seconds: number
  share?: number // of gobench's own delay in the run
  cause?: boolean // it disturbed gobench, and does not decide the verdict
}

export interface Threshold {
  expression: string
  ok: boolean
  undecided?: boolean // neither met nor crossed for certain; then ok is false
  wrong?: boolean // its metric cannot have its statistic, or unit
  value?: string
  reason?: string
  at_seconds?: number
}

export interface Failure {
  source: string
  class: string
  text: string
  count: number
}

export interface Sample {
  source: string
  class: string
  at_seconds: number
  text: string
}

// A declared metric with its record over the whole run. Figures of a histogram
// have their own names, followed by "(ms)" if its unit is ns: figure reads them.
export interface Metric {
  title: string
  type: 'counter' | 'gauge' | 'histogram'
  group: string
  graph: string
  unit: string
  role?: string // what it counts, as op.ok or class.response; none for a metric of the scenario's own
  of?: string // of which operation, class, step or check
  by?: string // what the whole is divided by, as error; none for the whole
  part?: string // which part, as timeout
  count?: number
  lost?: number // operations without an answer, which rank after all others
  at_least?: Record<string, number> // by percentile without a value: how long that operation had waited
  bounds?: Record<string, number> // by figure ("p99", "max"), in its unit: how much of it may be gobench's own
  rps?: number
  value?: number
  spread?: { stdev: number; max: number; within_stdev: number }
  within_stdev?: number
  histogram?: string // base64: see hdr.ts
}

export type FigureName = 'avg' | 'min' | 'p50' | 'p90' | 'p95' | 'p99' | 'p99.9' | 'max' | 'stdev'

/**
 * Returns a figure of a histogram, in ms if its unit is ns; undefined if it recorded
 * nothing.
 */
export function figure(m: Metric, name: FigureName): number | undefined {
  const all = m as unknown as Record<string, number | null | undefined>
  return all[m.unit === 'ns' ? name + '(ms)' : name] ?? undefined
}

/** A bound is shown from this share of its figure and this time on, or from a millisecond on. */
const boundShare = 0.01
const boundLeast = 0.1
const boundMuch = 1

/** Formats what a time is at least, without what may be gobench's own of it, if that is notably less: "28 ms"; else empty. */
export function least(m: Metric, name: FigureName, format: (v: number) => string): string {
  const v = figure(m, name)
  const bound = m.bounds?.[name] ?? 0
  if (v === undefined || (bound < boundMuch && (bound <= boundLeast || bound <= boundShare * v))) return ''
  return format(Math.max(0, v - bound))
}

/** Reports whether m is a companion of another metric: what gobench delayed of it. Bounds stand for them. */
export const isCompanion = (m: Metric) => /_(disturbed|corrected)$/.test(m.role ?? '')

/** Reports whether a distribution of n values has the quantile q: one value at least lies above it. */
const enough = (q: number, n: number): boolean => (1 - q + 1e-9) * n >= 1

/**
 * Formats a percentile of a metric that has recorded something; a dash of too few values; "no answer" if its rank is that
 * of an operation without one, with its age if that is above all answers.
 */
export function percentile(m: Metric, name: 'p50' | 'p90' | 'p95' | 'p99' | 'p99.9', q: number, format: (v: number) => string): string {
  const v = figure(m, name)
  if (v !== undefined && answered(q, m)) return enough(q, (m.count ?? 0) + (m.lost ?? 0)) ? format(v) : '–'
  if (v === undefined && !m.lost) return '–'
  const word = m.role === 'step.time' ? 'failed' : isUsers(m) ? 'not done' : 'no answer'
  const age = m.at_least?.[name] ?? 0
  return age > (figure(m, 'max') ?? 0) ? `${word}, over ${format(age)}` : word
}

/**
 * Reports whether the quantile q, from 0 to 1, is that of an operation that was answered:
 * lost ones may have been the slowest of all.
 */
export function answered(q: number, m: Metric): boolean {
  const lost = m.lost ?? 0
  return lost <= (1 - q + 1e-9) * ((m.count ?? 0) + lost)
}

/** Reports whether a metric recorded anything: its count or last value is not 0. */
export function recorded(m: Metric): boolean {
  return (m.count ?? m.value ?? 0) !== 0
}

/** The generator's own metrics. */
export const isOwn = (m: Metric) => m.role === 'own'

/** What gobench counts of its users. */
export const isUsers = (m: Metric) => m.role?.startsWith('class.') ?? false

/** Reports whether a metric counts all of its owner, not a part of what another one counts. */
export const isWhole = (m: Metric) => m.by === undefined

/** Returns the metric of a role of a whole class, if there is one. */
export const ofClass = (r: Result, c: Class, role: string) => r.metrics.find((m) => m.role === role && m.of === c.name && isWhole(m))

/**
 * Returns the main distributions of times of clients and of the scenario, in order: those of
 * operations, the first step's, and of each group without roles its first histogram of times.
 */
export function leading(metrics: Metric[]): Metric[] {
  const declared = new Set(metrics.filter((m) => m.role).map((m) => m.group))
  const seen = new Set<string>()
  return metrics.filter((m) => {
    if (m.role === 'op.time') return isWhole(m)
    const first = m.type === 'histogram' && m.unit === 'ns' && (m.role === 'step.time' || !declared.has(m.group)) && !seen.has(m.group)
    if (first) seen.add(m.group)
    return first
  })
}

/** Reports whether a class's iterations start on a schedule. */
export const isScheduled = (r: Result, c: Class) => ofClass(r, c, 'class.planned') !== undefined

/** Returns the titles of the response times of closed classes: they are the service times. */
export const closedResponses = (r: Result) => new Set(r.config.classes.filter((c) => c.closed).flatMap((c) => ofClass(r, c, 'class.response')?.title ?? []))

/** Returns the name of the source of a failure: of a class of users, its name. */
export const sourceName = (source: string) => source.replace(/^vu\./, '')

/** What became of the operations of a run or, without a client, of its iterations. */
export interface Outcome {
  done: number // how many ended
  failed: number // of these, answered with a failure; of iterations: with an error
  unanswered: number // of these, without an answer; of iterations: cut by the run's end, or lost with an executor
  iterations: boolean // they are iterations
}

/** Returns the outcome of a run as all its reports have it (internal/run, Outcome): parts of a whole are not counted again. */
export function outcome(r: Result): Outcome {
  const sum = (role: string) => r.metrics.filter((m) => m.role === role && isWhole(m)).reduce((n, m) => n + (m.count ?? 0), 0)
  const [failed, unanswered] = [sum('op.failed'), sum('op.unanswered')]
  const done = sum('op.ok') + failed + unanswered
  if (r.metrics.some((m) => m.role === 'op.ok' && isWhole(m))) return { done, failed, unanswered, iterations: false }
  const cut = sum('class.cut') + sum('class.lost')
  return { done: sum('class.done') + cut, failed: sum('class.failed'), unanswered: cut, iterations: true }
}

/** What tiles and the first charts show: the operations of the run. */
export interface Headline extends Outcome {
  operations: Metric[] // histograms of times that were counted: clients', or else iterations
  main?: Metric // the busiest of them
  response?: Metric // of the busiest class whose starts a schedule plans
  rate: number // a second
}

/**
 * Returns the headline of a run. Operations are those of clients or, without any, the
 * iterations of classes; those that neither succeeded nor were lost are left out. The rate
 * is of those that began within the measured time, or, in a result of an older gobench, of all; it
 * is 0 if no time was measured.
 */
export function headline(r: Result): Headline {
  const busiest = (all: Metric[]) => all.reduce<Metric | undefined>((a, b) => ((b.count ?? 0) > (a?.count ?? 0) ? b : a), undefined)
  let operations = leading(r.metrics).filter((m) => m.count || m.lost)
  if (operations.length === 0) {
    operations = r.config.classes.flatMap((c) => ofClass(r, c, 'class.service') ?? []).filter((m) => m.count || m.lost)
  }
  const scheduled = r.config.classes.filter((c) => isScheduled(r, c))
  const ended = outcome(r)
  const begun = r.metrics.filter((m) => m.role === (ended.iterations ? 'class.begun' : 'op.begun') && isWhole(m))
  const all = r.measured_seconds > 0 ? ended.done / r.measured_seconds : 0
  return {
    ...ended,
    operations,
    main: busiest(operations),
    response: busiest(scheduled.flatMap((c) => ofClass(r, c, 'class.response') ?? [])),
    rate: begun.length > 0 ? begun.reduce((n, m) => n + (m.rps ?? 0), 0) : all,
  }
}

/** The moment of a time-bound note, in seconds since the load began. */
export interface Mark {
  at: number
  text: string
}

/**
 * Returns the notes with the time of an event, and thresholds when they were crossed, in
 * the order of time.
 */
export function marks(r: Result): Mark[] {
  const all: Mark[] = []
  for (const text of r.notes ?? []) {
    const m = /^at (\d+(?:\.\d+)?) s: /.exec(text) ?? /\bended after (\d+(?:\.\d+)?) s: /.exec(text)
    if (m) all.push({ at: Number(m[1]), text })
  }
  for (const t of r.thresholds ?? []) {
    if (!t.ok && t.at_seconds !== undefined) all.push({ at: t.at_seconds, text: `crossed: ${t.expression}` })
  }
  return all.sort((a, b) => a.at - b.at)
}
