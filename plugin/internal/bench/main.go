// Bench measures the plugin against the shell and against os/exec, and prints one
// row for each claim: target, measured, verdict. Every figure is a median of runs.
// They alternate, in one process, with the runs of the thing that it is compared
// with, so that a change in the speed of the machine affects both.
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
	"time"

	"bashplugin/plugin/internal/bench/input"
	"bashplugin/shared"
	"bashplugin/shared/host"
)

// row is one claim.
type row struct {
	name, against string
	target        string
	measure       func(*bench) (measured string, met bool, err error)
}

func rows() []row {
	return []row{
		{"Execute(\"true\"), end to end, mutual TLS", "os/exec, bash -c true, two pipes", "≤ 1.25 ×", trueLatency},
		{"the same, confined: files and network; Private too; files, network, memory; Disk alone", "Execute(\"true\")", "+ ≤ 0.15 ms", confinedLatency},
		{"polling 50 jobs with a limit of memory; of two processes each", "the same without limits", "≤ 1 % of a processor", pollingCost},
		{"64 callers of \"true\", commands a second", "os/exec", "≥ 0.85 ×", trueThroughput},
		{"text through Execute, full log kept", "cat f | tee log | tail -c 51200", "≥ 1 ×", textAgainstTee},
		{"the same", "cat f | cat > log", "≥ 0.7 ×", textAgainstCat},
		{"256 MiB of text, searched for notable lines", "not searched", "≥ 0.7 ×", notableThroughput},
		{"16 commands of 64 MiB at once", "one after the other", "≥ 0.5 ×", manyAtOnce},
		{"sanitizer alone, plain text", "memory copy", "≥ 0.25 ×", againstCopy},
		{"the same", "ansi.Strip", "≥ 3 ×", againstStrip(input.BuildLog)},
		{"sanitizer alone, coloured build", "ansi.Strip", "≥ 3 ×", againstStrip(input.ColouredBuild)},
		{"sanitizer alone, CR progress bar", "ansi.Strip", "≥ 3 ×", againstStrip(input.ProgressBar)},
		{"sanitizer alone, bar of blocks", "ansi.Strip", "≥ 3 ×", againstStrip(input.BlockBar)},
		{"sanitizer alone, CJK text", "ansi.Strip", "≥ 3 ×", againstStrip(input.CJK)},
		{"plugin memory over idle while text flows", "–", "< 24 MiB", memoryFlow},
		{"plugin memory, 200 jobs of 10 MiB each", "–", "< 100 MiB", memoryJobs},
		{"idle plugin, resident", "–", "< 20 MiB", memoryIdle},
		{"sleep 60 & echo hi", "echo hi", "+ ≤ 3 ms", leftover},
		{"bash-plugin -version", "an empty go-plugin plugin that exits at once", "≤ 1.5 ×", programStart},
		{"Launch to first result, checksum and mutual TLS", "cold start of an empty go-plugin plugin, mutual TLS", "≤ 1.5 ×", launchLatency},
		{"Launch, a command and Close beside 2,000 processes", "the same alone", "≤ 1.5 ×", crowdedSession},
		{"live output, from the command to the host", "–", "≤ 20 ms", liveLatency},
		{"live copy of 50 MB/s", "no live copy", "–", liveCost("for i in {1..50}; do head -c 1000000 text; sleep 0.02; done", manyBytes, false, (*bench).text)},
		{"live copy of seq", "no live copy", "–", liveCost("seq 30000000", manyBytes, false, (*bench).text)},
		{"live copy of text at full speed", "no live copy", "–", liveCost("cat text", manyBytes, false, (*bench).text)},
		{"live copy of grep --color", "no live copy", "–", liveCost("head -c 100000000 text | grep --color=always -n module", manyBytes, false, (*bench).text)},
		{"live copy of coloured text at full speed", "no live copy", "–", liveCost("cat coloured", manyBytes, false, (*bench).coloured)},
		{"live copy of NULs at full speed", "no live copy", "–", liveCost("head -c $((4*$(stat -c %s text))) /dev/zero", manyBytes, false, (*bench).text)},
		{"live copy of four times MaxLogBytes at full speed", "no live copy", "–", liveCost("cat text text text text", 1<<28, false, (*bench).text)},
		{"live copy of 8 MiB of text, which the result waits for", "no live copy", "–", liveCost("head -c 8388608 text", manyBytes, false, (*bench).text)},
		{"lossless live copy of coloured text at full speed", "no live copy", "–", liveCost("cat coloured", manyBytes, true, (*bench).coloured)},
		{"lossless live copy of NULs at full speed", "no live copy", "–", liveCost("head -c $((4*$(stat -c %s text))) /dev/zero", manyBytes, true, (*bench).text)},
		{"lossless live copy of four times MaxLogBytes at full speed", "no live copy", "–", liveCost("cat text text text text", 1<<28, true, (*bench).text)},
		{"Check on a job with a log of 1 GiB", "one of 1 KiB", "≤ 1.5 ×", checkLargeLog},
		{"Check p99 while 16 jobs flood", "unloaded", "≤ 5 ×", checkBeside(slices.Repeat([]shared.ExecuteRequest{{Command: "yes a line of a flood", Timeout: time.Hour}}, 16)...)},
		{"Check p99 while fork bombs meet a limit of 200 processes", "unloaded", "≤ 5 ×", checkBeside(shared.ExecuteRequest{Command: "b() { if (($1)); then b $(($1-1)) | b $(($1-1)) & wait; else sleep 60; fi; }; b 11", Resources: shared.Resources{Processes: 200}})},
		{"a call over TCP on loopback, mutual TLS", "over the unix socket", "≤ 1.5 ×", remoteCall},
		{"1 GiB of text behind 1 ms of delay each way", "local", "≥ 0.8 ×", remoteThroughput},
		{"100 hosts with 10 jobs each on one plugin: resident, Check p99", "–", "–", remoteHosts},
		{"a partition of 5 s: the result after the link is back", "–", "≤ 1000 ms", remotePartition},
		{"a 50 KiB result", "an empty one", "+ ≤ 0.3 ms", largeResult},
	}
}

