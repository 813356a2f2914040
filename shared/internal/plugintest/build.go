//go:build unix

package plugintest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
)

// Root is the folder of this module.
func Root() string {
	_, here, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(here), "..", "..", "..")
}

// build builds bash-plugin and host-example into dir, with the race detector if the
// tests have it. What it links stays in bin/ for the tests of other packages.
func build(dir string) error {
	kept := filepath.Join(Root(), "bin", "test")
	if Race() {
		kept += "-race"
	}
	unlock, err := lock(kept)
	if err != nil { // a checkout that is not ours to write in
		kept = dir
	} else {
		defer unlock()
	}
	args := []string{"build", "-o", kept + "/", "./plugin", "./host-example"}
	if Race() {
		args = slices.Insert(args, 1, "-race")
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = Root()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build the programs: %w\n%s", err, out)
	}
	return errors.Join(
		place(filepath.Join(kept, "plugin"), filepath.Join(dir, "bash-plugin")),
		place(filepath.Join(kept, "host-example"), filepath.Join(dir, "host-example")),
	)
}

// lock keeps other tests from a folder until unlock is called.
func lock(dir string) (unlock func(), err error) {
	err = os.MkdirAll(dir, 0o755)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { file.Close() }, nil
}

// place copies a program, unless it is there already.
func place(from, to string) error {
	if from == to {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
