package process

// Peers are the groups that may signal each other by SignalPeer, although the kernel keeps
// them apart.
type Peers struct {
	_ byte // so that each has an address of its own
}
