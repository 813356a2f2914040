// Emptyplugin is a go-plugin plugin that does nothing. The benchmark compares the
// start of bash-plugin with it.
package main

import (
	"os"

	"github.com/hashicorp/go-plugin"

	"bashplugin/shared"
)

func main() {
	if len(os.Args) > 1 { // as bash-plugin -version
		return
	}
	plugin.Serve(&plugin.ServeConfig{HandshakeConfig: shared.Handshake, Plugins: plugin.PluginSet{}})
}
