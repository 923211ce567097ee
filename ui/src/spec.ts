// What a chart shows, as data.

import type { Values } from './series.ts'
import type { Style } from './palette.ts'

export interface Line {
  label: string
  values: Values
  style: Style
  filled?: boolean
  hidden?: boolean // at first
}

/** A chart over the time of the run. */
export interface Chart {
  title: string
  note?: string
  format: (v: number) => string // of values
  lines: Line[]
  whole?: boolean // values are whole numbers
  choices?: Choice[] // other lines the same chart can show, by name; lines is the first
  logarithmic?: boolean // offers a logarithmic axis, and begins with it or not
}

export interface Choice {
  name: string
  lines: Line[]
}
