// Package shared is the contract between a host and a bash tool that runs as a
// plugin: what both sides of a hashicorp/go-plugin pair share.
//
// The contract is Bash: Execute runs a command, Check reports on a job, and
// Kill ends one. A command that outlives its Execute, or leaves processes
// behind, is a job, named by the pid of its bash. Each call answers with a Result,
// or with an Error that says why there is none.
//
//	result, err := bash.Execute(ctx, shared.ExecuteRequest{Command: "make test"})
//	if errors.Is(err, shared.ErrCrashed) {
//		return err // the next call gets a fresh plugin
//	}
//
// Confine says what a command may touch, and Resources what it may use.
//
// # Where a Bash comes from
//
// Package host starts a plugin, or connects to one on another machine. A host that uses
// go-plugin for other plugins too needs this package alone: it passes Handshake and
// Plugins to plugin.NewClient, dispenses PluginName and gets a Bash.
//
// A plugin wraps its implementation of Bash in a Plugin and passes that to package
// serve, or to go-plugin's own Serve with the same Handshake; this module's is in
// bashplugin/plugin. Package tool puts any Bash before a model, and
// package policy decides which commands reach it.
//
// # How a call travels
//
//	host: client ► session.Host ── net/rpc ──► session.Endpoint ► service ► Bash   :plugin
//	      live writers ◄ liveReceiver ◄───── live bytes ────── liveSender ◄
//
// The session (internal/session) numbers the calls. If its connection is lost and made again, calls
// are sent again under their numbers, and live bytes go on where they stopped.
//
// A session begins with the host's SessionConfig. Both sides name their version of the contract
// first, and disconnect if the versions differ.
package shared
