// Pictures of every report, light and dark, wide and narrow: kept in the folder of the
// reports. What a test can say of them is that nothing sticks out of the page.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { folder, launch, open } from './browser.ts'

let browser: Browser
before(async () => {
  browser = await launch()
})
after(() => browser.close())

for (const name of ['shop', 'failed', 'cancelled', 'empty', 'second', 'words', 'hostile', 'real']) {
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [390, 1440]) {
      test(`${name} fits ${width} px, ${colorScheme}`, async () => {
        const { page, troubles, close } = await open(browser, name, { colorScheme, viewport: { width, height: 5000 } })
        await page.evaluate(() => new Promise((f) => requestAnimationFrame(() => requestAnimationFrame(f))))
        assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, 'the page scrolls sideways')
        if (process.env.GOBENCH_UI_KEEP) await page.screenshot({ path: `${folder}/${name}-${colorScheme}-${width}.png`, fullPage: true })
        assert.deepEqual(troubles, [])
        await close()
      })
    }
  }
}
