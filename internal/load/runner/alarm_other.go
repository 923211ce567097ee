//go:build !linux

package runner

func newAlarm() alarm { return plainAlarm{} }
