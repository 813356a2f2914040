package process

// Peers are groups that may signal each other by SignalPeer, although the kernel keeps them
// apart.
type Peers struct {
	_ byte // so each has its own address
}
