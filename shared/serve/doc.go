// Package serve is what a plugin needs to offer a Bash to hosts.
//
// Serve is the main function of a plugin that a host on this machine starts:
//
//	func main() {
//		if err := serve.Serve(&shared.Plugin{Impl: bash}); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// A Bash that is a Configurer gets what the host asks for all commands, before the first one. If
// the Bash is no Configurer, a host that asks to confine or limit them is refused.
//
// Serve speaks the protocol of hashicorp/go-plugin: host.Launch and a host with go-plugin's own
// client both start such a plugin.
//
// A Remote serves hosts on other machines over TLS, each with a session of its own that
// outlives a lost connection for a while. host.Connect is the host's side.
package serve
