package job

import "os"

const pendingRequest = 0x4004667f // FIONREAD

// pipe is os.Pipe: the system sizes its pipes by itself.
func pipe(int) (read, write *os.File, err error) { return os.Pipe() }
