package service

import (
	"cmp"
	"crypto/tls"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"

	"bashplugin/plugin/internal/executor"
	"bashplugin/plugin/internal/job"
	"bashplugin/plugin/internal/process"
	"bashplugin/plugin/internal/rmtree"
	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/serve"
)

// serveRemote serves hosts on other machines until a signal ends it. The sessions share
// this process's table of processes and its guardian; each has an executor of its own.
func serveRemote(f *flags) error {
	s, signals := newService(f), make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	var certs atomic.Pointer[tls.Config]
	reload := func() error {
		config, err := host.LoadTLS(f.cert, f.key, f.clientCA)
		if err == nil {
			certs.Store(config)
		}
		return err
	}
	if err := reload(); err != nil {
		return err
	}
	cfg, err := s.prepare(f, 0)
	if err != nil {
		return err
	}
	defer rmtree.Path(s.folder) //nolint:errcheck // the guardian does it too
	cfg.Table, cfg.Turns = process.NewTable(cfg.Guardian), job.NewTurns(runtime.GOMAXPROCS(0))
	defer cfg.Table.Close()
	remote := &serve.Remote{TLS: certs.Load, MaxLinger: f.maxLinger, Logger: s.log, Open: func(session shared.SessionConfig) (shared.Bash, error) {
		cfg := cfg
		cfg.Dir = cmp.Or(session.Dir, cfg.Dir)
		cfg.DropEnv = slices.Concat(cfg.DropEnv, session.DropEnv)
		cfg.Env = slices.Concat(cfg.Env, session.Env)
		cfg.Logger = cfg.Logger.With("host", session.Host)
		return executor.New(cfg)
	}}
	failed := make(chan error, 2)
	listen := func(what, address string, serve func(net.Listener) error) {
		listener, err := net.Listen("tcp", address)
		if err == nil {
			s.log.Info("serves "+what, "address", listener.Addr().String())
			err = serve(listener)
		}
		failed <- err
	}
	if f.health != "" {
		mux := http.NewServeMux()
		mux.Handle("GET /healthz", remote)
		go listen("its health", f.health, func(l net.Listener) error { return http.Serve(l, mux) })
	}
	go listen("hosts", f.listen, remote.Serve)
	for {
		select {
		case err := <-failed:
			return err
		case sig := <-signals:
			if sig == syscall.SIGHUP {
				s.sayReload(reload())
				continue
			}
			s.log.Info("ends", "signal", sig.String())
		}
		remote.Drain(f.drain)
		return nil
	}
}

// sayReload logs whether the certificates could be read again.
func (s *service) sayReload(err error) {
	if err != nil {
		s.log.Error("cannot read the certificates again, those from before stay in use", "error", err)
		return
	}
	s.log.Info("has read the certificates again")
}
