//go:build !unix

package host

// checkSystem says why no plugin can run on this system.
func checkSystem() error {
	return launchError("", nil, "a plugin runs on Linux and macOS: use Connect for one on such a machine")
}
