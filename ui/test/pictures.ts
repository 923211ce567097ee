// Every report, wide and narrow: nothing sticks out of the page. With GOBENCH_UI_KEEP
// there are pictures of them, light and dark, in the folder of the reports.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { browser, folder, open } from './browser.ts'

const keeps = Boolean(process.env.GOBENCH_UI_KEEP)

export function pictures() {
  for (const name of ['shop', 'failed', 'cancelled', 'empty', 'second', 'words', 'hostile', 'long', 'real']) {
    test(`${name} fits its page`, async () => {
      const { page, troubles, close } = await open(browser, name)
      for (const width of [1440, 390]) {
        await page.setViewportSize({ width, height: keeps ? 5000 : 900 })
        await page.waitForFunction((width) => document.documentElement.scrollWidth <= width, width, { timeout: 30_000 }) // else it scrolls sideways
        for (const colorScheme of keeps ? (['light', 'dark'] as const) : []) {
          await page.emulateMedia({ colorScheme })
          await page.screenshot({ path: `${folder}/${name}-${colorScheme}-${width}.png`, fullPage: true })
        }
      }
      assert.deepEqual(troubles, [])
      await close()
    })
  }
}
