// The top of the page: what ran, whether its numbers can be believed, and the numbers
// that are looked for first.

import { h } from '../dom.ts'
import { count, millis, rate, seconds, share } from '../format.ts'
import { headline as figuresOf, isScheduled, least, percentile, type Class, type FigureName, type Reason, type Result } from '../result.ts'
import { nameOf } from '../overview.ts'

/** Returns the header of the page: the target or the name, and the button of the theme. */
export function head(r: Result, theme: HTMLElement): HTMLElement {
  return h('header', {}, h('div', { class: 'brand' }, 'gobench'), h('h1', {}, r.config.target ?? r.name), theme)
}

/** What every reader asks first; texts for people, empty if there is nothing to say. */
export interface Headline {
  done: string
  failed: string
  times: string
  least?: string // what times are at least, without gobench's own delays
  bad: boolean // something failed
}

/**
 * Returns the first lines of the report: what was done of what was wanted, what failed, and how
 * long it took. Undefined for a run without load.
 */
export function headline(x: Headline): HTMLElement | undefined {
  if (x.done === '') return undefined
  return h('section', { class: 'headline', id: 'first', 'aria-label': 'In short' }, h('p', { class: 'done' }, x.done), h('p', { class: x.bad ? 'bad' : '' }, x.failed), x.times === '' ? '' : h('p', {}, x.times), x.least ? h('p', { class: 'own' }, x.least) : '')
}

const meanings = {
  VALID: 'gobench kept up: these numbers are the target’s, within 5 % or 0.5 ms.',
  SUSPECT: 'gobench was disturbed: read these numbers with care.',
  INVALID: 'gobench could not measure correctly: do not believe these numbers.',
}
const signs = { VALID: '✓', SUSPECT: '!', INVALID: '✕' }

/**
 * Returns whether the numbers can be believed and why, how the run ended, and what it was
 * to meet. A result without a verdict has NO VERDICT.
 */
export function verdict(r: Result): HTMLElement {
  const crossed = (r.thresholds ?? []).filter((t) => !t.ok && !t.undecided).length
  const unsure = (r.thresholds ?? []).filter((t) => t.undecided).length
  const badges = h('div', { class: 'badges' })
  const add = (kind: string, ...text: (string | Node)[]) => badges.append(h('p', { class: `badge ${kind}` }, ...text))
  if (r.state !== 'finished' || r.cause) add(r.state === 'finished' ? 'neutral' : 'bad', h('strong', {}, `Run ${r.state}`), r.cause ? `: ${r.cause}` : '')
  if (!r.complete) add('bad', h('strong', {}, 'Incomplete'), ': not all that was counted is in the totals')
  if (!r.reasons?.some((x) => x.signal === 'totals')) for (const m of r.missing ?? []) add('bad', m) // else a reason names it
  const all = r.thresholds?.length ?? 0
  if (all > 0) {
    const link = h('a', { href: '#thresholds' }, crossed > 0 ? `${crossed} of ${all} thresholds crossed` : unsure > 0 ? `${unsure} of ${all} thresholds not decided` : all === 1 ? 'The threshold was met' : `All ${all} thresholds were met`)
    add(crossed > 0 ? 'bad' : unsure > 0 ? 'warn' : 'good', link)
  }
  const box = h('section', { class: `verdict ${(r.verdict ?? 'none').toLowerCase()}`, 'aria-label': 'Verdict' })
  if (r.verdict) {
    box.append(h('div', { class: 'word' }, h('span', { class: 'sign', 'aria-hidden': 'true' }, signs[r.verdict]), h('strong', { id: 'verdict' }, r.verdict), h('span', {}, meanings[r.verdict])))
  } else {
    box.append(h('div', { class: 'word' }, h('span', { class: 'sign', 'aria-hidden': 'true' }, '–'), h('strong', { id: 'verdict' }, 'NO VERDICT'), h('span', {}, 'there was no load to judge.')))
  }
  if (badges.childElementCount > 0) box.append(badges)
  const reasons = r.reasons ?? []
  const list = (some: Reason[]) => h('ul', { class: 'reasons' }, ...some.map(reason))
  const decide = reasons.filter((x) => !x.cause)
  const causes = reasons.filter((x) => x.cause)
  if (decide.length > 0) box.append(list(decide))
  if (causes.length > 0) box.append(h('details', { class: 'more' }, h('summary', {}, `What disturbed gobench: ${count(causes.length)} ${causes.length === 1 ? 'signal' : 'signals'}`), list(causes)))
  return box
}

function reason(x: Reason): HTMLElement {
  return h(
    'li',
    {},
    h('span', { class: `level ${x.level}` }, x.level),
    h('div', {}, h('p', {}, h('b', {}, x.signal), ': ', x.text, h('span', { class: 'hint' }, when(x.windows, x.worst_seconds))), h('p', { class: 'advice' }, '→ ', x.advice)),
  )
}

