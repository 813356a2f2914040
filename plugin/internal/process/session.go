package process

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
)

// session identifies a plugin's life in what its processes inherit: the mark,
// and a token in the environment.
type session uint32

func newSession() session {
	var text [4]byte
	_, _ = rand.Read(text[:]) // never fails
	return session(binary.NativeEndian.Uint32(text[:])>>2 | 1)
}

// mark is that of a group. Different sessions have none in common.
func (s session) mark(number uint32) uint64 { return uint64(s)<<32 | uint64(number) }

func (s session) hasMark(mark uint64) bool { return uint32(mark>>32) == uint32(s) }

// TokenName is the environment variable of the token, which serves where there
// is no mark. Where a plugin runs inside another's command the outer token
// stands before.
const TokenName = "BASH_JOB_ID"

func (s session) token(number uint32) string { return fmt.Sprintf("%x.%d", uint32(s), number) }

func (s session) hasToken(token string) bool {
	return strings.Contains(":"+token, fmt.Sprintf(":%x.", uint32(s)))
}

// withToken adds a group's token to an environment.
func withToken(env []string, token string) []string {
	if outer := os.Getenv(TokenName); outer != "" {
		token = outer + ":" + token
	}
	return append(env[:len(env):len(env)], TokenName+"="+token)
}

// withoutToken takes every token out of an environment.
func withoutToken(env []string) []string {
	var rest []string
	for _, entry := range env {
		if !strings.HasPrefix(entry, TokenName+"=") {
			rest = append(rest, entry)
		}
	}
	return rest
}

func inToken(token, group string) bool { return strings.Contains(":"+token+":", ":"+group+":") }
