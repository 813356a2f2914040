package job

const pendingRequest = 0x4004667f // FIONREAD

// enlargePipe does nothing: the system sizes its pipes by itself.
func enlargePipe(int, int) {}
