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
	"strings"
	"sync"
	"time"

	"bashplugin/shared"
	"bashplugin/shared/host"
)

// remote is a plugin that serves over TCP.
type remote struct {
	b       *bench
	address string
	certs   string
	cmd     *exec.Cmd
}

// serve starts a plugin that serves over TCP, by the command wrap if there is one.
func (b *bench) serve(listen string, wrap ...string) (*remote, error) {
	certs, err := os.MkdirTemp(b.dir, "certs-")
	if err != nil {
		return nil, err
	}
	certs += "/certs"
	if err := exec.Command(b.path, "certs", certs, "plugin.test").Run(); err != nil {
		return nil, err
	}
	args := append(slices.Clone(wrap), b.path, "-listen", listen, "-tls-cert", certs+"/plugin.pem", "-tls-key", certs+"/plugin-key.pem", "-tls-client-ca", certs+"/ca.pem",
		"-dir", b.dir, "-log-dir", filepath.Join(b.dir, "logs"), "-log-retention", "-1s", "-drain", "0",
		"-max-log-bytes", fmt.Sprint(int64(manyBytes)), "-max-session-log-bytes", fmt.Sprint(64<<30), "-max-user-log-bytes", fmt.Sprint(64<<30))
	r := &remote{b: b, certs: certs, cmd: exec.Command(args[0], args[1:]...)}
	stderr, err := r.cmd.StderrPipe()
	if err == nil {
		err = r.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if match := regexp.MustCompile(`serves hosts: address=(\S+)`).FindStringSubmatch(lines.Text()); match != nil {
			r.address = match[1]
			go func() { _, _ = io.Copy(io.Discard, stderr) }()
			return r, nil
		}
	}
	return nil, errors.New("the plugin does not serve")
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
func remoteCall(b *bench) (string, bool, error) {
	r, err := b.serve("127.0.0.1:0")
	if err != nil {
		return "", false, err
	}
	defer r.end()
	c, err := r.connect(r.address)
	if err != nil {
		return "", false, err
	}
	defer c.Close()
	check := func(c *host.Client) func() error {
		return func() error {
			_, err := c.Check(b.ctx, shared.CheckRequest{PID: shared.AllJobs})
			return err
		}
	}
	run := func(c *host.Client) func() error {
		return func() error {
			_, err := c.Execute(b.ctx, shared.ExecuteRequest{Command: "true"})
			return err
		}
	}
	local, err := b.launch()
	if err != nil {
		return "", false, err
	}
	defer local.Close()
	m, err := alternate(b.rounds(2000), check(c), check(local), run(c), run(local))
	if err != nil {
		return "", false, err
	}
	ratio := float64(m[0]) / float64(m[1])
	return fmt.Sprintf("%.2f × (%s, %s); \"true\" %.2f ×", ratio, ms(m[0]), ms(m[1]), float64(m[2])/float64(m[3])), ratio <= 1.5, nil
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
		if _, err := to.Write(p.text); err != nil {
			return
		}
	}
	to.Close()
}

func remoteThroughput(b *bench) (string, bool, error) {
	if err := b.text(int64(float64(1<<30) * b.scale)); err != nil {
		return "", false, err
	}
	r, err := b.serve("127.0.0.1:0")
	if err != nil {
		return "", false, err
	}
	defer r.end()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", false, err
	}
	defer listener.Close()
	go func() {
		for {
			here, err := listener.Accept()
			if err != nil {
				return
			}
			there, err := net.Dial("tcp", r.address)
			if err != nil {
				return
			}
			go delayed(here, there, time.Millisecond)
			go delayed(there, here, time.Millisecond)
		}
	}()
	c, err := r.connect(listener.Addr().String())
	if err != nil {
		return "", false, err
	}
	defer c.Close()
	cat := func(c *host.Client) func() error {
		return func() error {
			result, err := c.Execute(b.ctx, shared.ExecuteRequest{Command: "cat text", Timeout: time.Hour})
			if err == nil {
				err = os.Remove(result.Stdout.Path)
			}
			return err
		}
	}
	m, err := alternate(5, cat(c), cat(b.client))
	if err != nil {
		return "", false, err
	}
	ratio := float64(m[1]) / float64(m[0])
	return fmt.Sprintf("%.2f × (%s, %s)", ratio, ms(m[0]), ms(m[1])), ratio >= 0.8, nil
}

