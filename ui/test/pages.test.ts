// All tests that need a browser: one is started for them.

import { inBrowser } from './browser.ts'
import { media } from './media.ts'
import { pictures } from './pictures.ts'
import { report } from './report.ts'

inBrowser(() => {
  report()
  media()
  pictures()
})
