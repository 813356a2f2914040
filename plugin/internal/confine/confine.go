// Package confine keeps a command within a shared.Confine and, by Limits, within its
// shared.Resources.
//
// Landlock keeps a command from files, signals and abstract sockets. A seccomp filter keeps it
// from the network and from other ways to reach processes (filter_linux.go). Listeners answer
// the calls about which the filter asks, so that commands of one session can signal each other
// (listener_linux.go).
//
// NewPlan says what a command may touch. A Plan's Restrict restricts the thread that calls it,
// which forks bash and ends (process.Spec.Restrict). bash and all its descendants inherit the
// restriction, and nothing else does.
//
// The Confines of the plugin, the session and the request are layers. Each has a Landlock ruleset
// of its own, and the kernel allows what every layer allows. So a request can never loosen its
// session's Confine.
package confine

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"bashplugin/shared"
)

// Plan is what one command may touch. The zero value confines nothing.
type Plan struct {
	layers []shared.Confine

	// missing names the parts of the layers that this system cannot keep.
	missing []string

	// limited says that the command has limits, so that it must keep its tag: the limits hold
	// for the processes that have it.
	limited bool

	// asSession says that the command is confined as its session is, no tighter.
	asSession bool
}

// Kill decides about a call of kill(2) by a thread. waits reports whether the call still waits.
// Kill returns the call's error, 0 for success, or false if the kernel is to decide.
type Kill func(thread int, waits func() bool, pid int, sig syscall.Signal) (errno syscall.Errno, decided bool)

// NewPlan returns what a command may touch that runs in dir. The session's Confines are resolved
// already, and each confines something; request may be nil. limited says that the command has
// limits.
func NewPlan(session []shared.Confine, request *shared.Confine, dir string, limited bool) (p Plan, err error) {
	layers, err := layersOf(session, request, dir)
	if err != nil || len(layers) == 0 && !limited {
		return p, err
	}
	if runtime.GOOS != "linux" && len(layers) > 0 {
		return p, failed("commands can be confined on Linux only: leave Confine out")
	}
	supported := kernel()
	p.limited = limited && supported.filters
	p.asSession = len(session) > 0 && len(layers) == len(session)
	for _, c := range layers {
		kept, lacks := supported.keepable(c)
		if len(lacks) > 0 && !c.BestEffort {
			return p, failed("this system cannot keep Confine for: %s;"+
				" with BestEffort the command runs with the rest of it", strings.Join(lacks, ", "))
		}
		p.layers = append(p.layers, kept)
		p.missing = append(p.missing, lacks...)
	}
	return p, nil
}

// Restricts reports whether the command needs a thread that is restricted.
func (p Plan) Restricts() bool { return len(p.layers) > 0 || p.limited }

// Confines reports whether the command may not touch something.
func (p Plan) Confines() bool { return len(p.layers) > 0 }

// NeedsTemp reports whether the command needs a folder of its own for temporary files.
func (p Plan) NeedsTemp() bool {
	return slices.ContainsFunc(p.layers, func(c shared.Confine) bool { return c.ReadOnly || c.Private })
}

// Writable lists the folders and files that the command may change, with all that is below; nil:
// whatever its user may change.
func (p Plan) Writable() (paths []string) {
	for _, c := range p.layers { // a later layer is tighter
		if c.ReadOnly {
			paths = c.Writable
		}
	}
	return paths
}

// Failed is the error of a command that cannot be kept within the plan.
func (p Plan) Failed(format string, args ...any) error {
	field := "Confine"
	if !p.Confines() {
		field = "Resources"
	}
	return &shared.Error{Code: shared.CodeStart, Field: field, Message: fmt.Sprintf(format, args...)}
}

func failed(format string, args ...any) error {
	return &shared.Error{Code: shared.CodeStart, Field: "Confine", Message: fmt.Sprintf(format, args...)}
}

// layersOf returns the session's Confines and, if it confines something, the request's, resolved.
func layersOf(session []shared.Confine, request *shared.Confine, dir string) (layers []shared.Confine, err error) {
	if request == nil {
		return session, nil
	}
	c, err := request.Resolve(dir)
	if err != nil || !c.Confines() {
		return session, err
	}
	err = Within(c, session)
	if err != nil {
		return nil, err
	}
	return append(slices.Clone(session), c), nil
}

// Within returns an error if c may write somewhere where one of the others may not. All of them
// are resolved.
func Within(c shared.Confine, others []shared.Confine) error {
	for _, path := range c.Writable {
		above := func(root string) bool {
			rest, err := filepath.Rel(root, path)
			return err == nil && filepath.IsLocal(rest)
		}
		for _, other := range others {
			if other.ReadOnly && !slices.ContainsFunc(other.Writable, above) {
				message := fmt.Sprintf("Confine.Writable: %q is not within what the session allows:"+
					" name something below %q", path, other.Writable)
				return &shared.Error{Code: shared.CodeInvalid, Field: "Confine.Writable", Message: message}
			}
		}
	}
	return nil
}

// system is what a kernel can keep.
type system struct {
	landlock int  // the version of Landlock; 0: none
	filters  bool // there are seccomp filters
}

// scopesSignals reports whether a command is kept from signalling what is outside of its domain.
func (s system) scopesSignals() bool { return s.landlock >= 6 }

// keepable returns the part of c that the system can keep, and names the rest.
func (s system) keepable(c shared.Confine) (kept shared.Confine, missing []string) {
	switch {
	case (c.ReadOnly || c.Private) && s.landlock < 1:
		c.ReadOnly = false
		c.Private = false
		missing = append(missing, "files (Landlock, since Linux 5.13)")
	case c.ReadOnly && s.landlock < 3:
		missing = append(missing, "truncation of files (Landlock ABI 3, since Linux 6.2)")
	}
	if !s.scopesSignals() {
		missing = append(missing, "signals and abstract sockets (Landlock ABI 6, since Linux 6.12)")
	}
	if s.filters {
		return c, missing
	}
	if c.NoNetwork {
		c.NoNetwork = false
		missing = append(missing, "network (seccomp filters, on x86-64 and arm64)")
	}
	return c, append(missing, "limits of other processes (seccomp filters, on x86-64 and arm64)")
}

// Text says what the command may touch, as in "it may write below /work, $TMPDIR; network:
// none"; "": everything.
func (p Plan) Text() string {
	var files, private, network, lacks string
	for _, c := range p.layers { // a later layer is tighter
		if c.ReadOnly {
			paths := slices.Concat(c.Writable, []string{"$TMPDIR"})
			files = "it may write below " + strings.Join(paths, ", ")
		}
		if c.Private {
			paths := slices.Concat(c.Readable, c.Writable, []string{"$TMPDIR and the system's folders"})
			private = "it may read below " + strings.Join(paths, ", ")
		}
		if c.NoNetwork {
			network = "network: none"
		}
	}
	if len(p.missing) > 0 {
		lacks = "this system cannot keep: " + strings.Join(p.missing, ", ")
	}
	var parts []string
	for _, part := range []string{files, private, network, lacks} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "; ")
}
