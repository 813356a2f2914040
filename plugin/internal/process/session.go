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

// A mark is the session, a byte that limits which people choose do not have
// there by chance, and the group's number.
const (
	markByte   = 0xb5
	maxNumber  = 1<<24 - 1
	markShift  = 32
	byteOffset = 24
)

// mark is that of a group. Different sessions have none in common.
func (s session) mark(number uint32) uint64 {
	return uint64(s)<<markShift | markByte<<byteOffset | uint64(number&maxNumber)
}

// sessionOf returns the session that a mark is of, 0 where it is none.
func sessionOf(mark uint64) session {
	if mark>>byteOffset&0xff != markByte {
		return 0
	}
	return session(mark >> markShift)
}

// TokenName is the environment variable of the token. It tells where an orphan
// belongs that has no mark of this session, as where a plugin runs within
// another's command: then the outer token stands before the inner one. It says
// nothing of any other process, which may have it from a file.
const TokenName = "BASH_JOB_ID"

func (s session) token(number uint32) string { return fmt.Sprintf("%x.%d", uint32(s), number) }

// withToken adds a group's token to an environment.
func withToken(env []string, token string) []string {
	if outer := os.Getenv(TokenName); outer != "" {
		token = outer + ":" + token
	}
	return append(env[:len(env):len(env)], TokenName+"="+token)
}

func inToken(token, group string) bool { return strings.Contains(":"+token+":", ":"+group+":") }
