package process

// Nothing that a process inherits can be asked of it here.

func marked(_ uint64, fork func()) { fork() }

func markOf(int) uint64 { return 0 }
