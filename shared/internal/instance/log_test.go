package instance

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// logged returns what a host logs of lines that come in chunks of a size.
func logged(t *testing.T, text string, size int) (lines []string, says string) {
	t.Helper()
	out := new(bytes.Buffer)
	log := NewLog(hclog.New(&hclog.LoggerOptions{Output: out, Level: hclog.Trace, DisableTime: true}))
	for rest := []byte(text); len(rest) > 0; {
		n := min(size, len(rest))
		written, err := log.Write(rest[:n])
		require.NoError(t, err)
		require.Equal(t, n, written)
		rest = rest[n:]
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), log.Says()
}

func TestLog(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"@level":"info","@message":"up","@module":"m","@timestamp":"t","pid":12345678901234567890,"args":["a","b"]}`: `[INFO]  up: args=[a, b] pid=12345678901234567890`,
		`{"@level":"warn","@message":"hot"}`:             `[WARN]  hot`,
		`{"@level":"error","@message":"bad","error":{}}`: `[ERROR] bad: error=map[]`,
		`plain text`:                                      `[DEBUG] plain text`,
		"carriage return\r":                               `[DEBUG] carriage return`,
		`{"@message":5}`:                                  `[DEBUG] {"@message":5}`,
		`{"@message":"a"}`:                                `[DEBUG] {"@message":"a"}`,
		`{"@message":"a","@level":7}`:                     `[DEBUG] {"@message":"a","@level":7}`,
		`{"@message":"a","@level":"off"}`:                 `[DEBUG] {"@message":"a","@level":"off"}`,
		`{"@message":"a","@level":"nosuch"}`:              `[DEBUG] {"@message":"a","@level":"nosuch"}`,
		`{"@message":null,"@level":"info"}`:               `[DEBUG] {"@message":null,"@level":"info"}`,
		`{"@message":"a","@level":"info"} {}`:             `[DEBUG] {"@message":"a","@level":"info"} {}`,
		`{"@message":"a","@level":"info"`:                 `[DEBUG] {"@message":"a","@level":"info"`,
		`{"@message":"a","@level":"info","@timestamp":5}`: `[INFO]  a`,
		`null`: `[DEBUG] null`,
		`{`:    `[DEBUG] {`,
		`[1]`:  `[DEBUG] [1]`,
	} {
		for _, size := range []int{1, 3, 1 << 20} {
			got, _ := logged(t, line+"\n", size)
			assert.Equal(t, []string{want}, got)
		}
	}
}

// What a plugin says is its first line for people, as a message may quote it.
func TestLogSays(t *testing.T) {
	t.Parallel()
	_, says := logged(t, "{\"@level\":\"info\",\"@message\":\"up\"}\n\n\033[31m no license \xff\nmore\n", 7)
	assert.Equal(t, "[31m no license", says)
}

func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	lines, _ := logged(t, strings.Repeat("x", 10*maxLine)+"\n", 1000)
	assert.GreaterOrEqual(t, len(lines), 9)
	for _, line := range lines {
		assert.LessOrEqual(t, len(line), 2*maxLine)
	}
}

func FuzzLog(f *testing.F) {
	f.Add([]byte(`{"@message":5}` + "\n"))
	f.Add([]byte(`{"@message":"a","@level":"info","@timestamp":5,"k":{"v":[null]}}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		whole, says := logged(t, string(text)+"\n", 1<<20)
		bytewise, saysToo := logged(t, string(text)+"\n", 1)
		if len(text) < maxLine {
			require.Equal(t, whole, bytewise)
		}
		require.Equal(t, says, saysToo)
	})
}
