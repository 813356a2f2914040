package host

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"

	"github.com/hashicorp/go-plugin"

	"bashplugin/shared"
	"bashplugin/shared/internal/instance"
	"bashplugin/shared/internal/session"
)

// ReattachName is the environment variable that makes Launch connect to a
// plugin that runs already, under a debugger, instead of starting one. Its
// value is a Reattach in JSON; bash-plugin -debug prints it.
const ReattachName = "BASH_PLUGIN_REATTACH"

// Reattach is the address of a plugin that was started by hand.
//
// The Client does not end this plugin. Close ends the connection and the commands of
// calls under way; jobs live on until they are killed or the plugin is stopped, and
// the next Client finds them. Calls wait while a debugger has stopped the plugin. From the
// LaunchConfig only Dir, Logger and StartTimeout apply.
type Reattach struct {
	Protocol plugin.Protocol `json:"protocol"`
	Version  int             `json:"version"` // of the contract
	PID      int             `json:"pid"`
	Network  string          `json:"network"`
	Addr     string          `json:"addr"`
}

// parseReattach returns the Reattach in the environment's value, nil if that is empty.
func parseReattach(value string) (*Reattach, error) {
	if value == "" {
		return nil, nil
	}
	r := new(Reattach)
	if err := json.Unmarshal([]byte(value), r); err != nil {
		return nil, launchError("", err,
			"%s is not what bash-plugin -debug prints (%v): copy the whole line, or unset it", ReattachName, err)
	}
	if r.Protocol != plugin.ProtocolNetRPC || r.Version != int(shared.Handshake.ProtocolVersion) {
		return nil, launchError("", nil, "%s is of a plugin that speaks %s with version %d of the contract, "+
			"this host %s with version %d: build both from one version",
			ReattachName, r.Protocol, r.Version, plugin.ProtocolNetRPC, shared.Handshake.ProtocolVersion)
	}
	return r, nil
}

// attach connects to the plugin, unless ctx ends first.
func (cfg *LaunchConfig) attach(ctx context.Context, r *Reattach) (*link, error) {
	if cfg.Confine.Confines() || cfg.Resources != (shared.Resources{}) {
		return nil, launchError("Confine", nil, "the plugin of %s was started by hand: confine and limit its "+
			"commands by its flags -confine and -resources, and leave Confine and Resources out", ReattachName)
	}
	attempt, cancel := context.WithTimeout(ctx, cfg.StartTimeout)
	defer cancel()
	l := &link{id: r.PID, held: true}
	var err error
	l.session, l.bash, l.logs, err = shared.OpenSession(attempt, session.Config{
		Dial:    dial(r.Network, r.Addr, nil), // its log is on its stderr
		Stopped: func() bool { return instance.IsStopped(r.PID) },
		Patient: true,
	}, shared.SessionConfig{})
	l.bash = inDir{l.bash, cfg.Dir}
	ours, isOurs := errors.AsType[*shared.Error](err)
	switch {
	case err == nil:
		cfg.Logger.Info("connected to a plugin that runs already", "pid", r.PID)
		return l, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case isOurs:
		return nil, ours
	case attempt.Err() != nil:
		return nil, launchError("StartTimeout", err,
			"the plugin of %s (pid %d) does not answer within %v: does a debugger hold it?",
			ReattachName, r.PID, cfg.StartTimeout)
	}
	return nil, launchError("", err, "no plugin serves where %s says (%v): start bash-plugin -debug again "+
		"and use the line that it prints, or unset the variable", ReattachName, err)
}

// inDir makes commands run in dir, for a plugin whose own directory the host cannot set.
type inDir struct {
	shared.Bash
	dir string
}

// Execute implements shared.Bash.
func (b inDir) Execute(ctx context.Context, req shared.ExecuteRequest) (*shared.Result, error) {
	if !filepath.IsAbs(req.Dir) {
		req.Dir = filepath.Join(b.dir, req.Dir)
	}
	return b.Bash.Execute(ctx, req)
}

// String is the value for the environment.
func (r Reattach) String() string {
	text, _ := json.Marshal(r) // cannot fail
	return string(text)
}
