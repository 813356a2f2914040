package shared

import (
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
)

// endingLog is the host's logger for go-plugin, which complains that it cannot
// connect when it clears up behind a plugin that has ended. That is left out.
type endingLog struct {
	hclog.Logger
	ending atomic.Bool
}

// Debug implements hclog.Logger.
func (l *endingLog) Debug(msg string, args ...any) {
	if !l.ending.Load() {
		l.Logger.Debug(msg, args...)
	}
}

// Warn implements hclog.Logger.
func (l *endingLog) Warn(msg string, args ...any) {
	if !l.ending.Load() {
		l.Logger.Warn(msg, args...)
	}
}

// Error implements hclog.Logger.
func (l *endingLog) Error(msg string, args ...any) {
	if !l.ending.Load() {
		l.Logger.Error(msg, args...)
	}
}
