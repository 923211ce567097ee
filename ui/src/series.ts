// The series of a run: columns with a row for each interval, or for several of a long
// run. docs/formats/report.md describes the bytes that a report carries.

import { Bytes } from './bytes.ts'

export type Values = (number | null)[]

/** Fields of a histogram in the series; a counter has count, a gauge value. */
export const percentiles = ['p50', 'p90', 'p95', 'p99', 'max'] as const
export type Percentile = (typeof percentiles)[number]

export type Level = 0 | 1 | 2 // at ease, amber, red

/**
 * The series of a run. All columns have rows values. column and rate return undefined for
 * a title that the series lacks. Do not change its arrays, column's among them.
 */
export interface Series {
  rows: number
  every: number // most intervals in a row
  from: number[] // seconds since the load began
  seconds: number[] // how long each row is
  middle: number[] // of each row, where charts draw it
  warmup: boolean[]
  errors: number[] // operations, or else iterations, that failed
  health: Map<string, Level[]> // by signal, of those that were ever amber or red
  column(title: string, field: string): Values | undefined
  rate(title: string): Values | undefined // count a second
}

interface Head {
  rows: number
  every: number
  columns: { title?: string; field: string }[]
}

/**
 * Decodes the series of a report, inflated (docs/formats/report.md). Throws an Error for
 * data that are cut short, or whose head is not JSON.
 */
export function decodeSeries(plain: Uint8Array): Series {
  const b = new Bytes(plain)
  const head = JSON.parse(b.text(b.uvarint())) as Head
  const columns = new Map<string, Values>()
  const health = new Map<string, Level[]>()
  for (const c of head.columns) {
    const values: Values = new Array(head.rows)
    const isFigure = (percentiles as readonly string[]).includes(c.field)
    let v = 0
    for (let i = 0; i < head.rows; i++) {
      v += b.varint()
      values[i] = isFigure ? unpack(v) : v
    }
    if (c.field === 'health') health.set(c.title ?? '', values as Level[])
    else columns.set(key(c.title ?? '', c.field), values)
  }
  const own = (field: string) => (columns.get(key('', field)) ?? new Array(head.rows).fill(0)) as number[]
  const from = own('from').map((us) => us / 1e6)
  const seconds = own('seconds').map((us) => us / 1e6)
  const column = (title: string, field: string) => columns.get(key(title, field))
  return {
    rows: head.rows,
    every: head.every,
    from,
    seconds,
    middle: from.map((s, i) => s + seconds[i]! / 2),
    warmup: own('warmup').map((v) => v === 1),
    errors: own('errors'),
    health,
    column,
    rate: (title) => column(title, 'count')?.map((n, i) => (n === null || !seconds[i] ? null : n / seconds[i])),
  }
}

const key = (title: string, field: string) => field + ' ' + title

/**
 * Decodes a number into a figure of three digits: 0 is missing (null), 1 zero, then 900 to
 * the decade from 1e-12 on.
 */
function unpack(v: number): number | null {
  if (v <= 0) return null
  if (v === 1) return 0
  const exponent = Math.floor((v - 2) / 900) - 12
  const digits = ((v - 2) % 900) + 100
  return Number(`${digits}e${exponent - 2}`)
}
