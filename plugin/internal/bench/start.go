package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"

	"bashplugin/shared"
	"bashplugin/shared/host"
)

func startRows() []row {
	return []row{
		{"bash-plugin -version", "an empty go-plugin plugin that exits at once", "≤ 1.5 ×", programStart},
		{
			"Launch to first result, checksum and mutual TLS",
			"cold start of an empty go-plugin plugin, mutual TLS", "≤ 1.4 ×", launchLatency,
		},
		{"Launch, a command and Close beside 2,000 processes", "the same alone", "≤ 1.5 ×", crowdedSession},
	}
}

// emptyPlugin builds the plugin that does nothing.
func (b *bench) emptyPlugin() (path string, err error) {
	path = filepath.Join(b.dir, "emptyplugin")
	build := exec.CommandContext(b.ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", path,
		"bashplugin/plugin/internal/bench/emptyplugin")
	out, err := build.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("cannot build an empty plugin: %w: %s", err, out)
	}
	return path, nil
}

// programStart measures the time that packages spend in their init functions.
func programStart(b *bench) (outcome, error) {
	empty, err := b.emptyPlugin()
	if err != nil {
		return outcome{}, err
	}
	start := func(path string) subject {
		return subject{run: func() error { return exec.CommandContext(b.ctx, path, "-version").Run() }}
	}
	times, err := compare(b.rounds(50), start(b.path), start(empty))
	if err != nil {
		return outcome{}, err
	}
	text := fmt.Sprintf("%.2f × (%s)", times.slowness(), ms(times.plugin))
	return outcome{measured: text, met: times.slowness() <= 1.5}, nil
}

// launchLatency is the time from Launch to the first result, with checksum and mutual
// TLS.
func launchLatency(b *bench) (outcome, error) {
	empty, err := b.emptyPlugin()
	if err != nil {
		return outcome{}, err
	}
	binary, err := os.ReadFile(b.path)
	if err != nil {
		return outcome{}, err
	}
	sum := sha256.Sum256(binary)
	var clients []*host.Client
	var plugins []*plugin.Client
	defer func() {
		for _, c := range clients {
			c.Close()
		}
		for _, p := range plugins {
			p.Kill()
		}
	}()
	launch := subject{run: func() error {
		c, problem := host.Launch(b.ctx, host.LaunchConfig{Path: b.path, SHA256: sum[:], LogDir: b.logs()})
		if problem != nil {
			return problem
		}
		clients = append(clients, c)
		return b.executeOf(c, shared.ExecuteRequest{Command: "true"}).run()
	}}
	plain := subject{run: func() error {
		p := plugin.NewClient(&plugin.ClientConfig{
			HandshakeConfig: shared.Handshake,
			Plugins:         plugin.PluginSet{},
			Cmd:             exec.CommandContext(b.ctx, empty),
			AutoMTLS:        true,
			Logger:          hclog.NewNullLogger(),
		})
		plugins = append(plugins, p)
		protocol, problem := p.Client()
		if problem != nil {
			return problem
		}
		return protocol.Ping()
	}}
	times, err := compare(b.rounds(20), launch, plain)
	if err != nil {
		return outcome{}, err
	}
	text := fmt.Sprintf("%.2f × (%s)", times.slowness(), ms(times.plugin))
	return outcome{measured: text, met: times.slowness() <= 1.4}, nil
}

// crowdedSession measures a session of one command beside many processes of others.
func crowdedSession(b *bench) (outcome, error) {
	session := subject{run: func() error {
		c, err := host.Launch(b.ctx, host.LaunchConfig{Path: b.path, LogDir: b.logs()})
		if err != nil {
			return err
		}
		defer c.Close()
		return b.executeOf(c, shared.ExecuteRequest{Command: "true"}).run()
	}}
	alone, err := alternate(b.rounds(20), session)
	if err != nil {
		return outcome{}, err
	}
	crowd := shared.ExecuteRequest{Command: "for i in {1..2000}; do sleep 1000 & done"}
	r, err := b.client.Execute(b.ctx, crowd)
	if err != nil {
		return outcome{}, err
	}
	defer b.client.Kill(b.ctx, shared.KillRequest{PID: r.PID}) //nolint:errcheck // Close ends them otherwise
	crowded, err := alternate(b.rounds(20), session)
	if err != nil {
		return outcome{}, err
	}
	return comparison{plugin: crowded[0], other: alone[0]}.slowerAtMost(1.5), nil
}
