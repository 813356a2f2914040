package process

// The real-time signals that the C library leaves to programs.
const (
	firstRealTime = 34
	lastRealTime  = 64
)
