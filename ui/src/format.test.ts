import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clockOf } from './clock.ts'
import { bytes, count, millis, ofUnit, rate, seconds, share, tick } from './format.ts'

function shows<T>(name: string, f: (v: T) => string, rows: [T, string][]) {
  test(name, () => {
    for (const [v, want] of rows) assert.equal(f(v), want, `${v}`)
  })
}

// The same rows as those of internal/show/report's TestFormats: a figure reads the same in all reports.
shows('millis', millis, [[0, '0'], [0.0000123, '12.3 ns'], [0.0123, '12.3 µs'], [0.9996, '1000 µs'], [1, '1.00 ms'], [99.96, '100 ms'], [1234.5, '1.23 s'], [119999, '120 s'], [150e3, '2m30s']])
shows('count', count, [[0, '0'], [999, '999'], [1000, '1,000'], [-1234567, '-1,234,567'], [9007199254740991, '9,007,199,254,740,991']])
shows('bytes', bytes, [[0, '0 B'], [1023, '1023 B'], [179.1995, '179 B'], [1024, '1.00 KiB'], [2 ** 20, '1.00 MiB'], [1.5 * 2 ** 40, '1.50 TiB']])
shows('rate', rate, [[0, '0'], [0.5, '0.50'], [12.34, '12.3'], [999.4, '999'], [999.6, '1,000'], [98765.4, '98,765']])
shows('seconds', seconds, [[0.8, '800 ms'], [59.9, '59.9 s'], [60, '1m0s'], [72.04, '1m12s'], [3725.5, '1h2m5.5s']])
shows('share', share, [[0, '0 %'], [0.00001, '< 0.01 %'], [0.0032, '0.32 %'], [0.066, '6.6 %'], [0.5, '50 %'], [0.9968, '99.68 %'], [1, '100 %']])
shows('permille', ofUnit('permille'), [[310, '31 %'], [1000, '100 %']])
shows('bytes a second', ofUnit('B', true), [[2048, '2.00 KiB/s']])
shows('ticks of times', tick(millis), [[1, '1 ms'], [12.5, '12.5 ms'], [100, '100 ms'], [0, '0'], [1500, '1.5 s'], [150e3, '2m30s']])
shows('ticks of shares', tick(share), [[0.06, '6 %'], [0.065, '6.5 %'], [0.1, '10 %']])

test('clock', () => {
  for (const [s, shown, want] of [[7.5, 60, '7.5 s'], [0.125, 0.8, '0.125 s'], [90, 600, '1:30'], [7505, 20_000, '2:05:05'], [3599.6, 3600, '1:00:00'], [601, 5, '10:01']] as const) assert.equal(clockOf(s, shown), want)
})
