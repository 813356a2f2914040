// Package network is what host and plugin agree on about their connections if they are on
// different machines.
package network

import "fmt"

// Protocol is what both sides name in the TLS handshake, so that another version of the
// contract is refused there.
func Protocol(version uint) string { return fmt.Sprintf("bash-plugin/%d", version) }
