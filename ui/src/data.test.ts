import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Bytes, inflate } from './bytes.ts'
import { decodeHistogram, density, quantiles } from './hdr.ts'
import { decodeSeries } from './series.ts'
import { deflateRawSync } from 'node:zlib'

/** Writes as Go's binary.AppendUvarint and AppendVarint. */
function uvarint(v: number): number[] {
  const b: number[] = []
  for (; v >= 128; v = Math.floor(v / 128)) b.push((v % 128) + 128)
  return [...b, v]
}
const varint = (v: number) => uvarint(v < 0 ? -2 * v - 1 : 2 * v)
const base64 = (b: number[]) => Buffer.from(b).toString('base64')

test('numbers come back as they were', () => {
  const all = [0, 1, 63, 64, -1, -64, -65, 300, 2 ** 31, -(2 ** 40), 2 ** 52]
  const b = new Bytes(Uint8Array.from(all.flatMap(varint)))
  assert.deepEqual(all.map(() => b.varint()), all)
  assert.ok(b.end())
  assert.throws(() => b.byte(), /cut short/)
})

test('deflate is undone', async () => {
  const plain = Buffer.from('series '.repeat(1000))
  const packed = new Uint8Array(deflateRawSync(plain))
  assert.deepEqual(Buffer.from(await inflate(packed)), plain)
})

// 5 three times, 1000 (range 893 of width 8: 1000 to 1003 is in e=2, p=122) once.
const some = [1, ...uvarint(5), ...uvarint(1000), ...uvarint(0), ...uvarint(1015), ...uvarint(5), ...uvarint(3), ...uvarint(3 * 128 + 122 - 6), ...uvarint(1)]

test('a histogram', () => {
  const h = decodeHistogram(base64(some))
  assert.deepEqual(h, { count: 4, min: 5, max: 1000, ranges: [{ lo: 5, hi: 5, n: 3 }, { lo: 1000, hi: 1003, n: 1 }] })
  assert.deepEqual(quantiles(h, [0, 0.5, 0.75, 0.76, 1]), [5, 5, 5, 1000, 1000])
  assert.deepEqual([...density(h, 1)], [[2, 0.75], [9, 0.25]])
})

test('no histogram', () => {
  assert.deepEqual(decodeHistogram(base64([1])), { count: 0, min: 0, max: 0, ranges: [] })
  assert.deepEqual(quantiles(decodeHistogram(base64([1])), [0.5]), [0])
  assert.throws(() => decodeHistogram(base64([2])), /unknown version/)
  assert.throws(() => decodeHistogram(base64(some.slice(0, -1))), /cut short/)
})

test('series', () => {
  const head = JSON.stringify({ rows: 3, every: 2, columns: [{ field: 'from' }, { field: 'seconds' }, { field: 'warmup' }, { field: 'errors' }, { title: 'a.ok', field: 'count' }, { title: 'a.latency', field: 'p99' }, { title: 'cpu', field: 'health' }] })
  const deltas = (values: number[]) => values.flatMap((v, i) => varint(v - (values[i - 1] ?? 0)))
  const columns = [[0, 500_000, 1_500_000], [500_000, 1e6, 1e6], [1, 0, 0], [0, 2, 0], [10, 30, 0], [0, 1, 2 + 11 * 900 + 134], [0, 2, 1]]
  const s = decodeSeries(Uint8Array.from([...uvarint(head.length), ...Buffer.from(head), ...columns.flatMap(deltas)]))
  assert.equal(s.every, 2)
  assert.deepEqual(s.from, [0, 0.5, 1.5])
  assert.deepEqual(s.middle, [0.25, 1, 2])
  assert.deepEqual(s.warmup, [true, false, false])
  assert.deepEqual(s.errors, [0, 2, 0])
  assert.deepEqual(s.rate('a.ok'), [20, 30, 0])
  assert.deepEqual(s.column('a.latency', 'p99'), [null, 0, 0.234])
  assert.deepEqual(s.health.get('cpu'), [0, 2, 1])
  assert.equal(s.column('a.latency', 'p50'), undefined)
})