func remoteHosts(b *bench) (string, bool, error) {
	r, err := b.serve("127.0.0.1:0")
	if err != nil {
		return "", false, err
	}
	defer r.end()
	const hosts, jobs = 100, 10
	var wg sync.WaitGroup
	var mu sync.Mutex
	var times []time.Duration
	errs := make(chan error, hosts)
	ready, begin := make(chan struct{}, hosts), make(chan struct{})
	for range hosts {
		wg.Go(func() {
			c, err := r.connect(r.address)
			if err != nil {
				errs <- err
				ready <- struct{}{}
				return
			}
			defer c.Close()
			var pid int
			for range jobs {
				result, err := c.Execute(b.ctx, shared.ExecuteRequest{Command: "echo hi; sleep 1000", Mode: shared.ModeBackground})
				if err != nil {
					errs <- err
					break
				}
				pid = result.PID
			}
			ready <- struct{}{}
			<-begin
			for range b.rounds(50) {
				start := time.Now()
				if _, err := c.Check(b.ctx, shared.CheckRequest{PID: pid}); err != nil {
					errs <- err
					return
				}
				mu.Lock()
				times = append(times, time.Since(start))
				mu.Unlock()
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	for range hosts {
		<-ready
	}
	rss, err := memory(r.cmd.Process.Pid, "VmRSS")
	close(begin)
	wg.Wait()
	close(errs)
	if err = errors.Join(err, <-errs); err != nil {
		return "", false, err
	}
	return fmt.Sprintf("%s, %s", mib(rss), ms(p99(times))), true, nil
}

// remotePartition measures the time from the end of a partition of 5 s to the result of a
// command that has ended meanwhile, on a link between network namespaces.
func remotePartition(b *bench) (string, bool, error) {
	sh := func(script string) error {
		out, err := exec.Command("bash", "-ec", script).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return err
	}
	if err := sh("unshare -n ip link add v0 type veth peer name v1"); err != nil {
		return "network namespaces are not permitted here", true, nil
	}
	r, err := b.serve("0.0.0.0:7001", "unshare", "-n")
	if err != nil {
		return "", false, err
	}
	defer r.end()
	names := strings.NewReplacer("LINK", fmt.Sprintf("bb%d", os.Getpid()), "THERE", fmt.Sprintf("nsenter -n -t %d", r.cmd.Process.Pid))
	if err := sh(names.Replace(`ip link add LINK type veth peer name v1 netns ` + fmt.Sprint(r.cmd.Process.Pid) + `
		ip addr add 10.212.0.1/24 dev LINK; ip link set LINK up; THERE ip addr add 10.212.0.2/24 dev v1; THERE ip link set v1 up`)); err != nil {
		return "", false, err
	}
	defer sh(names.Replace("ip link del LINK")) //nolint:errcheck // it goes with the plugin
	c, err := r.connect("10.212.0.2:7001")
	if err != nil {
		return "", false, err
	}
	defer c.Close()
	var times []time.Duration
	for range max(1, int(5*b.scale)) {
		done := make(chan error, 1)
		go func() {
			_, err := c.Execute(b.ctx, shared.ExecuteRequest{Command: "sleep 0.3"})
			done <- err
		}()
		time.Sleep(100 * time.Millisecond)
		// Packets go to a card that does not exist: neither side is told.
		if err := sh(names.Replace("ip neigh replace 10.212.0.2 lladdr 02:00:00:00:00:01 dev LINK nud permanent; THERE ip neigh replace 10.212.0.1 lladdr 02:00:00:00:00:02 dev v1 nud permanent")); err != nil {
			return "", false, err
		}
		time.Sleep(5 * time.Second)
		if err := sh(names.Replace("ip neigh del 10.212.0.2 dev LINK; THERE ip neigh del 10.212.0.1 dev v1")); err != nil {
			return "", false, err
		}
		begin := time.Now()
		if err := <-done; err != nil {
			return "", false, err
		}
		times = append(times, time.Since(begin))
	}
	worst := p99(times)
	return ms(worst), worst <= time.Second, nil
}
