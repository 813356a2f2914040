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

// emptyPlugin builds the plugin that does nothing.
func (b *bench) emptyPlugin() (path string, err error) {
	path = filepath.Join(b.dir, "emptyplugin")
	if out, err := exec.CommandContext(b.ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "bashplugin/plugin/internal/bench/emptyplugin").CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build an empty plugin: %w: %s", err, out)
	}
	return path, nil
}

// programStart measures the time that packages spend in their init functions.
func programStart(b *bench) (string, bool, error) {
	empty, err := b.emptyPlugin()
	if err != nil {
		return "", false, err
	}
	start := func(path string) func() error {
		return func() error { return exec.CommandContext(b.ctx, path, "-version").Run() }
	}
	m, err := alternate(b.rounds(50), start(b.path), start(empty))
	if err != nil {
		return "", false, err
	}
	ratio := float64(m[0]) / float64(m[1])
	return fmt.Sprintf("%.2f × (%s)", ratio, ms(m[0])), ratio <= 1.5, nil
}

// launchLatency is the time from Launch to the first result, with checksum and mutual
// TLS.
func launchLatency(b *bench) (string, bool, error) {
	empty, err := b.emptyPlugin()
	if err != nil {
		return "", false, err
	}
	binary, err := os.ReadFile(b.path)
	if err != nil {
		return "", false, err
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
	launch := func() error {
		c, err := host.Launch(b.ctx, host.LaunchConfig{Path: b.path, SHA256: sum[:], LogDir: filepath.Join(b.dir, "logs")})
		if err != nil {
			return err
		}
		clients = append(clients, c)
		_, err = c.Execute(b.ctx, shared.ExecuteRequest{Command: "true"})
		return err
	}
	plain := func() error {
		p := plugin.NewClient(&plugin.ClientConfig{HandshakeConfig: shared.Handshake, Plugins: plugin.PluginSet{}, Cmd: exec.CommandContext(b.ctx, empty),
			AutoMTLS: true, Logger: hclog.NewNullLogger()})
		plugins = append(plugins, p)
		protocol, err := p.Client()
		if err != nil {
			return err
		}
		return protocol.Ping()
	}
	m, err := alternate(b.rounds(20), launch, plain)
	if err != nil {
		return "", false, err
	}
	ratio := float64(m[0]) / float64(m[1])
	return fmt.Sprintf("%.2f × (%s)", ratio, ms(m[0])), ratio <= 1.5, nil
}

// crowdedSession measures a session of one command beside many processes of others.
func crowdedSession(b *bench) (string, bool, error) {
	session := func() error {
		c, err := host.Launch(b.ctx, host.LaunchConfig{Path: b.path, LogDir: filepath.Join(b.dir, "logs")})
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Execute(b.ctx, shared.ExecuteRequest{Command: "true"})
		return err
	}
	alone, err := alternate(b.rounds(20), session)
	if err != nil {
		return "", false, err
	}
	crowd, err := b.client.Execute(b.ctx, shared.ExecuteRequest{Command: "for i in {1..2000}; do sleep 1000 & done"})
	if err != nil {
		return "", false, err
	}
	defer b.client.Kill(b.ctx, shared.KillRequest{PID: crowd.PID}) //nolint:errcheck // Close ends them otherwise
	crowded, err := alternate(b.rounds(20), session)
	if err != nil {
		return "", false, err
	}
	ratio := float64(crowded[0]) / float64(alone[0])
	return fmt.Sprintf("%.2f × (%s, %s)", ratio, ms(crowded[0]), ms(alone[0])), ratio <= 1.5, nil
}
