package service

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"golang.org/x/sys/unix"

	"bashplugin/plugin/internal/executor"
	"bashplugin/plugin/internal/output"
	"bashplugin/plugin/internal/process"
	"bashplugin/plugin/internal/rmtree"
	"bashplugin/shared"
	"bashplugin/shared/serve"
)

// endTimeout bounds how long this process takes to end the session. The guardian
// does the rest.
const endTimeout = 4 * time.Second

// service is the state of the process while it serves.
type service struct {
	log    hclog.Logger
	folder string // of the socket

	// session has the commands of the host that this process serves; nil: it serves several hosts.
	session io.Closer

	// hostGone is closed when a host that was connected is gone.
	hostGone chan struct{}
}

// serveHost serves the host until the host asks the plugin to quit, or is gone.
func serveHost(f *flags) error {
	surviveBrokenPipes()
	closeInherited()
	host := os.Getppid()
	if hostLeft() {
		return errors.New("the host is gone")
	}
	lines := newLogPipe()
	s := &service{hostGone: make(chan struct{})}
	s.log = hclog.New(&hclog.LoggerOptions{
		Name:       "bash-plugin",
		Level:      hclog.LevelFromString(f.logLevel),
		Output:     lines,
		JSONFormat: true,
	})
	cfg, err := s.prepare(f, host)
	if err != nil {
		return say(err)
	}
	p := &shared.Plugin{
		Disconnected: sync.OnceFunc(func() { close(s.hostGone) }),
		Log:          lines,
	}
	session := &localSession{begin: func(settings shared.SessionConfig) (*executor.Executor, error) {
		own, err := within(cfg, settings)
		if err != nil {
			return nil, err
		}
		own.Logs = logsOf(f.logs, settings)
		p.Logs = own.Logs.Pattern()
		keepLogs(own)
		return executor.New(own)
	}}
	p.Impl = session
	s.session = session
	go s.watchHost()
	go s.watchSignals()
	served := serve.Serve(p)
	return errors.Join(say(served), s.end())
}

// keepLogs tells the guardian where the logs are.
func keepLogs(cfg executor.Config) {
	if slices.ContainsFunc(cfg.Confine, func(c shared.Confine) bool { return c.Confines() }) {
		_ = cfg.Logs.Folder.Open() // before the guardian looks for it, and before any command runs
	}
	sweep := cfg.Logs.Retention < 0 // even if this process is killed
	cfg.Guardian.KeepLogs(cmp.Or(cfg.Logs.Dir, output.DefaultLogDir()), sweep)
}

// hostLeft reports whether this process's stdout has lost its reader: then the host
// has died. If it has not, the parent process that serveHost looked up just before is the host.
func hostLeft() bool {
	stdout := []unix.PollFd{{Fd: int32(os.Stdout.Fd())}}
	n, err := unix.Poll(stdout, 0)
	return err == nil && n > 0
}

// surviveBrokenPipes keeps SIGPIPE from killing this process when it writes to a dead
// host: it still has to clean up. The signal is caught and not ignored, because commands would
// inherit an ignored signal.
func surviveBrokenPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// prepare makes the socket's folder and the guardian. It returns the configuration for an
// executor.
func (s *service) prepare(f *flags, host int) (executor.Config, error) {
	go sweepFolders()
	s.folder = newFolder()
	env := os.Environ()
	if err := os.Setenv(plugin.EnvUnixSocketDir, s.folder); err != nil {
		return executor.Config{}, err
	}
	duties := process.Duties{
		Host:   host,
		Remove: []string{s.folder},
	}
	crash, err := process.TextFile("") // it has no name: a command cannot replace it
	if err == nil {
		defer crash.Close()
		_ = debug.SetCrashOutput(crash, debug.CrashOptions{}) // stderr has no reader
		duties.Crash = crash
	}
	guardian, err := process.StartGuardian(duties)
	if err != nil {
		return executor.Config{}, err
	}
	if err := os.Mkdir(s.folder, 0o700); err != nil { // only once there is a guardian to remove it
		return executor.Config{}, fmt.Errorf("cannot make a folder for the socket: %w", err)
	}
	return executor.Config{
		Dir:       f.dir,
		Env:       env,
		DropEnv:   f.dropEnv,
		Confine:   []shared.Confine{f.confine},
		Resources: f.resources,
		Temp:      s.folder,
		Logger:    s.log,
		Guardian:  guardian,
	}, nil
}

// watchHost ends the session when the host is gone. If the host dies before it has
// connected, the guardian does that.
func (s *service) watchHost() {
	<-s.hostGone
	s.log.Debug("the host is gone")
	exit(s.end())
}

// watchSignals ends the session at a signal. If SIGHUP was ignored at the start, as
// under nohup, it does not end the session, but is caught: commands would inherit an
// ignored signal.
func (s *service) watchSignals() {
	hangUps := syscall.Signal(0)
	if signal.Ignored(syscall.SIGHUP) {
		hangUps = syscall.SIGHUP
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	sig := <-signals
	for sig == hangUps {
		sig = <-signals
	}
	s.log.Debug("ended by a signal", "signal", sig.String())
	exit(s.end())
}

// end ends the session. It may be called several times at once: the first call does
// the work.
func (s *service) end() error {
	time.AfterFunc(endTimeout, func() { os.Exit(1) })
	err := s.session.Close()
	if err != nil {
		s.log.Error("cannot end every command", "error", err)
	}
	// Give the answer to the host's last call time to leave: the host hangs up then.
	select {
	case <-s.hostGone:
	case <-time.After(100 * time.Millisecond):
	}
	_ = rmtree.Path(s.folder)
	return err
}
