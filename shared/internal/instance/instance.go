// Package instance is one plugin process: it starts the process with go-plugin,
// passes its log on, and ends it with all of its process group. It knows nothing of
// the contract that the plugin serves.
package instance

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
)

// Config says what to start.
type Config struct {
	Path      string // of the plugin's binary, absolute
	SHA256    []byte // its checksum, verified before the start; nil: none
	Args, Env []string

	Handshake plugin.HandshakeConfig
	Plugins   plugin.PluginSet

	Logger hclog.Logger // gets the plugin's log
}

// Instance is a plugin process that is ready for connections.
type Instance struct {
	Addr net.Addr    // where it serves
	TLS  *tls.Config // lets the two sides of a connection know each other

	process *process
}

// endPatience is how long a failed start waits for the end of what it started.
const endPatience = 500 * time.Millisecond

// Start starts the plugin and returns when it is ready. It returns an *Error, or
// ctx.Err() where ctx ends before. ctx means nothing to an Instance once it has
// been returned.
func Start(ctx context.Context, cfg Config) (*Instance, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	p := newProcess(cfg)
	config := &plugin.ClientConfig{
		HandshakeConfig:  cfg.Handshake,
		Plugins:          cfg.Plugins,
		RunnerFunc:       p.runner,
		SkipHostEnv:      true, // cfg.Env is all
		AutoMTLS:         true,
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolNetRPC},
		Logger:           hclog.NewNullLogger(), // go-plugin has nothing to add to the errors
		StartTimeout:     time.Hour,             // ctx decides
	}
	var addr net.Addr
	started := make(chan error, 1)
	go func() {
		var err error
		addr, err = plugin.NewClient(config).Start()
		started <- err
	}()
	select {
	case err := <-started:
		if err == nil {
			return &Instance{Addr: addr, TLS: config.TLSConfig, process: p}, nil
		}
		p.end()
		return nil, cfg.explain(err, p.log.Says())
	case <-ctx.Done():
		p.end()
		return nil, ctx.Err()
	}
}

// PID returns the pid of the process.
func (i *Instance) PID() int { return i.process.cmd.Process.Pid }

// Kill kills the process and its process group.
func (i *Instance) Kill() { i.process.kill() }

// Ended is closed once the process has ended and no other holds its stdout or
// stderr. A plugin has a helper hold one of the two for as long as it clears up.
func (i *Instance) Ended() <-chan struct{} { return i.process.ended }

// Abandon kills the process group and stops waiting for other processes that hold
// its stdout or stderr: Ended is closed soon.
func (i *Instance) Abandon() { i.process.abandon() }
