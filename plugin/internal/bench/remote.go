package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"bashplugin/shared"
	"bashplugin/shared/host"
)

func remoteRows() []row {
	return []row{
		{"a call over TCP on loopback, mutual TLS", "over the unix socket", "≤ 1.5 ×", remoteCall},
		{"1 GiB of text behind 1 ms of delay each way", "local", "≥ 0.8 ×", remoteThroughput},
		{"100 hosts with 10 jobs each on one plugin: resident, Check p99", "–", "–", remoteHosts},
		{"a partition of 5 s: the result after the link is back", "–", "≤ 1000 ms", remotePartition},
	}
}

// remote is a plugin that serves over TCP.
type remote struct {
	b       *bench
	address string
	certs   string
	cmd     *exec.Cmd
}

// serve starts a plugin that serves over TCP. wrap, if given, is a command that starts it.
func (b *bench) serve(listen string, wrap ...string) (*remote, error) {
	folder, err := os.MkdirTemp(b.dir, "certs-")
	if err != nil {
		return nil, err
	}
	certs := filepath.Join(folder, "certs")
	err = exec.Command(b.path, "certs", certs, "plugin.test").Run()
	if err != nil {
		return nil, err
	}
	args := append(slices.Clone(wrap), b.path,
		"-listen", listen,
		"-tls-cert", certs+"/plugin.pem",
		"-tls-key", certs+"/plugin-key.pem",
		"-tls-client-ca", certs+"/ca.pem",
		"-dir", b.dir,
		"-log-dir", b.logs(),
		"-log-retention", "-1s",
		"-drain", "0",
		"-max-log-bytes", fmt.Sprint(int64(manyBytes)),
		"-max-session-log-bytes", fmt.Sprint(64<<30),
		"-max-user-log-bytes", fmt.Sprint(64<<30))
	r := &remote{b: b, certs: certs, cmd: exec.Command(args[0], args[1:]...)}
	stderr, err := r.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	err = r.cmd.Start()
	if err != nil {
		return nil, err
	}
	r.address, err = servedAddress(stderr)
	return r, err
}

// servedAddress reads a plugin's log up to the line with the address where it serves hosts.
func servedAddress(stderr io.Reader) (string, error) {
	served := regexp.MustCompile(`serves hosts: address=(\S+)`)
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		match := served.FindStringSubmatch(lines.Text())
		if match != nil {
			go func() { _, _ = io.Copy(io.Discard, stderr) }()
			return match[1], nil
		}
	}
	return "", errors.New("the plugin does not serve")
}

func (r *remote) end() {
	_ = r.cmd.Process.Signal(os.Interrupt)
	_ = r.cmd.Wait()
}

func (r *remote) connect(address string) (*host.Client, error) {
	config, err := host.LoadTLS(r.certs+"/host.pem", r.certs+"/host-key.pem", r.certs+"/ca.pem")
	if err != nil {
		return nil, err
	}
	config.ServerName = "plugin.test"
	return host.Connect(r.b.ctx, host.ConnectConfig{Address: address, TLS: config, Linger: time.Hour})
}

// remoteCall compares a Check, and Execute("true"), over TCP with those over a unix socket.
func remoteCall(b *bench) (outcome, error) {
	r, err := b.serve("127.0.0.1:0")
	if err != nil {
		return outcome{}, err
	}
	defer r.end()
	far, err := r.connect(r.address)
	if err != nil {
		return outcome{}, err
	}
	defer far.Close()
	local, err := b.launch()
	if err != nil {
		return outcome{}, err
	}
	defer local.Close()
	all := shared.CheckRequest{PID: shared.AllJobs}
	run := shared.ExecuteRequest{Command: "true"}
	medians, err := alternate(b.rounds(2000),
		b.checkOf(far, all), b.checkOf(local, all),
		b.executeOf(far, run), b.executeOf(local, run))
	if err != nil {
		return outcome{}, err
	}
	check := comparison{plugin: medians[0], other: medians[1]}
	execute := comparison{plugin: medians[2], other: medians[3]}
	result := check.slowerAtMost(1.5)
	result.measured += fmt.Sprintf("; \"true\" %.2f ×", execute.slowness())
	return result, nil
}

// delayed passes bytes on after a delay, however many are under way.
func delayed(to, from net.Conn, delay time.Duration) {
	type part struct {
		due  time.Time
		text []byte
	}
	parts := make(chan part, 1<<16)
	go func() {
		defer close(parts)
		for {
			text := make([]byte, 64<<10)
			n, err := from.Read(text)
			if err != nil {
				return
			}
			parts <- part{time.Now().Add(delay), text[:n]}
		}
	}()
	for p := range parts {
		time.Sleep(time.Until(p.due))
		_, err := to.Write(p.text)
		if err != nil {
			return
		}
	}
	to.Close()
}

// relay passes the connections that a listener accepts on to an address, each way with a
// delay.
func relay(listener net.Listener, address string, delay time.Duration) {
	for {
		here, err := listener.Accept()
		if err != nil {
			return
		}
		there, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		go delayed(here, there, delay)
		go delayed(there, here, delay)
	}
}

