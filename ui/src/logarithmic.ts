// Where a logarithmic axis has its ticks.

/**
 * Returns the round numbers (1 to 9, times a power of ten) from min to max, both above 0,
 * in ascending order. uPlot's own function does not end where min has more than one digit,
 * as 0.0972 has: it steps by what it rounds to 0.
 */
export function logTicks(min: number, max: number): number[] {
  const ticks: number[] = []
  for (let exponent = Math.floor(Math.log10(min)); Number(`1e${exponent}`) <= max; exponent++) {
    for (let digit = 1; digit <= 9; digit++) {
      const tick = Number(`${digit}e${exponent}`) // with no rounding of a product
      if (tick >= min && tick <= max) ticks.push(tick)
    }
  }
  return ticks
}

/** logTicks with the arguments that uPlot passes to an axis's splits. */
export const logSplits = (_u: unknown, _axis: number, min: number, max: number) => logTicks(min, max)
