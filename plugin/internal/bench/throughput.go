package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"bashplugin/plugin/internal/bench/input"
	"bashplugin/shared"
)

func throughputRows() []row {
	return []row{
		{"text through Execute, full log kept", "cat f | tee log | tail -c 51200", "≥ 1 ×", textAgainstTee},
		{"the same", "cat f | cat > log", "≥ 0.7 ×", textAgainstCat},
		{"256 MiB of text, searched for notable lines", "not searched", "≥ 0.7 ×", notableThroughput},
		{"16 commands of 64 MiB at once", "one after the other", "≥ 0.5 ×", manyAtOnce},
	}
}

// text makes the file "text", a build log.
func (b *bench) text(size int64) error { return b.file("text", size, input.BuildLog) }

// coloured makes the file "coloured", a build log of another kind.
func (b *bench) coloured(size int64) error { return b.file("coloured", size, input.ColouredBuild) }

// file makes a file of seeded text in the scratch folder, unless it exists.
func (b *bench) file(name string, size int64, text func(int) []byte) error {
	path := filepath.Join(b.dir, name)
	info, err := os.Stat(path)
	if err == nil && info.Size() == size {
		return nil
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	block := text(1 << 20)
	left := size
	for left > 0 {
		block = block[:min(int64(len(block)), left)]
		_, err = file.Write(block)
		if err != nil {
			return err
		}
		left -= int64(len(block))
	}
	return file.Sync() // so that writing it does not slow down the measured runs
}

// catText runs cat over the text through the plugin and checks that the log has all.
func (b *bench) catText() error {
	r, err := b.client.Execute(b.ctx, shared.ExecuteRequest{Command: "cat text", Timeout: time.Hour})
	if err != nil {
		return err
	}
	info, err := os.Stat(r.Stdout.Path)
	if err == nil && info.Size() != r.Stdout.TotalBytes {
		err = fmt.Errorf("the log has %d of %d bytes: %s", info.Size(), r.Stdout.TotalBytes, r.Stdout.PathError)
	}
	return err
}

func (b *bench) removeLogs() error {
	logs, err := filepath.Glob(filepath.Join(b.logs(), "*", "*.log"))
	if err != nil {
		return err
	}
	for _, path := range logs {
		err = os.Remove(path)
		if err != nil {
			return err
		}
	}
	return nil
}

// throughput compares cat through the plugin with a command of the shell.
func (b *bench) throughput(against string) (comparison, error) {
	err := b.text(b.bytes(1 << 30))
	if err != nil {
		return comparison{}, err
	}
	err = b.catText() // a first run, not timed, gets the memory that all runs use
	if err != nil {
		return comparison{}, err
	}
	shell := subject{
		run:     func() error { return osExec("cd '" + b.dir + "' && " + against) },
		cleanUp: func() error { return osExec("rm -f '" + b.dir + "/log'") },
	}
	return compare(9, subject{run: b.catText, cleanUp: b.removeLogs}, shell)
}

// rates describes a comparison of throughputs.
func (b *bench) rates(times comparison) string {
	megabytes := float64(b.bytes(1<<30)) / 1e6
	return fmt.Sprintf("%.2f × (%.0f MB/s, %.0f MB/s)",
		times.speed(), megabytes/times.plugin.Seconds(), megabytes/times.other.Seconds())
}

func textAgainstTee(b *bench) (outcome, error) {
	times, err := b.throughput("cat text | tee log | tail -c 51200")
	if err != nil {
		return outcome{}, err
	}
	return outcome{measured: b.rates(times), met: times.speed() >= 1}, nil
}

func textAgainstCat(b *bench) (outcome, error) {
	times, err := b.throughput("cat text | cat > log")
	if err != nil {
		return outcome{}, err
	}
	return outcome{measured: b.rates(times), met: times.speed() >= 0.7}, nil
}

// notableThroughput searches a flood that has a notable line nowhere but at its end.
func notableThroughput(b *bench) (outcome, error) {
	err := b.file("plain", b.bytes(1<<28), input.Compiling)
	if err != nil {
		return outcome{}, err
	}
	cat := func(limits shared.Limits) subject {
		req := shared.ExecuteRequest{Command: "cat plain; echo error; seq 3000", Timeout: time.Hour, Limits: limits}
		execute := b.executeOf(b.client, req)
		execute.cleanUp = b.removeLogs
		return execute
	}
	times, err := compare(9, cat(shared.Limits{Notable: 10}), cat(shared.Limits{}))
	if err != nil {
		return outcome{}, err
	}
	return outcome{measured: fmt.Sprintf("%.2f ×", times.speed()), met: times.speed() >= 0.7}, nil
}

// manyAtOnce compares commands that write at the same time with the same commands
// one after the other.
func manyAtOnce(b *bench) (outcome, error) {
	const commands = 16
	each := b.bytes(64 << 20)
	err := b.text(commands * each)
	if err != nil {
		return outcome{}, err
	}
	req := shared.ExecuteRequest{Command: fmt.Sprintf("head -c %d text", each), Timeout: time.Hour}
	execute := b.executeOf(b.client, req)
	together := subject{
		run:     func() error { return atOnce(commands, execute.run) },
		cleanUp: b.removeLogs,
	}
	inTurn := subject{
		run:     func() error { return repeat(commands, execute.run) },
		cleanUp: b.removeLogs,
	}
	times, err := compare(9, together, inTurn)
	if err != nil {
		return outcome{}, err
	}
	return times.fasterAtLeast(0.5), nil
}
