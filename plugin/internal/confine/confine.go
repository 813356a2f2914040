// Package confine keeps a command within a shared.Confine and, by Limits, within its
// shared.Resources.
//
// Landlock keeps the files, the signals and the abstract sockets, a seccomp filter
// the network. New prepares a Policy, on any thread. Its Restrict restricts the thread
// that forks (process.Spec.Restrict): bash and all that descends from it inherit that,
// and nothing else does.
//
// The session's Confine and the request's are layers, each with a Landlock ruleset of
// its own. The kernel allows what every layer allows, so that a request can never
// loosen its session's.
package confine

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"bashplugin/shared"
)

// Policy keeps one command within its layers. The zero value confines nothing.
type Policy struct {
	Text     string       // what the command may touch, for its Results; "": everything
	Env      []string     // its TMPDIR, if it has one of its own
	Restrict func() error // restricts the thread that calls it, for good; nil: nothing to restrict

	temp     string // "": it has no TMPDIR of its own
	rulesets []int  // descriptors of Landlock
}

// New prepares the confinement of a command that runs bash in dir. The session's
// Confine is resolved already; request may be nil. If the command needs a TMPDIR, New
// makes it in the folder temp. The caller closes the Policy after the start.
func New(session shared.Confine, request *shared.Confine, dir, bash, temp string) (p Policy, err error) {
	layers, err := layersOf(session, request, dir)
	if err != nil || len(layers) == 0 {
		return p, err
	}
	if runtime.GOOS != "linux" {
		return p, failed("commands can be confined on Linux only: leave Confine out")
	}
	var missing []string
	abi, filters := kernel()
	for i, c := range layers {
		kept, lacks := keepable(c, abi, filters)
		if len(lacks) > 0 && !c.BestEffort {
			return p, failed("this system cannot keep Confine for: %s; with BestEffort the command runs with the rest of it", strings.Join(lacks, ", "))
		}
		layers[i], missing = kept, append(missing, lacks...)
	}
	if slices.ContainsFunc(layers, func(c shared.Confine) bool { return c.ReadOnly || c.Private }) {
		p.temp, err = os.MkdirTemp(temp, "tmp-")
		p.Env = []string{"TMPDIR=" + p.temp}
	}
	if err == nil {
		err = p.prepare(layers, abi, bash)
	}
	if err != nil {
		p.Close()
		p.RemoveTemp()
		return Policy{}, failed("cannot confine the command: %v", err)
	}
	p.Text = describe(layers, missing)
	return p, nil
}

func failed(format string, args ...any) error {
	return &shared.Error{Code: shared.CodeStart, Field: "Confine", Message: fmt.Sprintf(format, args...)}
}

// layersOf returns the Confines that confine something, the request's resolved.
func layersOf(session shared.Confine, request *shared.Confine, dir string) (layers []shared.Confine, err error) {
	if session.Confines() {
		layers = append(layers, session)
	}
	if request == nil {
		return layers, nil
	}
	c, err := request.Resolve(dir)
	if err != nil || !c.Confines() {
		return layers, err
	}
	for _, path := range c.Writable {
		above := func(root string) bool {
			rest, err := filepath.Rel(root, path)
			return err == nil && filepath.IsLocal(rest)
		}
		if session.ReadOnly && !slices.ContainsFunc(session.Writable, above) {
			return nil, &shared.Error{Code: shared.CodeInvalid, Field: "Confine.Writable", Message: fmt.Sprintf(
				"Confine.Writable: %q is not within what the session allows: name something below %q", path, session.Writable)}
		}
	}
	return append(layers, c), nil
}

// keepable returns the part of c that a kernel can keep which has this version of
// Landlock (0: none) and seccomp filters or not, and names the rest.
func keepable(c shared.Confine, abi int, filters bool) (kept shared.Confine, missing []string) {
	switch {
	case (c.ReadOnly || c.Private) && abi < 1:
		c.ReadOnly, c.Private = false, false
		missing = append(missing, "files (Landlock, since Linux 5.13)")
	case c.ReadOnly && abi < 3:
		missing = append(missing, "truncation of files (Landlock ABI 3, since Linux 6.2)")
	}
	if abi < 6 {
		missing = append(missing, "signals and abstract sockets (Landlock ABI 6, since Linux 6.12)")
	}
	if c.NoNetwork && !filters {
		c.NoNetwork = false
		missing = append(missing, "network (seccomp filters, on x86-64 and arm64)")
	}
	return c, missing
}

// describe says what the layers together allow, as in "it may write below /work,
// $TMPDIR; network: none".
func describe(layers []shared.Confine, missing []string) string {
	parts := make([]string, 4)
	for _, c := range layers { // a later one is tighter
		if c.ReadOnly {
			parts[0] = "it may write below " + strings.Join(slices.Concat(c.Writable, []string{"$TMPDIR"}), ", ")
		}
		if c.Private {
			parts[1] = "it may read below " + strings.Join(slices.Concat(c.Readable, c.Writable, []string{"$TMPDIR and the system's folders"}), ", ")
		}
		if c.NoNetwork {
			parts[2] = "network: none"
		}
	}
	if len(missing) > 0 {
		parts[3] = "this system cannot keep: " + strings.Join(missing, ", ")
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; ")
}

// Close frees what only the start needs.
func (p Policy) Close() {
	for _, fd := range p.rulesets {
		unix.Close(fd)
	}
}

// RemoveTemp removes the command's TMPDIR. None of its processes may live.
func (p Policy) RemoveTemp() {
	if p.temp == "" || os.RemoveAll(p.temp) == nil {
		return
	}
	_ = filepath.WalkDir(p.temp, func(path string, entry fs.DirEntry, _ error) error {
		if entry != nil && entry.IsDir() { // its owner may have lost the right to change it
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(p.temp)
}
