import { TimeChart, type Surroundings } from '../chart.ts'
import { DistributionChart, percentilePlot, shapeOf, type Distribution } from '../distribution.ts'
import { h } from '../dom.ts'
import { count } from '../format.ts'
import { groups } from '../groups.ts'
import { decodeHistogram } from '../hdr.ts'
import { nameOf, overview, shownAtFirst } from '../overview.ts'
import { closedResponses, headline, isOwn, isUsers, type Metric, type Result } from '../result.ts'
import { strip } from '../strip.ts'

/** Returns the section of the first charts; undefined if there are none to show. */
export function charts(r: Result, around: Surroundings): HTMLElement | undefined {
  const all = overview(r, around.series)
  if (all.length === 0) return undefined
  const { every, seconds } = around.series
  const rows = h('div', { class: 'charts' }, ...all.map((c) => new TimeChart(c, around).element))
  return h(
    'div',
    {},
    h('p', { class: 'hint screen' }, 'Drag to zoom, double-click to show all; the cursor is shared by all charts. With the keyboard: arrows, +, − and Esc on a chart.'),
    every > 1 &&
      h('p', { class: 'thinned' }, `A long run: each point takes up to ${count(every)} intervals of ${Math.round((Math.max(...seconds) / every) * 100) / 100} s together. Counts are added; users, connections, percentiles and maxima are those of the interval where they were greatest. Totals and distributions are exact.`),
    rows,
  )
}

/**
 * Returns the section of the distributions of times; undefined if there are none. Those
 * that are not shown at first are in the legend.
 */
export function distributions(r: Result): HTMLElement | undefined {
  const closed = closedResponses(r)
  const first = headline(r)
  const order = [first.response, first.main]
  const all = r.metrics
    .filter((m) => m.type === 'histogram' && m.unit === 'ns' && !isOwn(m) && m.histogram && !closed.has(m.title))
    .sort((a, b) => place(order.indexOf(a)) - place(order.indexOf(b)))
  if (all.length === 0) return undefined
  const most = all.map((m): Distribution => ({ label: nameOf(m), histogram: decodeHistogram(m.histogram!) }))
  const ofIterations = (m: Metric) => m.role === 'class.response' || m.role === 'class.service'
  let shown = 0
  all.forEach((m, i) => {
    const show = ofIterations(m) || (!isUsers(m) && shown < shownAtFirst && first.operations.includes(m))
    if (show) shown++
    most[i]!.hidden = !show
  })
  const lost = first.iterations ? 0 : first.unanswered
  return h(
    'div',
    {},
    lost > 0 && h('p', { class: 'thinned' }, `${count(lost)} operations came to no answer and are in no distribution.`),
    h('div', { class: 'charts' }, new DistributionChart(shapeOf(most)).element, new DistributionChart(percentilePlot(most)).element),
  )
}

const place = (i: number) => (i < 0 ? 9 : i)

/**
 * Returns the section of the generator's health; undefined without a series of it, and for
 * a result that has no times of its reasons.
 */
export function health(r: Result, around: Surroundings): HTMLElement | undefined {
  if (around.series.rows === 0 || !r.metrics.some(isOwn)) return undefined
  if (around.series.health.size === 0 && r.reasons?.some((x) => x.windows > 0)) return undefined // a result that does not say when
  return h(
    'div',
    {},
    h('p', { class: 'hint' }, 'Whether gobench itself was at ease in each interval. Low: at ease. Half high: amber. Full: red. What lowered the verdict stands at the top.'),
    strip(around),
  )
}

/** Returns the section of the charts of all metrics by group; undefined if there are none. */
export function metricGroups(r: Result, around: Surroundings): HTMLElement | undefined {
  const all = groups(r, around.series).filter((g) => g.charts.length > 0)
  if (around.series.rows === 0 || all.length === 0) return undefined
  return h(
    'div',
    {},
    h('p', { class: 'hint' }, 'A chart for each graph. Metrics that recorded nothing, or that say the same as one above them, are in the totals only.'),
    ...all.map((g) => h('details', { open: window.innerWidth > 700, class: 'group' }, h('summary', {}, h('h3', {}, g.name)), h('div', { class: 'charts' }, ...g.charts.map((c) => new TimeChart(c, around, 'h4').element)))),
  )
}
