package process

// tagged only forks: macOS has nothing that children inherit and others can read.
func tagged(_ tag, fork func()) { fork() }

func tagOf(int) tag { return 0 }
