// Reports in a browser without a network: what they show is what the JSON of the same
// run contains, and their controls work.

import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { test } from 'node:test'
import { inflateRawSync } from 'node:zlib'
import type { Locator, Page } from 'playwright-core'
import { figure, type FigureName, type Metric, type Result } from '../src/result.ts'
import { decodeSeries, percentiles, type Series } from '../src/series.ts'
import { browser, folder, open } from './browser.ts'

interface Interval {
  from_seconds: number
  seconds: number
  warmup?: true
  errors: number
  health?: Record<string, 'amber' | 'red'>
  metrics: Record<string, Record<string, number>>
  phases?: { measured: Record<string, { count?: number }> }
}

const json = (name: string) => JSON.parse(readFileSync(`${folder}/${name}.json`, 'utf8')) as Result & { intervals: Interval[] }

/** The series as the page carries them. */
function carried(name: string): Series {
  const page = readFileSync(`${folder}/${name}.html`, 'utf8')
  const packed = /<script type="text\/plain" id="series">([^<]*)<\/script>/.exec(page)![1]!
  return decodeSeries(inflateRawSync(Buffer.from(packed, 'base64')))
}

/** The number that a text as "9.80 ms" or "1.20 MiB" shows: times in ms, sizes in bytes, shares in thousandths. */
function read(text: string): number {
  const m = /^([\d.,]+)\s*(ns|µs|ms|s|B|[KMGTPE]iB|%)?(\/s)?$/.exec(text.trim())
  if (!m) throw new Error(`${text} is no figure`)
  const scale: Record<string, number> = { ns: 1e-6, µs: 1e-3, ms: 1, s: 1e3, '%': 10, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 }
  return Number(m[1]!.replaceAll(',', '')) * (scale[m[2] ?? ''] ?? 1)
}

const near = (got: number, want: number, what: string) => assert.ok(Math.abs(got - want) <= Math.max(Math.abs(want) * 0.006, 0.0051), `${what}: ${got} is shown, the JSON says ${want}`)

