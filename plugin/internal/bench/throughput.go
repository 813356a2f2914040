package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"bashplugin/plugin/internal/bench/input"
	"bashplugin/shared"
)

// text makes the file "text", a build log.
func (b *bench) text(size int64) error { return b.file("text", size, input.BuildLog) }

// coloured makes the file "coloured", a build log of another kind.
func (b *bench) coloured(size int64) error { return b.file("coloured", size, input.ColouredBuild) }

// file makes a file of seeded text in the scratch folder, unless it exists.
func (b *bench) file(name string, size int64, text func(int) []byte) error {
	path := filepath.Join(b.dir, name)
	if info, err := os.Stat(path); err == nil && info.Size() == size {
		return nil
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	block := text(1 << 20)
	w := bufio.NewWriterSize(file, 1<<20)
	for written := int64(0); written < size; {
		n, err := w.Write(block[:min(int64(len(block)), size-written)])
		if err != nil {
			return err
		}
		written += int64(n)
	}
	if err := w.Flush(); err != nil {
		return err
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
	logs, err := filepath.Glob(filepath.Join(b.dir, "logs", "*", "*.log"))
	for _, path := range logs {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return err
}

func (b *bench) throughput(against string) (float64, []time.Duration, error) {
	if err := b.text(int64(float64(1<<30) * b.scale)); err != nil {
		return 0, nil, err
	}
	shell := func() error { return osExec("cd '" + b.dir + "' && " + against) }
	clean := func() error { return osExec("rm -f '" + b.dir + "/log'") }
	if err := b.catText(); err != nil { // once before, to get memory from the system that all runs use
		return 0, nil, err
	}
	m, err := alternate(9, b.catText, b.removeLogs, shell, clean)
	if err != nil {
		return 0, nil, err
	}
	return float64(m[2]) / float64(m[0]), []time.Duration{m[0], m[2]}, nil
}

func (b *bench) rate(d time.Duration) string {
	return fmt.Sprintf("%.0f MB/s", float64(1<<30)*b.scale/1e6/d.Seconds())
}

func textAgainstTee(b *bench) (string, bool, error) {
	ratio, m, err := b.throughput("cat text | tee log | tail -c 51200")
	if err != nil {
		return "", false, err
	}
	return fmt.Sprintf("%.2f × (%s, %s)", ratio, b.rate(m[0]), b.rate(m[1])), ratio >= 1, nil
}

func textAgainstCat(b *bench) (string, bool, error) {
	ratio, m, err := b.throughput("cat text | cat > log")
	if err != nil {
		return "", false, err
	}
	return fmt.Sprintf("%.2f × (%s, %s)", ratio, b.rate(m[0]), b.rate(m[1])), ratio >= 0.7, nil
}

// notableThroughput searches a flood that has a notable line nowhere but at its end.
func notableThroughput(b *bench) (string, bool, error) {
	if err := b.file("plain", int64(float64(1<<28)*b.scale), input.Compiling); err != nil {
		return "", false, err
	}
	cat := func(limits shared.Limits) func() error {
		return func() error {
			_, err := b.client.Execute(b.ctx, shared.ExecuteRequest{Command: "cat plain; echo error; seq 3000", Timeout: time.Hour, Limits: limits})
			return err
		}
	}
	m, err := alternate(9, cat(shared.Limits{Notable: 10}), b.removeLogs, cat(shared.Limits{}), b.removeLogs)
	if err != nil {
		return "", false, err
	}
	ratio := float64(m[2]) / float64(m[0])
	return fmt.Sprintf("%.2f ×", ratio), ratio >= 0.7, nil
}

// manyAtOnce compares commands that write at the same time with the same commands
// one after the other.
func manyAtOnce(b *bench) (string, bool, error) {
	const commands = 16
	size := int64(float64(64<<20) * b.scale)
	if err := b.text(commands * size); err != nil {
		return "", false, err
	}
	command := fmt.Sprintf("head -c %d text", size)
	execute := func() error {
		_, err := b.client.Execute(b.ctx, shared.ExecuteRequest{Command: command, Timeout: time.Hour})
		return err
	}
	atOnce := func() error {
		ended := make(chan error)
		for range commands {
			go func() { ended <- execute() }()
		}
		var errs []error
		for range commands {
			errs = append(errs, <-ended)
		}
		return errors.Join(errs...)
	}
	inTurn := func() error {
		for range commands {
			if err := execute(); err != nil {
				return err
			}
		}
		return nil
	}
	m, err := alternate(9, atOnce, b.removeLogs, inTurn, b.removeLogs)
	if err != nil {
		return "", false, err
	}
	ratio := float64(m[2]) / float64(m[0])
	return fmt.Sprintf("%.2f × (%s, %s)", ratio, ms(m[0]), ms(m[2])), ratio >= 0.5, nil
}

func memoryFlow(b *bench) (string, bool, error) {
	if err := b.text(int64(float64(1<<30) * b.scale)); err != nil {
		return "", false, err
	}
	c, err := b.launch()
	if err != nil {
		return "", false, err
	}
	defer c.Close()
	if _, err := c.Execute(b.ctx, shared.ExecuteRequest{Command: "true"}); err != nil {
		return "", false, err
	}
	idle, err := memory(c.PluginPID(), "VmRSS")
	if err != nil {
		return "", false, err
	}
	if _, err := c.Execute(b.ctx, shared.ExecuteRequest{Command: "for i in 1 2 3 4 5; do cat text; done", Timeout: time.Hour}); err != nil {
		return "", false, err
	}
	peak, err := memory(c.PluginPID(), "VmHWM")
	if err != nil {
		return "", false, err
	}
	return "+ " + mib(peak-idle), peak-idle < 24<<20, b.removeLogs()
}

func memoryJobs(b *bench) (string, bool, error) {
	c, err := b.launch()
	if err != nil {
		return "", false, err
	}
	defer c.Close()
	if err := b.text(int64(float64(1<<30) * b.scale)); err != nil {
		return "", false, err
	}
	var wg sync.WaitGroup
	errs := make(chan error, 200)
	for range 200 {
		wg.Go(func() {
			r, err := c.Execute(b.ctx, shared.ExecuteRequest{Command: "head -c 10485760 text; echo; echo written; sleep 1000", Mode: shared.ModeBackground})
			if err == nil {
				_, err = c.Check(b.ctx, shared.CheckRequest{PID: r.PID, Wait: time.Minute, WaitFor: "^written$|\nwritten"})
			}
			errs <- err
		})
	}
	wg.Wait()
	for range 200 {
		if err := <-errs; err != nil {
			return "", false, err
		}
	}
	rss, err := memory(c.PluginPID(), "VmRSS")
	return mib(rss), rss < 100<<20, err
}

func memoryIdle(b *bench) (string, bool, error) {
	c, err := b.launch()
	if err != nil {
		return "", false, err
	}
	defer c.Close()
	if _, err := c.Execute(b.ctx, shared.ExecuteRequest{Command: "true"}); err != nil {
		return "", false, err
	}
	rss, err := memory(c.PluginPID(), "VmRSS")
	return mib(rss), rss < 20<<20, err
}
