// Numbers for people, as gobench's text report shows them: internal/run/units.

/**
 * Formats v with three significant digits from 1 on, and more before the point; two
 * decimals below 10.
 */
export function digits(v: number): string {
  const a = Math.abs(v)
  return v.toFixed(a >= 99.95 ? 0 : a >= 9.995 ? 1 : 2)
}

/** Formats a time given in milliseconds, in the unit that suits it: 1.50 ms, 2m5s. */
export function millis(ms: number): string {
  const a = Math.abs(ms)
  if (a === 0) return '0'
  if (a < 0.001) return digits(ms * 1e6) + ' ns'
  if (a < 1) return digits(ms * 1e3) + ' µs'
  if (a < 1e3) return digits(ms) + ' ms'
  if (a < 120e3) return digits(ms / 1e3) + ' s'
  return clock(Math.round(ms / 1e3))
}

/** Formats a time given in seconds, as millis does below a minute, else as 1m2.5s. */
export function seconds(s: number): string {
  return s < 60 ? millis(s * 1e3) : clock(Math.round(s * 10) / 10)
}

/** Formats seconds as hours, minutes and seconds: 1h2m3.4s. */
function clock(s: number): string {
  const h = Math.floor(s / 3600)
  const m = Math.floor((s % 3600) / 60)
  const rest = String(Math.round((s % 60) * 10) / 10)
  return (h > 0 ? `${h}h` : '') + (h > 0 || m > 0 ? `${m}m` : '') + `${rest}s`
}

/** Formats a number, rounded to a whole one, with commas between thousands. */
export function count(n: number): string {
  return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ',')
}

/** Formats a number a second, without the unit: three digits below 1,000, else as count. */
export function rate(v: number): string {
  if (v === 0) return '0'
  return Math.abs(v) >= 999.5 ? count(v) : digits(v)
}

/** Formats a number of bytes, in powers of 1024: 1.50 MiB. */
export function bytes(n: number): string {
  if (Math.abs(n) < 1024) return (Number.isInteger(n) ? String(n) : digits(n)) + ' B'
  let i = -1
  while (Math.abs(n) >= 1024 && i < 5) {
    n /= 1024
    i++
  }
  return `${digits(n)} ${'KMGTPE'[i]}iB`
}

/**
 * Formats a share from 0 to 1 in percent, with more digits near 0 and 1; "< 0.01 %" below
 * that.
 */
export function share(v: number): string {
  if (v === 0) return '0 %'
  const near = Math.min(v, Math.abs(1 - v)) // to 0 or to 1, where digits tell
  return (v < 0.0001 ? '< 0.01' : (v * 100).toFixed(near === 0 ? 0 : near < 0.01 ? 2 : near < 0.1 ? 1 : 0)) + ' %'
}

/**
 * Returns the function that formats values of a unit (ns: given in ms); with perSecond it
 * adds "/s".
 */
export function ofUnit(unit: string, perSecond = false): (v: number) => string {
  const plain = unit === 'ns' ? millis : unit === 'B' ? bytes : unit === 'permille' ? (v: number) => share(v / 1000) : rate
  return perSecond ? (v) => plain(v) + '/s' : plain
}

/** Returns format without zeros at the end of decimals, for an axis. */
export function tick(format: (v: number) => string): (v: number) => string {
  return (v) => format(v).replace(/(\.\d*?)0+(?=\D|$)/, '$1').replace(/\.(?=\D|$)/, '')
}
