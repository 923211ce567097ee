// A histogram as docs/formats/hdr.md describes its bytes: 128 ranges to the octave.

import { Bytes, fromBase64 } from './bytes.ts'

const perOctave = 128

export interface Range {
  lo: number
  hi: number
  n: number
}

/** Recordings in the unit of their metric; min and max are exact, and 0 if count is 0. */
export interface Histogram {
  count: number
  min: number
  max: number
  ranges: Range[] // those that counted anything, from the least value up
}

/**
 * Decodes a histogram from base64. Throws an Error for an unknown version, and for data
 * that are cut short.
 */
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

/** Returns the least and the greatest value of range i. */
function bounds(i: number): { lo: number; hi: number } {
  if (i < perOctave) return { lo: i, hi: i }
  const width = 2 ** (Math.floor(i / perOctave) - 1)
  const lo = (perOctave + (i % perOctave)) * width
  return { lo, hi: lo + width - 1 }
}

const middle = (r: Range) => r.lo + Math.floor((r.hi - r.lo) / 2)

/**
 * Returns the values at shares qs of the recordings, which must be in ascending order; 0
 * for each if there are no recordings. Values are the middle of their range, within min
 * and max.
 */
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
 * Returns the share of the recordings in each step that has any, by its number: step i
 * begins at 2 ** (i / steps), so that steps make an octave. Values below 1 count as 1.
 */
export function density(h: Histogram, steps: number): Map<number, number> {
  const all = new Map<number, number>()
  for (const r of h.ranges) {
    const i = Math.floor(Math.log2(Math.max(1, middle(r))) * steps)
    all.set(i, (all.get(i) ?? 0) + r.n / h.count)
  }
  return all
}
