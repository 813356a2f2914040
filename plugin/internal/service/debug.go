package service

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"

	"bashplugin/plugin/internal/executor"
	"bashplugin/shared"
	"bashplugin/shared/host"
)

// newService prepares this process to serve by itself, with its log on stderr.
func newService(f *flags) *service {
	surviveBrokenPipes()
	closeInherited()
	logger := hclog.New(&hclog.LoggerOptions{
		Name:   "bash-plugin",
		Level:  hclog.LevelFromString(f.logLevel),
		Output: os.Stderr,
	})
	log.SetFlags(0) // go-plugin uses package log, too
	log.SetOutput(logger.StandardWriter(&hclog.StandardLoggerOptions{InferLevels: true}))
	return &service{log: logger, hostGone: make(chan struct{})}
}

// serveDebug serves any number of hosts until a signal ends it. It prints the
// variable that makes a host connect to it.
func serveDebug(f *flags) error {
	s := newService(f)
	cfg, err := s.prepare(f, 0)
	if err != nil {
		return say(err)
	}
	cfg.Logs = logsOf(f.logs, shared.SessionConfig{})
	keepLogs(cfg)
	bash, err := executor.New(cfg)
	if err != nil {
		return say(err)
	}
	s.session = bash
	ctx, stop := signal.NotifyContext(context.Background(),
		os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	where := make(chan *plugin.ReattachConfig, 1)
	announced := make(chan error, 1)
	go func() {
		problem := announce(<-where)
		announced <- problem
		if problem != nil {
			stop() // no host could find it
		}
	}()
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: shared.Handshake,
		Plugins:         plugin.PluginSet{shared.PluginName: &shared.Plugin{Impl: bash}},
		Logger:          s.log,
		Test:            &plugin.ServeTestConfig{Context: ctx, ReattachConfigCh: where},
	})
	select {
	case err = <-announced:
	default:
	}
	return errors.Join(say(err), s.end())
}

// announce prints the line for the shell in which the host is started.
func announce(at *plugin.ReattachConfig) error {
	fmt.Fprintln(os.Stderr, "bash-plugin serves until Ctrl-C. In the shell of a host:")
	value := host.Reattach{
		Protocol: at.Protocol,
		Version:  at.ProtocolVersion,
		PID:      at.Pid,
		Network:  at.Addr.Network(),
		Addr:     at.Addr.String(),
	}.String()
	quoted := "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
	_, err := fmt.Printf("export %s=%s\n", host.ReattachName, quoted)
	return err
}
