// The page of one run. Its data is in three elements of the page: #result, the
// result as JSON, #headline, its first lines, and #series, the compressed series.

import { fromBase64, inflate } from '../bytes.ts'
import { drawn, type Size } from '../chart.ts'
import { h } from '../dom.ts'
import { drawAll, drawInTurn } from '../lazy.ts'
import { isCompanion, marks, type Result } from '../result.ts'
import { decodeSeries } from '../series.ts'
import { apply, next, remember, remembered, type Theme } from '../theme.ts'
import { Timeline } from '../timeline.ts'
import { charts, distributions, health, metricGroups } from './charts.ts'
import { head, headline, facts, tiles, verdict } from './head.ts'
import { configuration, errors, hosts, metricTables, notes, samples, thresholds } from './tables.ts'

/**
 * Builds the page from its data. data-ready of the document is set at the end. Rejects if
 * the data can't be decoded; the page then shows the error.
 */
async function main() {
  const result = JSON.parse(document.getElementById('result')!.textContent!) as Result
  const series = decodeSeries(await inflate(fromBase64(document.getElementById('series')!.textContent!)))
  result.metrics = result.metrics.filter((m) => !isCompanion(m))
  document.title = `${result.config.target ?? result.name} – gobench`
  const end = series.rows > 0 ? series.from.at(-1)! + series.seconds.at(-1)! : result.seconds
  const timeline = new Timeline(Math.max(end, 0.001))
  const around = { series, timeline, marks: marks(result) }

  const sections: [string, string, HTMLElement | undefined][] = [
    ['thresholds', 'Thresholds', thresholds(result)],
    ['time', 'Over time', charts(result, around)],
    ['distribution', 'Distribution', distributions(result)],
    ['errors', 'Errors', errors(result)],
    ['samples', 'Failed exchanges', samples(result)],
    ['health', 'Health of the generator', health(result, around)],
    ['notes', 'Notes', notes(result, around.marks)],
    ['totals', 'Totals', metricTables(result)],
    ['metrics', 'All metrics over time', metricGroups(result, around)],
    ['run', 'Run', facts(result)],
    ['hosts', 'Hosts', hosts(result)],
    ['configuration', 'Configuration', configuration(result)],
  ]
  const here = sections.filter((s): s is [string, string, HTMLElement] => s[2] !== undefined)
  document.body.replaceChildren(
    h('a', { class: 'skip', href: '#content' }, 'Skip to content'),
    head(result, themeButton()),
    h(
      'main',
      { id: 'content' },
      headline(JSON.parse(document.getElementById('headline')!.textContent!)) ?? '',
      verdict(result),
      tiles(result) ?? '',
      h('nav', { 'aria-label': 'Sections' }, ...here.map(([id, name]) => h('a', { href: '#' + id }, name))),
      ...here.map(([id, name, content]) => h('section', { id, 'aria-labelledby': id + '-title' }, h('h2', { id: id + '-title' }, name), content)),
    ),
    h('footer', {}, `Made by gobench ${result.gobench}, run ${result.id}`),
    zoomBar(timeline),
  )
  window.addEventListener('resize', () => resize('printing' in document.documentElement.dataset ? paper : undefined))
  window.addEventListener('beforeprint', () => {
    timeline.move(null)
    print(true)
  })
  window.addEventListener('afterprint', () => print(false))
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw)
  document.documentElement.dataset.ready = String(Math.round(performance.now()))
  drawInTurn()
}

function redraw() {
  for (const c of drawn) c.redraw()
}

function resize(size?: Size) {
  for (const c of drawn) c.resize(size)
}

/** Returns the button that changes and remembers the theme, and applies the current one. */
function themeButton(): HTMLElement {
  let now: Theme = remembered()
  const button = h('button', { type: 'button', class: 'theme', title: 'automatic, light or dark' })
  const show = () => {
    apply(now)
    button.textContent = `Theme: ${now}`
  }
  show()
  button.addEventListener('click', () => {
    now = next(now)
    remember(now)
    show()
    redraw()
  })
  return button
}

/** Returns the bar that is shown at the page's foot while charts show a part of the run. */
function zoomBar(timeline: Timeline): HTMLElement {
  const what = h('span')
  const bar = h('div', { class: 'zoombar', hidden: true, role: 'status' }, what, h('button', { type: 'button', click: () => timeline.reset() }, 'Show all'))
  timeline.follow({
    zoomed: () => {
      bar.hidden = !timeline.zoomed
      what.textContent = `${timeline.min.toFixed(1)} to ${timeline.max.toFixed(1)} s of ${timeline.length.toFixed(1)} s`
    },
  })
  return bar
}

/** Size of charts on paper, in CSS pixels; report.css has the height too. */
const paper: Size = { width: 330, height: 170 }

/**
 * Prepares the page for paper (begins) or restores it: on paper all is drawn, light, and as
 * wide as the sheet, and all reasons are open.
 */
function print(begins: boolean) {
  if (begins) {
    document.documentElement.dataset.printing = ''
    drawAll()
    for (const d of document.querySelectorAll<HTMLDetailsElement>('details.more:not([open])')) {
      d.open = true
      d.dataset.closed = ''
    }
    resize(paper)
  } else {
    delete document.documentElement.dataset.printing
    for (const d of document.querySelectorAll<HTMLDetailsElement>('details[data-closed]')) {
      d.open = false
      delete d.dataset.closed
    }
    resize()
  }
  redraw()
}

main().catch((error: unknown) => {
  document.body.replaceChildren(h('main', {}, h('h1', {}, 'This report cannot be shown'), h('p', {}, String(error))))
  throw error
})
