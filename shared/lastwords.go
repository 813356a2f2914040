package shared

import (
	"strings"
	"sync"
	"unicode"
)

// maxLastWords bounds what lastWords keeps.
const maxLastWords = 4 << 10

// lastWords is the stderr of a plugin, for why it could not start: it keeps
// the beginning. It is safe for concurrent use.
type lastWords struct {
	mu   sync.Mutex // guards text
	text []byte
}

// Write never fails.
func (w *lastWords) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, p[:min(len(p), maxLastWords-len(w.text))]...)
	return len(p), nil
}

// String returns the first line that is for people and not for the log, ""
// where there is none.
func (w *lastWords) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for line := range strings.Lines(string(w.text)) {
		line = strings.TrimSpace(strings.Map(printable, strings.ToValidUTF8(line, "")))
		if line != "" && !strings.HasPrefix(line, "{") {
			return line
		}
	}
	return ""
}

func printable(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return -1
}
