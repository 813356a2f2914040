// Package shared is the contract between a host and a bash tool that runs as a
// plugin, and everything that a host needs to load one.
//
// The contract is Bash: Execute runs a command, Check reports on a job, and
// Kill ends one. A command that outlives its Execute, or leaves processes
// behind, is a job, named by the pid of its bash.
//
// A host has three ways to a Bash. Launch starts the plugin safely (private
// socket, mutual TLS, checksum, bounded start and end) and replaces it when it
// crashes:
//
//	bash, err := shared.Launch(ctx, shared.LaunchConfig{Path: "bin/bash-plugin"})
//	if err != nil {
//		return err
//	}
//	defer bash.Close()
//	result, err := bash.Execute(ctx, shared.ExecuteRequest{Command: "make test"})
//
// A host that ships as one binary calls program.Run of bashplugin/plugin/program at
// the top of main, and is its own plugin.
//
// Connect connects to a plugin on another machine, which serves by a Remote.
//
// A host that uses hashicorp/go-plugin for other plugins too passes Handshake
// and Plugins to plugin.NewClient, dispenses PluginName and gets a Bash.
//
// A plugin wraps its implementation of Bash in a Plugin and passes that to Serve,
// or to go-plugin's own Serve with the same Handshake; this module's is in plugin/.
//
// # How a call travels
//
//	host: Client ► client ── net/rpc ──► server ► implementation of Bash   :plugin
//	      live writers ◄ liveReceiver ◄── frames ── liveSender ◄
//
// The calls share one connection, a link, which internal/muxconn keeps alive while
// either side is stopped; internal/instance is the plugin's process. A lost one to another
// machine is replaced: calls are sent again under their numbers, live copies go on where
// they stopped. Another way to reach a plugin is another function that returns a link.
package shared
