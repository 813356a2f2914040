package process

// There are no real-time signals.
const (
	firstRealTime = 0
	lastRealTime  = 0
)
