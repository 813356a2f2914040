// Bench measures the plugin against the shell and against os/exec, and prints one
// row for each claim: target, measured, verdict. Every figure is the median of several runs. Runs
// of the plugin and of what it is compared with alternate in one process, so that a change in the
// speed of the machine affects both.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"bashplugin/shared/host"
)

// row is one claim.
type row struct {
	name    string
	against string // "–": nothing
	target  string // "–": none, the figure is for information
	measure func(*bench) (outcome, error)
}

// outcome is what a row has measured.
type outcome struct {
	measured string
	met      bool // the target is met
}

func rows() []row {
	return slices.Concat(
		latencyRows(),
		throughputRows(),
		sanitizerRows(),
		memoryRows(),
		startRows(),
		liveRows(),
		checkRows(),
		remoteRows(),
	)
}

// bench is the state that the measurements share.
type bench struct {
	ctx    context.Context
	path   string // of the plugin
	dir    string // scratch
	client *host.Client
	scale  float64 // of the work; 1: all of it
}

func main() {
	path := flag.String("plugin", "bin/bash-plugin", "the plugin")
	scale := flag.Float64("scale", 1, "size of the work")
	only := flag.String("run", "", "measure only rows whose name contains this")
	growth := flag.Bool("growth", false, "print how cost grows with output and with jobs instead")
	flag.Parse()
	err := run(*path, *scale, *only, *growth)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(path string, scale float64, only string, growth bool) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{ctx: context.Background(), path: path, dir: dir, scale: scale}
	b.client, err = b.launch()
	if err != nil {
		return err
	}
	defer b.client.Close()
	fmt.Printf("%s/%s, %d CPUs, %s, %s\n\n",
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), cpuModel())
	if growth {
		return b.growth()
	}
	return b.table(only)
}

func (b *bench) table(only string) error {
	fmt.Println("| what | against | target | measured | verdict |")
	fmt.Println("|---|---|---|---|---|")
	for _, r := range rows() {
		if !strings.Contains(r.name+" "+r.against, only) {
			continue
		}
		result, err := r.measure(b)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		verdict := "met"
		switch {
		case r.target == "–":
			verdict = "–"
		case !result.met:
			verdict = "**missed**"
		}
		against := strings.ReplaceAll(r.against, "|", "\\|")
		fmt.Printf("| %s | %s | %s | %s | %s |\n", r.name, against, r.target, result.measured, verdict)
	}
	return nil
}

// manyBytes is more than any log of the benchmark holds.
const manyBytes = 16 << 30

// launch loads a plugin whose logs are removed at its end.
func (b *bench) launch() (*host.Client, error) { return b.launchWith(manyBytes) }

func (b *bench) launchWith(maxLogBytes int64) (*host.Client, error) {
	return host.Launch(b.ctx, host.LaunchConfig{
		Path:               b.path,
		Dir:                b.dir,
		LogDir:             b.logs(),
		LogRetention:       -1,
		MaxLogBytes:        maxLogBytes,
		MaxSessionLogBytes: 64 << 30,
		MaxUserLogBytes:    64 << 30,
	})
}

// logs is the folder of all logs.
func (b *bench) logs() string { return filepath.Join(b.dir, "logs") }

// rounds scales a number of rounds.
func (b *bench) rounds(n int) int { return max(5, int(float64(n)*b.scale)) }

// bytes scales a number of bytes.
func (b *bench) bytes(n int64) int64 { return int64(float64(n) * b.scale) }

func cpuModel() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown CPU"
}
