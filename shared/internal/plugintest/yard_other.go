//go:build unix && !linux

package plugintest

func actAsPlugin() {}