/** Returns in how many intervals a signal was raised, in parentheses; empty for 0. */
function when(windows: number, worst: number): string {
  if (windows === 0) return ''
  return windows === 1 ? ` (in one interval, at ${seconds(worst)})` : ` (in ${count(windows)} intervals, the worst at ${seconds(worst)})`
}

/** Returns what ran, where and how, as a list. */
export function facts(r: Result): HTMLElement {
  const list = h('dl', { class: 'facts' })
  const add = (name: string, ...values: string[]) => list.append(h('div', {}, h('dt', {}, name), ...values.map((v) => h('dd', {}, v))))
  if (r.config.target) add('Target', r.config.target)
  if (r.config.scenario || !r.config.target) add('Scenario', r.config.scenario ?? r.name)
  add(
    'Load',
    ...(r.config.classes.length > 0
      ? r.config.classes.map((c) => `${c.name}: ${count(c.users)} ${c.users === 1 ? 'user' : 'users'}, ${c.rate > 0 ? `${rate(c.rate)} started/s (Poisson)` : 'all started at once'}, ${c.load}`)
      : ['none']),
  )
  const closed = r.config.classes.filter((c) => c.closed)
  const open = r.config.classes.filter((c) => isScheduled(r, c))
  const of = (some: Class[]) => (some.length < r.config.classes.length ? ` (${some.map((c) => c.name).join(', ')})` : '')
  const models: string[] = []
  if (open.length > 0) models.push(`open${of(open)}: starts follow the plan however slow the target is, and response times count from the planned start`)
  if (closed.length > 0) models.push(`closed${of(closed)}: who waits for an answer sends nothing, so queueing can’t be seen`)
  if (models.length > 0) add('Load model', ...models)
  add('Duration', r.seconds === 0 ? 'no load' : seconds(r.seconds) + (r.warmup_seconds ? `, of which ${seconds(r.warmup_seconds)} warm-up are left out of all totals` : ''))
  if (r.start_time) add('Started', date(r.start_time))
  const e = r.environment
  add('Machine', `${e.host}: ${e.cpus} CPUs${e.cpu ? ` ${e.cpu}` : ''}, ${e.os}/${e.arch}${e.kernel ? ` ${e.kernel}` : ''}`)
  add('gobench', `${r.gobench}, run ${r.id}`)
  return list
}

/** Formats a time of RFC 3339 as 2026-11-21 06:45:12 UTC; other text is returned unchanged. */
function date(t: string): string {
  const d = new Date(t)
  return isNaN(d.getTime()) ? t : d.toISOString().replace('T', ' ').slice(0, 19) + ' UTC'
}

/**
 * Returns the key figures: requests, rate, errors, p50 and p99; undefined for a run
 * without metrics.
 */
export function tiles(r: Result): HTMLElement | undefined {
  if (r.metrics.length === 0) return undefined
  const top = figuresOf(r)
  const all = h('div', { class: 'tiles' })
  const tile = (id: string, name: string, value: string, note: string, kind = '') =>
    all.append(h('div', { class: `tile ${kind}`, id: 'tile-' + id }, h('div', { class: 'name' }, name), h('div', { class: 'figure' }, value), h('div', { class: 'hint' }, note)))
  const titles = top.operations.map((m) => nameOf(m))
  tile('requests', top.iterations ? 'Iterations' : 'Requests', count(top.done), titles.length > 2 ? `${titles.length} kinds` : titles.join(', '))
  tile('rate', 'Rate', rate(top.rate) + '/s', r.warmup_seconds ? 'without warm-up' : 'over the whole run')
  const bad = top.failed + top.unanswered
  const notes = [
    top.failed > 0 ? `${count(top.failed)} ${top.iterations ? 'with an error' : 'answered with a failure'}` : '',
    top.unanswered > 0 ? `${count(top.unanswered)} ${top.iterations ? 'cut at the end' : 'without an answer'}` : '',
  ].filter((s) => s !== '')
  tile('errors', 'Failed', count(bad), bad === 0 ? 'none' : `${share(bad / top.done)}: ${notes.join(', ')}`, bad > 0 ? 'bad' : '')
  const m = top.response ?? top.main
  const of = m ? nameOf(m) : ''
  const own = (name: FigureName) => {
    const part = m ? least(m, name, millis) : ''
    return part === '' ? of : `${of}; at least ${part} without gobench’s delays`
  }
  tile('p50', 'p50', m ? percentile(m, 'p50', 0.5, millis) : '–', own('p50'))
  tile('p99', 'p99', m ? percentile(m, 'p99', 0.99, millis) : '–', own('p99'))
  return h('section', { 'aria-label': 'Key figures' }, all)
}
