package process

import (
	"os"
	"syscall"
	"time"
)

// hostPatience is how long the plugin may outlive its host.
const hostPatience = 1 * time.Second

// AwaitParent returns when parent, which is or was this process's parent, has
// ended.
func AwaitParent(parent int) {
	p, err := stat(parent)
	if err == nil && os.Getppid() == parent {
		awaitExit(p)
	}
}

// watchHost ends a plugin that does not follow its host because it is stopped
// or stuck.
func (o *orders) watchHost() {
	if o.Host == 0 {
		return
	}
	plugin, err := stat(o.Plugin)
	if err != nil {
		return
	}
	if host, err := stat(o.Host); err == nil {
		awaitExit(host)
	}
	time.Sleep(hostPatience)
	_ = send(plugin, syscall.SIGKILL)
}
