package shared

import "sync"

// current holds the present one of several values that replace each other, such as the
// connections of a session. The zero value holds none yet. It is safe for concurrent use.
type current[T comparable] struct {
	mu      sync.Mutex // guards the fields below
	now     T          // zero: none at present
	over    bool
	changed sync.Cond
}

// set replaces it. With over, none follows.
func (c *current[T]) set(now T, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now, c.over = now, c.over || over
	c.changed.Broadcast()
}

// get returns it, zero if there is none.
func (c *current[T]) get() (now T, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now, c.over
}

// after waits for one that is not old; zero: none comes any more.
func (c *current[T]) after(old T) (now T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed.L = &c.mu
	for none := now; !c.over && (c.now == none || c.now == old); {
		c.changed.Wait()
	}
	if !c.over {
		now = c.now
	}
	return now
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
