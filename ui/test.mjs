// Runs the tests of src/ and, where GOBENCH_REPORTS names a folder of reports, those of
// test/, which open them in a browser: node test.mjs.
import { build } from 'esbuild'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('.', import.meta.url))
const out = mkdtempSync(root + 'node_modules/.test-') // where they find playwright-core
const tests = (dir) => readdirSync(root + dir).filter((f) => f.endsWith('.test.ts')).map((f) => root + dir + '/' + f)
let status = 1
try {
  await build({
    entryPoints: [...tests('src'), ...(process.env.GOBENCH_REPORTS ? tests('test') : [])],
    outdir: out,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'warning',
  })
  const files = readdirSync(out, { recursive: true }).filter((f) => f.endsWith('.test.mjs')).map((f) => `${out}/${f}`)
  status = spawnSync(process.execPath, ['--test', ...files], { stdio: 'inherit' }).status ?? 1
} finally {
  rmSync(out, { recursive: true, force: true })
}
process.exit(status)
