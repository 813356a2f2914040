package instance

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/hashicorp/go-hclog"
)

// maxLine bounds a line, in bytes: Log splits a longer one.
const maxLine = 64 << 10

// Log passes a plugin's log on to a host's logger. A line of hclog's JSON keeps its
// level and arguments; every other line is text. Log is safe for concurrent use, and
// Write never fails.
type Log struct {
	logger hclog.Logger

	mu   sync.Mutex // guards the fields below
	line []byte     // the unfinished line
	says string     // the first line of text
}

// NewLog returns a Log for logger.
func NewLog(logger hclog.Logger) *Log { return &Log{logger: logger} }

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for part := range bytes.Lines(p) {
		l.line = append(l.line, part...)
		if part[len(part)-1] == '\n' || len(l.line) > maxLine {
			l.logLocked(bytes.TrimRight(l.line, "\r\n"))
			l.line = l.line[:0]
		}
	}
	return len(p), nil
}

func (l *Log) logLocked(line []byte) {
	if level, message, args, ok := parse(line); ok {
		l.logger.Log(level, message, args...)
		return
	}
	if text := string(line); text != "" {
		l.says = cmp.Or(l.says, Printable(text))
		l.logger.Debug(text)
	}
}

// Says returns the first line of text, "" if there is none.
func (l *Log) Says() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.says
}

// parse reads a line of hclog's JSON. It returns false if the line is something else.
func parse(line []byte) (level hclog.Level, message string, args []any, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	var fields map[string]any
	if !json.Valid(line) || decoder.Decode(&fields) != nil {
		return hclog.NoLevel, "", nil, false
	}
	name, _ := fields["@level"].(string)
	level = hclog.LevelFromString(name)
	message, ok = fields["@message"].(string)
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if !strings.HasPrefix(key, "@") {
			args = append(args, key, fields[key])
		}
	}
	return level, message, args, ok && level != hclog.NoLevel && level != hclog.Off
}

// Printable returns text as one line, without unprintable characters.
func Printable(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(text, "")))
}