func remoteThroughput(b *bench) (outcome, error) {
	err := b.text(b.bytes(1 << 30))
	if err != nil {
		return outcome{}, err
	}
	r, err := b.serve("127.0.0.1:0")
	if err != nil {
		return outcome{}, err
	}
	defer r.end()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return outcome{}, err
	}
	defer listener.Close()
	go relay(listener, r.address, time.Millisecond)
	far, err := r.connect(listener.Addr().String())
	if err != nil {
		return outcome{}, err
	}
	defer far.Close()
	cat := func(c *host.Client) subject {
		return subject{run: func() error {
			result, problem := c.Execute(b.ctx, shared.ExecuteRequest{Command: "cat text", Timeout: time.Hour})
			if problem != nil {
				return problem
			}
			return os.Remove(result.Stdout.Path)
		}}
	}
	times, err := compare(5, cat(far), cat(b.client))
	if err != nil {
		return outcome{}, err
	}
	return times.fasterAtLeast(0.8), nil
}

func remoteHosts(b *bench) (outcome, error) {
	const hosts = 100
	r, err := b.serve("127.0.0.1:0")
	if err != nil {
		return outcome{}, err
	}
	defer r.end()
	ready := make(chan struct{}, hosts)
	begin := make(chan struct{})
	ended := make(chan hostTimes, hosts)
	for range hosts {
		go func() {
			times, problem := r.host(ready, begin)
			ended <- hostTimes{times, problem}
		}()
	}
	for range hosts {
		<-ready
	}
	resident, err := memory(r.cmd.Process.Pid, "VmRSS")
	close(begin)
	var times []time.Duration
	for range hosts {
		host := <-ended
		times = append(times, host.times...)
		err = errors.Join(err, host.err)
	}
	if err != nil {
		return outcome{}, err
	}
	return outcome{measured: fmt.Sprintf("%s, %s", size(resident), ms(p99(times))), met: true}, nil
}

// hostTimes is how long a host's calls of Check took.
type hostTimes struct {
	times []time.Duration
	err   error
}

// host connects and starts jobs. It sends to ready when they run, or when it has failed, and
// calls Check from begin on.
func (r *remote) host(ready chan<- struct{}, begin <-chan struct{}) ([]time.Duration, error) {
	pid := 0
	client, err := r.connect(r.address)
	if err == nil {
		defer client.Close()
		pid, err = r.startJobs(client)
	}
	ready <- struct{}{}
	if err != nil {
		return nil, err
	}
	<-begin
	check := r.b.checkOf(client, shared.CheckRequest{PID: pid})
	var times []time.Duration
	for range r.b.rounds(50) {
		taken, problem := check.time()
		if problem != nil {
			return nil, problem
		}
		times = append(times, taken)
		time.Sleep(20 * time.Millisecond)
	}
	return times, nil
}

// startJobs starts ten jobs and returns the pid of one.
func (r *remote) startJobs(client *host.Client) (pid int, err error) {
	req := shared.ExecuteRequest{Command: "echo hi; sleep 1000", Mode: shared.ModeBackground}
	for range 10 {
		result, err := client.Execute(r.b.ctx, req)
		if err != nil {
			return 0, err
		}
		pid = result.PID
	}
	return pid, nil
}

// sh runs a script of bash.
func sh(script string) error {
	out, err := exec.Command("bash", "-ec", script).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// The scripts of a link between this network namespace and that of a plugin. linkDown makes
// packets go to a card that does not exist, so that neither side is told.
const (
	linkUp = `ip link add LINK type veth peer name v1 netns PID
		ip addr add 10.212.0.1/24 dev LINK
		ip link set LINK up
		THERE ip addr add 10.212.0.2/24 dev v1
		THERE ip link set v1 up`
	linkDown = `ip neigh replace 10.212.0.2 lladdr 02:00:00:00:00:01 dev LINK nud permanent
		THERE ip neigh replace 10.212.0.1 lladdr 02:00:00:00:00:02 dev v1 nud permanent`
	linkBack = `ip neigh del 10.212.0.2 dev LINK
		THERE ip neigh del 10.212.0.1 dev v1`
)

// remotePartition measures the time from the end of a partition of 5 s to the result of a
// command that has ended meanwhile, on a link between network namespaces.
func remotePartition(b *bench) (outcome, error) {
	err := sh("unshare -n ip link add v0 type veth peer name v1")
	if err != nil {
		return outcome{measured: "network namespaces are not permitted here", met: true}, nil
	}
	r, err := b.serve("0.0.0.0:7001", "unshare", "-n")
	if err != nil {
		return outcome{}, err
	}
	defer r.end()
	pid := strconv.Itoa(r.cmd.Process.Pid)
	names := strings.NewReplacer(
		"LINK", fmt.Sprintf("bb%d", os.Getpid()),
		"THERE", "nsenter -n -t "+pid,
		"PID", pid)
	link := func(script string) error { return sh(names.Replace(script)) }
	err = link(linkUp)
	if err != nil {
		return outcome{}, err
	}
	defer link("ip link del LINK") //nolint:errcheck // it goes with the plugin
	c, err := r.connect("10.212.0.2:7001")
	if err != nil {
		return outcome{}, err
	}
	defer c.Close()
	var times []time.Duration
	for range max(1, int(5*b.scale)) {
		done := make(chan error, 1)
		execute := b.executeOf(c, shared.ExecuteRequest{Command: "sleep 0.3"})
		go func() { done <- execute.run() }()
		time.Sleep(100 * time.Millisecond)
		err = link(linkDown)
		if err != nil {
			return outcome{}, err
		}
		time.Sleep(5 * time.Second)
		err = link(linkBack)
		if err != nil {
			return outcome{}, err
		}
		begin := time.Now()
		err = <-done
		if err != nil {
			return outcome{}, err
		}
		times = append(times, time.Since(begin))
	}
	worst := p99(times)
	return outcome{measured: ms(worst), met: worst <= time.Second}, nil
}
