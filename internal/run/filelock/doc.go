// Package filelock locks files between processes.
package filelock