export function report() {
  for (const name of ['shop', 'real']) {
    test(`${name}: every figure of the series is the JSON's`, () => {
      const { intervals, metrics } = json(name)
      const s = carried(name)
      assert.equal(s.rows, intervals.length)
      assert.equal(s.every, 1)
      let figures = 0
      intervals.forEach((i, row) => {
        assert.ok(Math.abs(s.from[row]! - i.from_seconds) < 1e-6 && Math.abs(s.seconds[row]! - i.seconds) < 1e-6)
        assert.equal(s.warmup[row], i.warmup ?? false)
        assert.equal(s.errors[row], i.errors)
        for (const [signal, level] of Object.entries(i.health ?? {})) assert.equal(s.health.get(signal)?.[row], level === 'red' ? 2 : 1)
        for (const m of metrics) {
          const r = i.metrics[m.title]
          if (m.type === 'gauge') assert.equal(s.column(m.title, 'value')?.[row], r!.value)
          else if (!m.title.startsWith('gobench.')) assert.equal(s.column(m.title, 'count')?.[row] ?? 0, r?.count ?? 0, m.title)
          for (const p of m.type === 'histogram' ? percentiles : []) {
            const now = { ...m, at_least: undefined, ...r } as Metric
            const most = r && figure(now, 'max')
            const want = most === undefined ? undefined : (figure(now, p) ?? Math.max(now.at_least?.[p] ?? 0, most)) // what it is at least
            const got = s.column(m.title, p)?.[row] ?? null
            if (m.title.startsWith('gobench.') && p !== 'max') continue
            assert.ok(want === undefined ? got === null : got !== null && Math.abs(got - want) <= want * 0.00501, // three digits
               `${m.title} ${p} in row ${row}: ${got}, want ${want}`)
            figures++
          }
        }
      })
      assert.ok(figures > 50, `${figures} figures`)
      for (const m of metrics.filter((m) => m.type !== 'gauge' && !m.title.startsWith('gobench.'))) {
        const sum = (s.column(m.title, 'count') ?? []).reduce<number>((n, v, row) => {
          const both = intervals[row]!.phases // of what the row has, some may belong to the warm-up
          return n + (both ? (both.measured[m.title]?.count ?? 0) : s.warmup[row] ? 0 : (v ?? 0))
        }, 0)
        assert.equal(sum, m.count, `sum of ${m.title}`)
      }
    })

    test(`${name}: tiles and tables show the JSON's figures`, async () => {
      const { page, troubles, close } = await open(browser, name)
      const r = json(name)
      assert.equal(await page.locator('#verdict').textContent(), r.verdict)
      const sum = (...roles: string[]) => r.metrics.filter((m) => roles.includes(m.role ?? '') && m.by === undefined).reduce((n, m) => n + m.count!, 0)
      const clients = r.metrics.some((m) => m.role === 'op.ok')
      const done = clients ? sum('op.ok', 'op.failed', 'op.unanswered') : sum('class.done', 'class.cut')
      assert.equal(read(await tile(page, 'requests')), done)
      assert.equal(read(await tile(page, 'errors')), clients ? sum('op.failed', 'op.unanswered') : sum('class.failed', 'class.cut'))
      const began = r.metrics.filter((m) => m.role === (clients ? 'op.begun' : 'class.begun') && m.by === undefined)
      near(read(await tile(page, 'rate')), began.length > 0 ? began.reduce((n, m) => n + m.rps!, 0) : done / r.measured_seconds, 'rate')
      const response = r.metrics.find((m) => m.title.endsWith('.response'))!
      near(read(await tile(page, 'p99')), figure(response, 'p99')!, 'p99')
      near(read(await tile(page, 'p50')), figure(response, 'p50')!, 'p50')
      const first = await page.locator('#first p').allTextContents()
      const bad = await tile(page, 'errors')
      assert.ok((first.length === 3 || first[3]!.startsWith('without gobench')) && first[0]!.startsWith(await tile(page, 'requests')) && first[1]!.startsWith(bad === '0' ? 'none failed' : `${bad} failed`) && first[2]!.includes('p99'), first.join('|'))

      const more = page.getByLabel(/^ ?show \d+ more/)
      await more.press(' ') // a click may miss it where a chart above is drawn just then
      assert.ok(await more.isChecked())
      const rows = new Map((await rowsOf(page.locator('#totals table'))).map((cells) => [cells[0]!, cells]))
      assert.equal(rows.size, r.metrics.filter((m) => !/_(disturbed|corrected)$/.test(m.role ?? '')).length)
      const names: FigureName[] = ['avg', 'stdev', 'min', 'p50', 'p90', 'p95', 'p99', 'p99.9', 'max']
      let noAnswers = 0
      for (const m of r.metrics) {
        const cells = rows.get(m.title)
        if (!cells) continue // a companion: bounds stand for it
        near(read(cells[1]!), m.count ?? m.value!, m.title)
        if (m.type === 'counter') near(read(cells[2]!), m.rps!, `${m.title} a second`)
        if (m.type !== 'histogram' || !m.count) continue
        names.forEach((name, i) => {
          const text = cells[2 + i]!.split('≥')[0]! // what may be gobench's own stands below
          const above = name.startsWith('p') ? (1 - Number(name.slice(1)) / 100 + 1e-9) * (m.count! + (m.lost ?? 0)) : 1
          if (text === 'no answer') noAnswers++
          else if (above < 1) assert.equal(text, '–', `${m.title} ${name} of ${m.count}`)
          else if (m.unit === 'permille') assert.ok(Math.abs(read(text.replace('< ', '')) - figure(m, name)!) <= 5, `${m.title} ${name}`)
          else near(read(text), figure(m, name)!, `${m.title} ${name}`)
        })
      }
      assert.equal(noAnswers, name === 'shop' ? 1 : 0, 'only the p99.9 of home.latency lies among those without an answer')
      assert.deepEqual(troubles, [])
      await close()
    })
  }

  const tile = async (page: Page, id: string) => (await page.locator(`#tile-${id} .figure`).textContent())!

  /** Waits until a place is on the screen and its drawing is complete. */
  async function settled(at: Locator) {
    await at.scrollIntoViewIfNeeded()
    await at.evaluate(() => new Promise((done) => setTimeout(() => requestAnimationFrame(done), 100)))
  }

  const rowsOf = (tables: Locator) => tables.evaluateAll((all) => all.flatMap((t) => [...t.querySelectorAll('tbody tr')].map((tr) => [...tr.children].map((c) => c.textContent ?? ''))))

  /** Waits until all charts show the wanted time at their cursor. */
  async function cursorSays(page: Page, want: string, what = '') {
    const says = () => page.locator('#time .when').allTextContents()
    for (const end = Date.now() + 30_000; Date.now() < end; ) if ((await says()).every((s) => s === want)) return
    assert.deepEqual(new Set(await says()), new Set([want]), what)
  }

  /** Where a share of a chart's width lies on the screen. */
  async function on(page: Page, chart: string, share: number): Promise<[number, number]> {
    const plot = page.locator('figure', { has: page.getByRole('heading', { name: chart, exact: true }) }).locator('.u-over').first()
    await plot.scrollIntoViewIfNeeded()
    const box = (await plot.boundingBox())!
    return [box.x + box.width * share, box.y + box.height / 2]
  }

  test('the cursor is on all charts and shows the JSON\'s figures', async () => {
    const { page, troubles, close } = await open(browser, 'shop', { viewport: { width: 1440, height: 4000 } })
    await page.mouse.move(...(await on(page, 'Rate', 33.5 / 60)))
    await cursorSays(page, '33 to 34 s')
    const interval = json('shop').intervals[33]!
    const chart = (name: string) => page.locator('figure', { has: page.getByRole('heading', { name, exact: true }) }).first()
    const shown = async (name: string, line: string) => read((await chart(name).locator('.legend button', { has: page.locator(`.name:text-is("${line}")`) }).locator('.value').textContent())!)
    for (const p of percentiles) near(await shown('Percentiles over time', p), interval.metrics['vu.buyer.response']![`${p}(ms)`]!, p)
    assert.equal(await shown('Users', 'buyer'), interval.metrics['vu.buyer.active']!.value)
    assert.equal(await shown('Errors by class', 'home timeout'), interval.metrics['home.error.timeout']!.rps)
    assert.equal(await shown('Errors by class', 'failed'), interval.errors)
    assert.equal(await page.locator('.signal', { hasText: 'Start lag' }).locator('.said').textContent(), 'red')

    await chart('Percentiles over time').getByRole('combobox').selectOption('home.latency')
    await page.mouse.move(...(await on(page, 'Users', 10.5 / 60)))
    near(await shown('Percentiles over time', 'p99'), json('shop').intervals[10]!.metrics['home.latency']!['p99(ms)']!, 'p99 of another metric')
    await page.mouse.move(5, 5)
    await cursorSays(page, '')
    assert.deepEqual(troubles, [])
    await close()
  })

  test('dragging zooms all charts, a double click shows all again', async () => {
    const { page, troubles, close } = await open(browser, 'shop', { viewport: { width: 1440, height: 2600 } })
    const bar = page.locator('.zoombar')
    assert.ok(await bar.isHidden())
    await page.mouse.move(...(await on(page, 'Rate', 20 / 60)))
    await page.mouse.down()
    await page.mouse.move(...(await on(page, 'Rate', 40 / 60)), { steps: 4 })
    await page.mouse.up()
    await bar.waitFor({ state: 'visible' })
    assert.match((await bar.textContent())!, /^(19\.9|20\.0|20\.1) to (39\.9|40\.0|40\.1) s of 60\.0 s/)
    for (const other of ['Percentiles over time', 'Users', 'Connections']) {
      await page.mouse.move(...(await on(page, other, 0.525)))
      await cursorSays(page, '30 to 31 s', `the middle of ${other}`)
    }
    await page.mouse.dblclick(...(await on(page, 'Users', 0.5)))
    await bar.waitFor({ state: 'hidden' })
    await page.mouse.move(...(await on(page, 'Rate', 0.99)))
    await cursorSays(page, '59 to 60 s')

    await page.locator('#time .plot').first().focus()
    await page.keyboard.press('+')
    await bar.waitFor({ state: 'visible' })
    await page.getByRole('button', { name: 'Show all' }).click()
    await bar.waitFor({ state: 'hidden' })
    assert.deepEqual(troubles, [])
    await close()
  })

  test('a legend hides and shows lines', async () => {
    const { page, close } = await open(browser, 'shop')
    const button = page.locator('#time .legend button').first()
    await button.scrollIntoViewIfNeeded()
    const canvas = page.locator('#time canvas').first()
    const picture = () => canvas.evaluate((c: HTMLCanvasElement) => c.toDataURL())
    const before = await picture()
    await button.press('Enter')
    assert.equal(await button.getAttribute('aria-pressed'), 'false')
    await page.waitForFunction(([c, was]) => (c as HTMLCanvasElement).toDataURL() !== was, [await canvas.elementHandle(), before])
    await close()
  })

  test('tables sort by their heads', async () => {
    const { page, close } = await open(browser, 'words')
    const head = page.locator('#errors thead').getByRole('button', { name: 'Count' })
    const counts = async () => (await rowsOf(page.locator('#errors table'))).map((cells) => read(cells[3]!))
    assert.equal((await counts()).length, 30)
    const falling = [...(await counts())].sort((a, b) => b - a)
    await settled(head)
    await head.click()
    assert.deepEqual(await counts(), falling)
    await head.press('Enter')
    assert.deepEqual(await counts(), [...falling].reverse())
    assert.equal(await page.locator('#errors th[aria-sort]').getAttribute('aria-sort'), 'ascending')
    const text = page.locator('#errors thead').getByRole('button', { name: 'Text' })
    await settled(text)
    await text.click()
    assert.match((await rowsOf(page.locator('#errors table')))[0]![2]!, /^0: /)
    assert.equal(await page.locator('#errors th[aria-sort]').count(), 1)
    await close()
  })

  test('the theme follows the system until the reader chooses, with the keyboard too', async () => {
    const { page, troubles, close } = await open(browser, 'shop', { colorScheme: 'dark' })
    const button = page.getByRole('button', { name: /^Theme/ })
    const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    const dark = await back()
    await button.press('Enter')
    assert.equal(await button.textContent(), 'Theme: light')
    const light = await back()
    assert.notEqual(light, dark)
    await button.press('Enter')
    assert.equal(await button.textContent(), 'Theme: dark')
    assert.equal(await back(), dark)
    await page.reload()
    await page.waitForFunction(() => document.documentElement.dataset.ready !== undefined)
    assert.equal(await button.textContent(), 'Theme: dark', 'it is remembered')
    await page.emulateMedia({ colorScheme: 'light' })
    await button.press('Enter')
    assert.equal(await button.textContent(), 'Theme: auto')
    assert.equal(await back(), light)
    assert.deepEqual(troubles, [])
    await close()
  })

  test('what comes from outside is text', async () => {
    const { page, troubles, close } = await open(browser, 'hostile')
    await page.evaluate(() => window.dispatchEvent(new Event('beforeprint'))) // which draws and opens all
    const seen = await page.evaluate(() => {
      const all = [...document.querySelectorAll('*')]
      const known = new Set('html head meta title link style body script a header div h1 h2 h3 h4 button main section span strong p ul ol li b dl dt dd nav code table caption thead tbody tr th td figure figcaption canvas svg line select option details summary pre label input footer'.split(' '))
      return {
        hit: (window as unknown as { hit?: number }).hit,
        strange: all.map((e) => e.localName).filter((n) => !known.has(n)),
        scripts: document.scripts.length,
        handlers: all.flatMap((e) => [...e.attributes].map((a) => a.name)).filter((n) => n.startsWith('on') || n === 'srcdoc' || n === 'src'),
        links: [...document.querySelectorAll('a')].map((a) => a.getAttribute('href')).filter((h) => !h?.startsWith('#')),
        text: document.body.textContent ?? '',
      }
    })
    assert.equal(seen.hit, undefined)
    assert.deepEqual([seen.strange, seen.handlers, seen.links], [[], [], []])
    assert.equal(seen.scripts, 0, 'the page replaced its own body, and nothing came in')
    const { notes } = json('hostile')
    assert.ok(notes!.length > 20)
    const shown = (s: string) => s.replace('\0', '\\x00').replace('\u2028', '\\u2028')
    for (const n of notes!.slice(1)) assert.ok(seen.text.split(shown(n)).length > 5, `${n} is not shown as it is`)
    assert.ok(seen.text.includes(notes![0]!))
    assert.deepEqual(troubles, [])
    await close()
  })

  test('no script but its own runs in a report', async () => {
    const { page, troubles, close } = await open(browser, 'empty')
    const blocked = page.waitForEvent('requestfailed')
    await page.evaluate(() => {
      const s = document.createElement('script')
      s.textContent = 'window.hit = 1'
      document.body.append(s)
      const i = document.createElement('img')
      i.src = 'http://127.0.0.1:9/x.png'
      document.body.append(i)
    })
    assert.equal((await blocked).failure()?.errorText, 'csp')
    assert.equal(await page.evaluate(() => (window as unknown as { hit?: number }).hit), undefined)
    assert.ok(troubles.some((t) => t.includes('Content Security Policy')), 'the policy did not speak up')
    await close()
  })

  test('50 histograms of an hour open within a second, in less than 1.5 MB, whole', async () => {
    assert.ok(statSync(`${folder}/large.html`).size < 1_500_000)
    assert.deepEqual([carried('large').every, carried('large').rows], [1, 3600])
    const { worked, close } = await open(browser, 'large')
    const seconds = await worked()
    await close()
    assert.ok(seconds < 1, `its thread worked for ${seconds} s`)
  })

  test('a long run is thinned and says so', async () => {
    const r = json('long')
    const s = carried('long')
    assert.ok(s.every > 1 && s.rows >= 1800 && s.rows <= 7200, `${s.rows} rows of ${s.every}`)
    for (const m of r.metrics) assert.equal((s.column(m.title, 'count') ?? []).reduce<number>((n, v) => n + (v ?? 0), 0), m.count)
    for (const [row, from] of s.from.entries()) {
      const some = r.intervals.filter((i) => i.from_seconds >= from && i.from_seconds < from + s.seconds[row]! - 0.5)
      const max = Math.max(...some.map((i) => i.metrics['step00.latency']!['max(ms)']!))
      assert.ok(Math.abs(s.column('step00.latency', 'max')![row]! - max) <= max * 0.00501)
      if (row > 50) break
    }
    const { page, close } = await open(browser, 'long')
    assert.match((await page.locator('#time .thinned').textContent())!, new RegExp(`each point takes up to ${s.every} intervals of 1 s together`))
    await close()
  })

  for (const [name, verdict, words] of [
    ['failed', 'INVALID', ['Run failed: the executor exited with status 3', 'Incomplete', '2 of 3 thresholds crossed', 'run it again; if an executor died']],
    ['cancelled', 'NO VERDICT', ['Run cancelled: cancelled by signal', 'no load']],
    ['empty', 'NO VERDICT', ['no load']],
    ['second', 'VALID', ['800 ms', '62.5/s']],
    ['shop', 'SUSPECT', ['5.00 s warm-up', 'open (buyer)', 'closed (reader)', 'run gobench on CPUs of its own', 'bench-1: 8 CPUs', 'Authorization: ***', 'cart is empty: \\x1b[31mred', 'parameter url']],
  ] as const) {
    test(`${name} says what happened`, async () => {
      const { page, troubles, close } = await open(browser, name)
      assert.equal(await page.locator('#verdict').textContent(), verdict)
      const text = (await page.locator('body').textContent())!
      for (const w of words) assert.ok(text.includes(w), `${w} is missing`)
      assert.deepEqual(troubles, [])
      await close()
    })
  }
}
