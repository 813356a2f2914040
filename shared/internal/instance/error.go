package instance

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// Error says why a plugin could not be started, and what to do about it.
type Error struct {
	Field   string // of Config that is to blame
	Message string
	Cause   error // nil: none
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

func pathError(cause error, format string, args ...any) error {
	return &Error{"Path", fmt.Sprintf(format, args...), cause}
}

// check looks at the plugin's file before it is started.
func (cfg *Config) check() error {
	info, err := os.Stat(cfg.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return pathError(err, "there is no plugin at %s: build it, or name another", cfg.Path)
	case err != nil:
		return pathError(err, "cannot look at the plugin: %v", err)
	case info.IsDir():
		return pathError(nil, "%s is a directory: name the plugin's binary", cfg.Path)
	case info.Mode()&0o111 == 0:
		return pathError(fs.ErrPermission, "%s is not executable: chmod +x it", cfg.Path)
	case cfg.SHA256 == nil:
		return nil
	}
	return cfg.verify()
}

// verify compares the checksum.
func (cfg *Config) verify() error {
	file, err := os.Open(cfg.Path)
	if err != nil {
		return pathError(err, "cannot read the plugin to verify its checksum: %v", err)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return pathError(err, "cannot read the plugin to verify its checksum: %v", err)
	}
	if !bytes.Equal(sum.Sum(nil), cfg.SHA256) {
		return &Error{"SHA256", fmt.Sprintf("%s has another checksum than expected: the file was changed or is another version; it was not started", cfg.Path), nil}
	}
	return nil
}

// explain turns go-plugin's error into one that says what to do. says is what the
// plugin wrote on its stderr.
func (cfg *Config) explain(err error, says string) error {
	text := err.Error()
	first, _, _ := strings.Cut(text, "\n")
	first = Printable(first) // it may quote the output of another program
	switch {
	case strings.Contains(text, "incompatible API version"):
		return pathError(err, "%s speaks another version of the contract than this host (%d): build both from one version (%v)", cfg.Path, cfg.Handshake.ProtocolVersion, first)
	case strings.Contains(text, "unsupported plugin protocol"):
		return pathError(err, "%s is a plugin, but not over net/rpc: %v", cfg.Path, first)
	case !isNoHandshake(text):
		return pathError(err, "cannot start the plugin %s: %v", cfg.Path, first)
	case says != "":
		return pathError(err, "%s cannot start, or is not a go-plugin plugin for this contract; it says: %s", cfg.Path, says)
	}
	return pathError(err, "%s is not a go-plugin plugin for this contract: it ended, or printed something else than the handshake (%s)", cfg.Path, first)
}

// isNoHandshake reports whether go-plugin did not find its handshake on stdout.
func isNoHandshake(text string) bool {
	for _, sign := range []string{"Unrecognized remote plugin message", "error parsing core protocol version", "plugin exited before we could connect"} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}
