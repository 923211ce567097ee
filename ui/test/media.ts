// The report's page on a phone, on paper, in both themes.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { browser, open } from './browser.ts'

export function media() {
  test('on paper all is drawn, open and light', async () => {
    const { page, troubles, close } = await open(browser, 'shop', { colorScheme: 'dark' })
    await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')))
    const [plots, drawn, closed] = await page.evaluate(() => [document.querySelectorAll('.plot').length, document.querySelectorAll('.plot .uplot').length, document.querySelectorAll('details.more:not([open])').length])
    assert.ok(plots! > 15)
    assert.deepEqual([drawn, closed], [plots, 0])
    const lines = await page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue('--page').trim())
    assert.equal(lines, '#f4f6f8')
    await page.evaluate(() => window.dispatchEvent(new Event('afterprint')))
    assert.equal(await page.locator('details.sample[open]').count(), 0)
    const pdf = (await page.pdf({ format: 'A4' })).toString('latin1')
    const sheets = pdf.match(/\/Type\s*\/Page\b/g)!.length
    assert.ok(pdf.length > 20_000 && sheets <= 6, `${sheets} sheets`)
    assert.deepEqual(troubles, [])
    await close()
  })

  test('on a phone figures come first, and nothing is clipped', async () => {
    const { page, close } = await open(browser, 'failed', { viewport: { width: 390, height: 844 } })
    const at = async (selector: string) => (await page.locator(selector).first().boundingBox())!.y
    const [first, verdict, tiles, facts] = [await at('#first'), await at('.verdict'), await at('.tiles'), await at('.facts')]
    assert.ok(first < verdict && verdict < tiles && tiles < facts && first < 400, `${[first, verdict, tiles, facts]}`)
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390)
    const clipped = await page.evaluate(() => [...document.querySelectorAll('main *')].filter((e) => !e.closest('.table, .plot, pre') && e.getBoundingClientRect().right > 391).map((e) => e.className))
    assert.deepEqual(clipped, [])
    await close()
  })

  test('charts are drawn without scrolling', async () => {
    const { page, close } = await open(browser, 'shop', {})
    await page.waitForFunction(() => document.querySelectorAll('.plot').length === document.querySelectorAll('.plot .uplot').length)
    await close()
  })

  test('on paper a chart leaves room for its legend, also when the window changes', async () => {
    const { page, close } = await open(browser, 'shop', {})
    await page.emulateMedia({ media: 'print' })
    await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')))
    for (const width of [700, 900]) {
      await page.setViewportSize({ width, height: 1000 })
      const covered = await page.evaluate(() =>
        [...document.querySelectorAll('.chart')].filter((e) => {
          const [canvas, legend] = [e.querySelector('.uplot canvas'), e.querySelector('.legend')]
          return canvas && legend && legend.getClientRects().length > 0 && canvas.getBoundingClientRect().bottom > legend.getBoundingClientRect().top + 1
        }).map((e) => e.querySelector('figcaption')!.textContent),
      )
      assert.deepEqual(covered, [])
    }
    await close()
  })

  for (const colorScheme of ['light', 'dark'] as const) {
    test(`text is readable, ${colorScheme}, and the page has a shape`, async () => {
      const { page, close } = await open(browser, 'failed', { colorScheme })
      const bad = await page.evaluate(() => {
        const channels = (c: string) => (c.match(/[\d.]+/g) ?? []).map(Number)
        const luminance = (c: number[]) => [0.2126, 0.7152, 0.0722].reduce((sum, w, i) => sum + w * ((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))(c[i]! / 255), 0)
        const behind = (e: Element): number[] => {
          for (let p: Element | null = e; p; p = p.parentElement) {
            const c = channels(getComputedStyle(p).backgroundColor)
            if (c.length === 3 || c[3] === 1) return c
          }
          return [255, 255, 255]
        }
        const poor: string[] = []
        for (const e of document.querySelectorAll('body *')) {
          if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent!.trim() !== '')) continue
          const [a, b] = [luminance(channels(getComputedStyle(e).color)), luminance(behind(e))]
          const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
          if (ratio < 4.5) poor.push(`${e.localName}.${e.className}: ${ratio.toFixed(2)}`)
        }
        return poor
      })
      assert.deepEqual([...new Set(bad)], [])
      const shape = await page.evaluate(() => ({
        titles: document.querySelectorAll('h1').length,
        levels: [...document.querySelectorAll('h1, h2, h3, h4')].map((e) => Number(e.localName[1])),
        tables: document.querySelectorAll('table').length,
        captions: document.querySelectorAll('table > caption').length,
        names: [...document.querySelectorAll('button, select, [role=img]')].filter((e) => !(e.textContent!.trim() || e.getAttribute('aria-label') || e.getAttribute('aria-labelledby'))).length,
      }))
      assert.equal(shape.titles, 1)
      shape.levels.forEach((l, i) => assert.ok(i === 0 || l <= shape.levels[i - 1]! + 1, `a heading ${l} follows a heading ${shape.levels[i - 1]}`))
      assert.equal(shape.tables, shape.captions)
      assert.equal(shape.names, 0)
      await close()
    })
  }
}
