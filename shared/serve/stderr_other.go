//go:build !unix

package serve

// dropStderr does nothing: there is no /proc.
func dropStderr() error { return nil }
