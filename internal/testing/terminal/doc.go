// Package terminal tests gobench on a terminal: what it draws during a run, what keys
// do, and that the terminal is as before when gobench ends.
package terminal