// bench is the state that the measurements share.
type bench struct {
	ctx    context.Context
	path   string // of the plugin
	dir    string // scratch
	client *host.Client
	scale  float64 // of the work; 1 is the full size
}

func main() {
	path := flag.String("plugin", "bin/bash-plugin", "the plugin")
	scale := flag.Float64("scale", 1, "size of the work")
	only := flag.String("run", "", "measure only rows whose name contains this")
	growth := flag.Bool("growth", false, "print how cost grows with output and with jobs instead")
	flag.Parse()
	if err := run(*path, *scale, *only, *growth); err != nil {
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
	if b.client, err = b.launch(); err != nil {
		return err
	}
	defer b.client.Close()
	fmt.Printf("%s/%s, %d CPUs, %s, %s\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), cpuModel())
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
		measured, met, err := r.measure(b)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		verdict := "met"
		switch {
		case r.target == "–":
			verdict = "–"
		case !met:
			verdict = "**missed**"
		}
		fmt.Printf("| %s | %s | %s | %s | %s |\n", r.name, strings.ReplaceAll(r.against, "|", "\\|"), r.target, measured, verdict)
	}
	return nil
}

// manyBytes is more than any log of the benchmark holds.
const manyBytes = 16 << 30

// launch loads a plugin whose logs are removed at its end.
func (b *bench) launch() (*host.Client, error) { return b.launchWith(manyBytes) }

func (b *bench) launchWith(maxLogBytes int64) (*host.Client, error) {
	return host.Launch(b.ctx, host.LaunchConfig{Path: b.path, Dir: b.dir, LogDir: filepath.Join(b.dir, "logs"), LogRetention: -1,
		MaxLogBytes: maxLogBytes, MaxSessionLogBytes: 64 << 30, MaxUserLogBytes: 64 << 30})
}

func cpuModel() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown CPU"
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/1e6) }
