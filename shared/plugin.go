package shared

import (
	"io"
	"net/rpc"

	"github.com/hashicorp/go-plugin"
)

// PluginName is the name under which a Bash is dispensed.
const PluginName = "bash"

// Handshake is what host and plugin must agree on. Its version is raised by each
// incompatible change of the contract.
var Handshake = plugin.HandshakeConfig{
	ProtocolVersion:  2,
	MagicCookieKey:   "BASH_PLUGIN",
	MagicCookieValue: "5a2c7f0e-bash-over-net-rpc",
}

// Plugins is the set of plugins for the host's plugin.ClientConfig. It dispenses a
// Bash, under PluginName.
var Plugins = plugin.PluginSet{PluginName: &Plugin{}}

// Plugin connects a Bash to go-plugin. A host needs only the zero value; a
// plugin sets Impl and serves it.
type Plugin struct {
	// Impl is the Bash that the plugin serves. If it is an io.Closer, a Client
	// closes it before ending the plugin. A call that takes 24 s longer than its
	// request allows counts as a crash of the plugin, as does one that takes 3 s longer
	// while the plugin's process is stopped, and an ErrCrashed or ErrClosed from Impl.
	// If it is a serve.Configurer, it gets the session's settings before the first call.
	Impl Bash

	// Disconnected, if not nil, is called when a host is gone, for any reason, once for
	// each Bash that it has dispensed.
	Disconnected func()

	// Logs says where the logs of the commands are, for the error of a call under way
	// when the plugin crashes; "": nowhere. It is read when a session begins.
	Logs string

	// Log, if not nil, is the plugin's log: Serve sends it to the host as
	// go-plugin's synced stderr, to one connection at a time.
	Log io.Reader
}

var _ plugin.Plugin = (*Plugin)(nil)

// Server is called by go-plugin in the plugin's process.
func (p *Plugin) Server(broker *plugin.MuxBroker) (any, error) {
	server := NewServer(func(config SessionConfig) (Opening, error) {
		err := Configure(p.Impl, config)
		if err != nil {
			return Opening{}, err
		}
		return Opening{Bash: p.Impl, Logs: p.Logs, End: p.disconnected}, nil
	})
	return NewService(server.Endpoint(broker, "", nil)), nil
}

func (p *Plugin) disconnected() {
	if p.Disconnected != nil {
		p.Disconnected()
	}
}

// Client is called by go-plugin in the host's process. It returns a Bash.
func (p *Plugin) Client(broker *plugin.MuxBroker, conn *rpc.Client) (any, error) {
	return dispensed(broker, conn)
}
