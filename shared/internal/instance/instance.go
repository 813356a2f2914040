// Package instance is one plugin process: it starts the process with go-plugin,
// passes on its log, and kills its process group. It knows nothing about the
// contract that the plugin serves.
package instance

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os/exec"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
)

// Config says what to start.
type Config struct {
	Path      string // of the plugin's binary
	Args, Env []string

	// SHA256 is the binary's checksum, verified before the start; nil: it is not verified.
	SHA256 []byte

	Handshake plugin.HandshakeConfig
	Plugins   plugin.PluginSet

	Stderr io.Writer // gets the plugin's stderr
}

// Instance is a plugin process that is ready for connections.
type Instance struct {
	PID  int
	Addr net.Addr    // where it serves
	TLS  *tls.Config // authenticates both sides of a connection

	// Kill kills the process group, unless the process has ended. It does not wait.
	Kill func()

	client *plugin.Client
}

// LastPatience is how long a failed start waits for the last output of the process and
// its end.
const LastPatience = 500 * time.Millisecond

// Start starts the plugin and returns when it is ready, or when ctx ends. Once Start
// has returned an Instance, ctx no longer affects it. A failed start kills the
// process group.
func Start(ctx context.Context, cfg Config) (*Instance, error) {
	life, kill := context.WithCancel(context.Background())
	cmd := exec.CommandContext(life, cfg.Path, cfg.Args...)
	cmd.Env = cfg.Env
	ownGroup(cmd)
	config := &plugin.ClientConfig{
		HandshakeConfig:  cfg.Handshake,
		Plugins:          cfg.Plugins,
		Cmd:              cmd,
		SkipHostEnv:      true, // cfg.Env is the whole environment
		AutoMTLS:         true,
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolNetRPC},
		StartTimeout:     time.Hour, // ctx decides
		Stderr:           cfg.Stderr,
		// With a logger go-plugin would parse stderr too, and some JSON makes it panic.
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Off}),
	}
	if cfg.SHA256 != nil {
		config.SecureConfig = &plugin.SecureConfig{Checksum: cfg.SHA256, Hash: sha256.New()}
	}
	i := &Instance{Kill: kill, client: plugin.NewClient(config)}
	var failure error
	started := make(chan struct{}) // closed when Addr and failure are set
	go func() {
		defer close(started)
		i.Addr, failure = i.client.Start()
	}()
	var err error
	select {
	case <-started:
		if failure == nil {
			i.PID = cmd.Process.Pid
			i.TLS = config.TLSConfig
			return i, nil
		}
		err = fmt.Errorf("cannot start the plugin %s: %w", cfg.Path, failure)
		kill()
	case <-ctx.Done():
		err = ctx.Err()
		kill()
		select {
		case <-started:
		case <-time.After(LastPatience):
			return nil, err
		}
	}
	if cmd.Process != nil { // kill must take effect before Start returns: the host may exit then
		i.AwaitEnd(LastPatience)
	}
	return nil, err
}

// AwaitEnd waits until the process has ended and no other process holds its stdout
// or stderr; a plugin's guardian holds them until it has cleaned up. It returns
// false if that takes longer than d.
func (i *Instance) AwaitEnd(d time.Duration) bool {
	begin := time.Now()
	for !i.client.Exited() {
		if time.Since(begin) > d {
			return false
		}
		time.Sleep(time.Millisecond) // go-plugin tells only when asked
	}
	return true
}
