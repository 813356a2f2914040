package shared

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-plugin"
)

// ReattachName is the environment variable that makes Launch connect to a
// plugin that runs already, under a debugger, instead of starting one. Its
// value is a Reattach in JSON; bash-plugin -debug prints it.
const ReattachName = "BASH_PLUGIN_REATTACH"

// Reattach says where a plugin serves that was started by hand.
//
// Such a plugin is not the Client's to end. Close ends the connection and the
// commands of calls under way; jobs live on, until they are killed or the
// plugin is stopped, and the next Client finds them. However long a debugger
// holds it, calls wait for as long as their context lets them, but for an Execute
// with live writers: one that begins while the plugin is held for more than 75 s
// fails with ErrCrashed. Of a LaunchConfig only Dir, Logger and StartTimeout apply.
type Reattach struct {
	Protocol plugin.Protocol `json:"protocol"`
	Version  int             `json:"version"` // of the contract
	PID      int             `json:"pid"`
	Network  string          `json:"network"`
	Addr     string          `json:"addr"`
}

// reattachment returns what the environment asks for, nil where it does not.
func reattachment() (*Reattach, error) { return parseReattach(os.Getenv(ReattachName)) }

func parseReattach(value string) (*Reattach, error) {
	if value == "" {
		return nil, nil
	}
	r := new(Reattach)
	if err := json.Unmarshal([]byte(value), r); err != nil {
		return nil, launchError(err, "%s is not what bash-plugin -debug prints (%v): copy the whole line, or unset it", ReattachName, err)
	}
	if r.Protocol != plugin.ProtocolNetRPC || r.Version != int(Handshake.ProtocolVersion) {
		return nil, launchError(nil, "%s is of a plugin that speaks %s with version %d of the contract, this host %s with version %d: build both from one version",
			ReattachName, r.Protocol, r.Version, plugin.ProtocolNetRPC, Handshake.ProtocolVersion)
	}
	return r, nil
}

// attach connects to the plugin, unless ctx ends or stop is closed before.
func (cfg *LaunchConfig) attach(ctx context.Context, stop <-chan struct{}, r *Reattach) (*session, error) {
	attempt, cancel := context.WithTimeout(ctx, cfg.StartTimeout)
	defer cancel()
	go func() {
		select {
		case <-stop:
			cancel()
		case <-attempt.Done():
		}
	}()
	s, err := cfg.connectTo(attempt, r)
	if err == nil {
		return s, nil
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-stop:
		return nil, errClientClosed()
	default:
		return nil, err
	}
}

// connectTo is attach until ctx ends.
func (cfg *LaunchConfig) connectTo(ctx context.Context, r *Reattach) (*session, error) {
	var dialer net.Dialer
	nobody := func(err error) error {
		return launchError(err, "no plugin serves where %s says (%v): start bash-plugin -debug again and use the line that it prints, or unset the variable", ReattachName, err)
	}
	connected, err := dialer.DialContext(ctx, r.Network, r.Addr)
	if err != nil {
		return nil, nobody(err)
	}
	conn := &muxConn{Conn: patient(connected)}
	stop := context.AfterFunc(ctx, func() { conn.Close() }) // a plugin that a debugger holds does not answer
	protocol, bash, err := dispense(conn)
	if err == nil && !stop() {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		if ctx.Err() == nil { // it ended at once
			return nil, nobody(err)
		}
		return nil, launchError(err, "the plugin of %s (pid %d) does not answer within %v: does a debugger hold it? (%v)", ReattachName, r.PID, cfg.StartTimeout, err)
	}
	if c, ok := bash.(*client); ok {
		c.held = true
	}
	s := &session{conn: conn, protocol: protocol, bash: inDir{bash, cfg.Dir}, ended: make(chan struct{})}
	s.watch(r.PID)
	cfg.Logger.Info("connected to a plugin that runs already", "pid", r.PID)
	return s, nil
}

// inDir is a Bash whose own directory is another one than the host's.
type inDir struct {
	Bash
	dir string
}

// Execute implements Bash.
func (b inDir) Execute(ctx context.Context, req ExecuteRequest) (*Result, error) {
	if !filepath.IsAbs(req.Dir) {
		req.Dir = filepath.Join(b.dir, req.Dir)
	}
	return b.Bash.Execute(ctx, req)
}

// String is the value for the environment.
func (r Reattach) String() string {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Sprint(err)
	}
	return string(text)
}
