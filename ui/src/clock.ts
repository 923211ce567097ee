/**
 * Returns a moment, in seconds, for an axis that shows so many seconds: 7.5 s, 1:30,
 * 2:05:00.
 */
export function clockOf(s: number, shown: number): string {
  if (shown < 120 && s < 600) return `${Number(s.toFixed(shown < 1 ? 3 : shown < 10 ? 2 : 1))} s`
  const whole = Math.round(s)
  const two = (n: number) => String(n).padStart(2, '0')
  const hours = Math.floor(whole / 3600)
  const minutes = Math.floor((whole % 3600) / 60)
  return hours > 0 ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`
}
