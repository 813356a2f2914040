package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"

	"bashplugin/shared"
)

// serveDebug serves until a signal ends it, whatever hosts come and go, and prints
// what a host needs to find it.
func serveDebug(f *flags) error {
	surviveBrokenPipes()
	closeInherited()
	s := &session{hostGone: make(chan struct{})}
	s.log = hclog.New(&hclog.LoggerOptions{Name: "bash-plugin", Level: hclog.LevelFromString(f.logLevel), Output: os.Stderr})
	log.SetFlags(0)
	log.SetOutput(s.log.StandardWriter(&hclog.StandardLoggerOptions{InferLevels: true})) // of go-plugin's own lines
	if err := s.open(f, 0); err != nil {
		fmt.Fprintln(os.Stderr, "bash-plugin:", err)
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	where := make(chan *plugin.ReattachConfig, 1)
	go announce(where)
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: shared.Handshake,
		Plugins:         plugin.PluginSet{shared.PluginName: &shared.Plugin{Impl: s.executor}},
		Logger:          s.log,
		Test:            &plugin.ServeTestConfig{Context: ctx, ReattachConfigCh: where},
	})
	return s.end()
}

// announce prints the line for the shell in which the host is started.
func announce(where <-chan *plugin.ReattachConfig) {
	at := <-where
	fmt.Fprintln(os.Stderr, "bash-plugin serves until Ctrl-C. In the shell of a host:")
	fmt.Printf("export %s='%s'\n", shared.ReattachName, shared.Reattach{
		Protocol: at.Protocol,
		Version:  at.ProtocolVersion,
		PID:      at.Pid,
		Network:  at.Addr.Network(),
		Addr:     at.Addr.String(),
	})
}
