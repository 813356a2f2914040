// Package host is what a host needs to use a bash plugin.
//
// Launch starts the plugin safely (private socket, mutual TLS, checksum, bounded start
// and end), and its Client replaces a plugin that crashes:
//
//	bash, err := host.Launch(ctx, host.LaunchConfig{Path: "bin/bash-plugin"})
//	if err != nil {
//		return err
//	}
//	defer bash.Close()
//	result, err := bash.Execute(ctx, shared.ExecuteRequest{Command: "make test"})
//
// Connect returns the same Client for a plugin on another machine, which serves by a
// serve.Remote. The connection may be lost and come back: no command runs twice, and no
// byte is lost.
//
// A host that ships as one binary calls program.Run of bashplugin/plugin/program at the
// top of main, and is its own plugin. For a plugin under a debugger, see Reattach.
//
// # How a Client reaches its plugin
//
//	Client ► link ► session.Host ── net/rpc ──► plugin
//
// A link is a session with a plugin, and the plugin's process if this host started it. A Client has one
// at a time, and makes another if the plugin is gone. internal/session keeps the session over lost
// connections; internal/instance is the plugin's process. Launch, a reattach and Connect differ in how
// they dial: another way to reach a plugin is another function that returns a net.Conn.
package host
