// The time that all charts of a run show, and the moment that the cursor is at.

export interface Follower {
  zoomed?(): void
  moved?(): void
}

/**
 * The time that all charts of a run show, in seconds since the load began. Its followers
 * are called, synchronously, after each change of what is shown or of the cursor.
 */
export class Timeline {
  min: number
  max: number
  at: number | null = null // seconds since the load began; null: the cursor is on no chart
  private followers: Follower[] = []

  /** Of a run that takes so many seconds. */
  constructor(readonly length: number) {
    this.min = 0
    this.max = length
  }

  /** Adds a follower, which is never removed. It is not called for the current state. */
  follow(f: Follower) {
    this.followers.push(f)
  }

  get zoomed(): boolean {
    return this.min > 0 || this.max < this.length
  }

  /**
   * Shows what lies between two moments in any order, at least a thousandth of the run,
   * within the run.
   */
  zoom(from: number, to: number) {
    const least = this.length / 1000
    let min = Math.max(0, Math.min(from, to))
    let max = Math.min(this.length, Math.max(from, to))
    if (max - min < least) {
      const middle = Math.min(Math.max((min + max) / 2, least / 2), this.length - least / 2)
      min = middle - least / 2
      max = middle + least / 2
    }
    if (min === this.min && max === this.max) return
    this.min = min
    this.max = max
    for (const f of this.followers) f.zoomed?.()
  }

  reset() {
    this.zoom(0, this.length)
  }

  /** Sets the moment of the cursor, which may be outside of what is shown; null for none. */
  move(at: number | null) {
    if (at === this.at) return
    this.at = at
    for (const f of this.followers) f.moved?.()
  }
}
