// A histogram as docs/formats/hdr.md describes its bytes: 128 ranges to the octave.

import { Bytes, fromBase64 } from './bytes.ts'

const perOctave = 128

export interface Range {
  lo: number
  hi: number
  n: number
}

export interface Histogram {
  count: number
  min: number
  max: number
  ranges: Range[] // those that counted anything, from the least value up
}

export function decodeHistogram(base64: string): Histogram {
  const b = new Bytes(fromBase64(base64))
  if (b.byte() !== 1) throw new Error('a histogram of an unknown version')
  const h: Histogram = { count: 0, min: 0, max: 0, ranges: [] }
  if (b.end()) return h
  h.min = b.uvarint()
  h.max = b.uvarint()
  b.uvarint() // the sum: its mean is in the result
  b.uvarint()
  for (let at = -1; !b.end(); ) {
    at += 1 + b.uvarint()
    const n = b.uvarint()
    h.ranges.push({ ...bounds(at), n })
    h.count += n
  }
  return h
}

function bounds(i: number): { lo: number; hi: number } {
  if (i < perOctave) return { lo: i, hi: i }
  const width = 2 ** (Math.floor(i / perOctave) - 1)
  const lo = (perOctave + (i % perOctave)) * width
  return { lo, hi: lo + width - 1 }
}

const middle = (r: Range) => r.lo + Math.floor((r.hi - r.lo) / 2)

/** The values at shares qs of the recordings, which go up. */
export function quantiles(h: Histogram, qs: number[]): number[] {
  let next = 0
  let seen = 0
  return qs.map((q) => {
    if (h.count === 0) return 0
    if (q <= 0) return h.min
    const rank = Math.max(1, Math.ceil(q * h.count))
    if (q >= 1 || rank >= h.count) return h.max
    while (seen < rank && next < h.ranges.length) seen += h.ranges[next++]!.n
    return Math.min(Math.max(middle(h.ranges[next - 1]!), h.min), h.max)
  })
}

/**
 * The share of the recordings in each step, of which so many make an octave, by its
 * number: step i begins at 2 ** (i / steps).
 */
export function density(h: Histogram, steps: number): Map<number, number> {
  const all = new Map<number, number>()
  for (const r of h.ranges) {
    const i = Math.floor(Math.log2(Math.max(1, middle(r))) * steps)
    all.set(i, (all.get(i) ?? 0) + r.n / h.count)
  }
  return all
}
