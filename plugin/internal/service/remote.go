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
)

// serveRemote serves hosts on other machines until a signal ends it. The sessions share
// this process's table of processes and its guardian; each has an executor of its own.
func serveRemote(f *flags) error {
	s := newService(f)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	certs := &certificates{flags: &f.remote}
	err := certs.load()
	if err != nil {
		return err
	}
	cfg, err := s.prepare(f, 0)
	if err != nil {
		return err
	}
	defer rmtree.Path(s.folder) //nolint:errcheck // the guardian does it too
	cfg.Table = process.NewTable(cfg.Guardian)
	cfg.Turns = job.NewTurns(runtime.GOMAXPROCS(0))
	defer cfg.Table.Close()
	remote := &shared.Remote{
		TLS:       certs.config.Load,
		MaxLinger: f.remote.maxLinger,
		Logger:    s.log,
		Open:      func(session shared.SessionConfig) (shared.Bash, error) { return openSession(cfg, session) },
	}
	failed := make(chan error, 2)
	if f.remote.health != "" {
		mux := http.NewServeMux()
		mux.Handle("GET /healthz", remote)
		serveHTTP := func(l net.Listener) error { return http.Serve(l, mux) }
		go func() { failed <- s.listen("its health", f.remote.health, serveHTTP) }()
	}
	go func() { failed <- s.listen("hosts", f.remote.listen, remote.Serve) }()
	for {
		select {
		case err := <-failed:
			return err
		case sig := <-signals:
			if sig != syscall.SIGHUP {
				s.log.Info("ends", "signal", sig.String())
				remote.Drain(f.remote.drain)
				return nil
			}
			s.sayReload(certs.load())
		}
	}
}

// certificates are the files that the -tls flags name. They can be read again while this
// process serves.
type certificates struct {
	flags  *remoteFlags
	config atomic.Pointer[tls.Config]
}

// load reads the files. If that fails, those from before stay in use.
func (c *certificates) load() error {
	config, err := shared.LoadTLS(c.flags.cert, c.flags.key, c.flags.clientCA)
	if err != nil {
		return err
	}
	c.config.Store(config)
	return nil
}

// openSession makes the executor of a host's session.
func openSession(cfg executor.Config, session shared.SessionConfig) (shared.Bash, error) {
	cfg.Dir = cmp.Or(session.Dir, cfg.Dir)
	cfg.DropEnv = slices.Concat(cfg.DropEnv, session.DropEnv)
	cfg.Env = slices.Concat(cfg.Env, session.Env)
	cfg.Logger = cfg.Logger.With("host", session.Host)
	return executor.New(cfg)
}

// listen calls serve with a listener at an address, and logs what it serves.
func (s *service) listen(what, address string, serve func(net.Listener) error) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	s.log.Info("serves "+what, "address", listener.Addr().String())
	return serve(listener)
}

// sayReload logs whether the certificates could be read again.
func (s *service) sayReload(err error) {
	if err != nil {
		s.log.Error("cannot read the certificates again, those from before stay in use", "error", err)
		return
	}
	s.log.Info("has read the certificates again")
}
