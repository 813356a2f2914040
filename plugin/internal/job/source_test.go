package job

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"bashplugin/plugin/internal/output"
)

// A process that is not the command's may have opened the pipe: it goes on
// writing when the command is over, and must not hold up its end.
func TestClosingASourceThatAnotherProcessFloods(t *testing.T) {
	t.Parallel()
	logs := output.NewLogs(output.LogsConfig{Dir: t.TempDir()})
	read, write, err := pipe(0)
	require.NoError(t, err)
	s := newSource(NewTurns(2), output.NewStream(output.StreamConfig{Logs: logs, Name: "log"}), nil, nil, read)
	go s.run()
	go func() {
		defer write.Close()
		for chunk := make([]byte, pipeSize); err == nil; {
			_, err = write.Write(chunk)
		}
	}()
	require.Eventually(t, func() bool { return s.taken() >= 2*pipeSize }, 20*time.Second, time.Millisecond)
	closed := make(chan struct{})
	go func() {
		s.close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(time.Minute):
		require.FailNow(t, "it is read on and on")
	}
	require.NoError(t, logs.Close())
}
