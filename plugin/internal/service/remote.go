package service

import (
	"crypto/tls"
	"net"
	"os"
	"os/signal"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

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
	cfg.Logs = logsOf(f.logs, shared.SessionConfig{})
	keepLogs(cfg)
	cfg.Table = process.NewTable(cfg.Guardian)
	cfg.Turns = job.NewTurns(runtime.GOMAXPROCS(0))
	defer cfg.Table.Close()
	remote := &serve.Remote{
		TLS:       certs.config.Load,
		MaxLinger: f.remote.maxLinger,
		Logger:    s.log,
		Open:      func(session shared.SessionConfig) (shared.Bash, error) { return openRemote(cfg, session) },
	}
	failed := make(chan error, 2)
	if f.remote.health != "" {
		go func() { failed <- s.listen("its health", f.remote.health, remote.ServeHealth) }()
	}
	go func() { failed <- s.listen("hosts", f.remote.listen, remote.Serve) }()
	for {
		select {
		case err := <-failed:
			return err
		case sig := <-signals:
			if sig != syscall.SIGHUP {
				s.log.Info("ends", "signal", sig.String())
				s.drain(remote, f.remote.drain, signals)
				return nil
			}
			s.sayReload(certs.load())
		}
	}
}

// drain waits until all sessions have ended. After patience, or at another signal, it ends them.
func (s *service) drain(remote *serve.Remote, patience time.Duration, signals <-chan os.Signal) {
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		remote.Drain(patience)
	}()
	for {
		select {
		case <-drained:
			return
		case sig := <-signals:
			if sig != syscall.SIGHUP {
				s.log.Info("ends at once", "signal", sig.String())
				remote.Drain(0)
			}
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
	config, err := host.LoadTLS(c.flags.cert, c.flags.key, c.flags.clientCA)
	if err != nil {
		return err
	}
	c.config.Store(config)
	return nil
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
