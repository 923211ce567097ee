// Builds dist/ from src/: node build.mjs [DIR]. Each page is one file that needs no
// network, and whose Content-Security-Policy allows its own script and style alone.
import { build } from 'esbuild'
import { createHash } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('.', import.meta.url))
const dist = process.argv[2] ?? root + 'dist'

const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

async function bundle(entry) {
  const out = await build({
    entryPoints: [root + entry],
    bundle: true,
    minify: true,
    write: false,
    target: ['chrome103', 'firefox113', 'safari16.4'], // what has DecompressionStream
    format: 'iife',
    legalComments: 'inline',
    logLevel: 'warning',
  })
  return out.outputFiles[0].text.trim()
}

const script = await bundle('src/report/main.ts')
const style = await bundle('src/report/report.css')
if (script.includes('</script') || script.includes('<!--') || style.includes('</style')) throw new Error('a bundle has the end of its own element in it')
const parts = {
  csp: `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data:; base-uri 'none'; form-action 'none'`,
  script,
  style,
}
const page = (await readFile(root + 'src/report/report.html', 'utf8')).replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name])
await mkdir(dist, { recursive: true })
await writeFile(dist + '/report.html', page)
