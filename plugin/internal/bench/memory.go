package main

import (
	"time"

	"bashplugin/shared"
	"bashplugin/shared/host"
)

func memoryRows() []row {
	return []row{
		{"plugin memory over idle while text flows", "–", "< 24 MiB", memoryFlow},
		{"plugin memory, 200 jobs of 10 MiB each", "–", "< 100 MiB", memoryJobs},
		{"idle plugin, resident", "–", "< 20 MiB", memoryIdle},
	}
}

// idlePlugin loads a plugin that has run one command. It returns the plugin's memory.
func (b *bench) idlePlugin() (client *host.Client, resident int64, err error) {
	client, err = b.launch()
	if err != nil {
		return nil, 0, err
	}
	_, err = client.Execute(b.ctx, shared.ExecuteRequest{Command: "true"})
	if err == nil {
		resident, err = memory(client.PluginPID(), "VmRSS")
	}
	if err != nil {
		client.Close()
		return nil, 0, err
	}
	return client, resident, nil
}

func memoryFlow(b *bench) (outcome, error) {
	err := b.text(b.bytes(1 << 30))
	if err != nil {
		return outcome{}, err
	}
	client, idle, err := b.idlePlugin()
	if err != nil {
		return outcome{}, err
	}
	defer client.Close()
	req := shared.ExecuteRequest{Command: "for i in 1 2 3 4 5; do cat text; done", Timeout: time.Hour}
	_, err = client.Execute(b.ctx, req)
	if err != nil {
		return outcome{}, err
	}
	peak, err := memory(client.PluginPID(), "VmHWM")
	if err != nil {
		return outcome{}, err
	}
	more := peak - idle
	return outcome{measured: "+ " + size(more), met: more < 24<<20}, b.removeLogs()
}

func memoryJobs(b *bench) (outcome, error) {
	client, err := b.launch()
	if err != nil {
		return outcome{}, err
	}
	defer client.Close()
	err = b.text(b.bytes(1 << 30))
	if err != nil {
		return outcome{}, err
	}
	err = atOnce(200, func() error {
		command := "head -c 10485760 text; echo; echo written; sleep 1000"
		_, problem := b.startJob(client, command, "^written$|\nwritten")
		return problem
	})
	if err != nil {
		return outcome{}, err
	}
	resident, err := memory(client.PluginPID(), "VmRSS")
	return outcome{measured: size(resident), met: resident < 100<<20}, err
}

// startJob starts a job and waits for output of it.
func (b *bench) startJob(client *host.Client, command, waitFor string) (pid int, err error) {
	r, err := client.Execute(b.ctx, shared.ExecuteRequest{Command: command, Mode: shared.ModeBackground})
	if err != nil {
		return 0, err
	}
	_, err = client.Check(b.ctx, shared.CheckRequest{PID: r.PID, Wait: time.Minute, WaitFor: waitFor})
	return r.PID, err
}

func memoryIdle(b *bench) (outcome, error) {
	client, resident, err := b.idlePlugin()
	if err != nil {
		return outcome{}, err
	}
	defer client.Close()
	return outcome{measured: size(resident), met: resident < 20<<20}, nil
}
