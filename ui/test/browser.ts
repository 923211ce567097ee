// A browser that has no network, and reports in it.

import { existsSync } from 'node:fs'
import { after, before, describe } from 'node:test'
import { pathToFileURL } from 'node:url'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'

export const folder = process.env.GOBENCH_REPORTS!

/** The browser of all tests, each of which has a context of its own. */
export let browser: Browser

/** Runs tests, some of them at once, with one browser. */
export function inBrowser(tests: () => void) {
  describe('in a browser', { concurrency: 3 }, () => {
    before(async () => {
      browser = await launch()
    })
    after(() => browser.close())
    tests()
  })
}

async function launch(): Promise<Browser> {
  const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((f) => existsSync(f))
  if (!executablePath) throw new Error('chromium is missing: scripts/test-setup.sh installs it')
  return chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  })
}

export interface Opened {
  page: Page
  troubles: string[] // errors of the console and of scripts, and requests for anything but the page
  worked(): Promise<number> // CPU time of the page's thread so far, in seconds, whatever else the machine does
  close(): Promise<void>
}

/** Opens a report from its file and waits until it is drawn. */
export async function open(browser: Browser, name: string, options: BrowserContextOptions = {}): Promise<Opened> {
  const context = await browser.newContext({ offline: true, viewport: { width: 1440, height: 900 }, ...options })
  const page = await context.newPage()
  const url = pathToFileURL(`${folder}/${name}.html`).href
  const troubles: string[] = []
  page.on('console', (m) => ['error', 'warning'].includes(m.type()) && troubles.push(m.text()))
  page.on('pageerror', (e) => troubles.push(String(e)))
  page.on('request', (r) => r.url() !== url && !r.url().startsWith('data:') && troubles.push(`request for ${r.url()}`))
  page.on('dialog', (d) => {
    troubles.push('a dialog')
    void d.dismiss()
  })
  const devtools = await context.newCDPSession(page)
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
  await page.goto(url)
  await page.waitForFunction(() => document.documentElement.dataset.ready !== undefined)
  const worked = async () => (await devtools.send('Performance.getMetrics')).metrics.find((m) => m.name === 'TaskDuration')!.value
  return { page, troubles, worked, close: () => context.close() }
}
