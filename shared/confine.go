package shared

import "path/filepath"

// Confine says what a command, and everything that it starts, may touch. The zero
// value confines nothing. Any other also keeps the command from
//
//   - signalling and tracing processes of others, and setting the limits of any other process.
//     Commands that are confined as their session is, no tighter, signal each other by kill(2),
//     but not by pidfd_send_signal or sigqueue. One with a Confine of its own signals its own
//     processes alone, and so do all commands where the plugin runs below a seccomp listener;
//   - having a seccomp listener of its own, which few sandboxes want: that fails with EBUSY;
//   - abstract unix sockets of others;
//   - System V IPC, POSIX message queues and the kernel's keys: these calls fail with
//     ENOSYS, so that PostgreSQL does not start and fakeroot needs fakeroot-tcp;
//   - gaining rights, by sudo and the like, and as root from using any but the
//     capabilities about files, users and ports.
//
// With ReadOnly or Private its TMPDIR is a folder of its own, which is removed with the job, and of
// /dev it may use null, zero, full, random and urandom; with StdinTTY its terminal too.
//
// Private leaves readable what bash and other programs need: /usr, /opt, /bin, /sbin,
// /lib and its variants, /nix/store, /gnu/store, /proc, /sys/devices/system,
// /sys/fs/cgroup, and of /etc what is about linking, names, time, git and
// certificates. Neither the directory where the command runs nor the logs are among these.
//
// A request's Confine holds in addition to its session's: what both allow is allowed.
// Its Writable must lie within the session's.
//
// Paths must exist. Symbolic links, ".." and relative paths, which begin where the
// command runs, are resolved at once. A path of the session's that is replaced by a
// link later on allows nothing.
//
// # What is not kept
//
// A command can still
//
//   - change the mode, owner, times and extended attributes of its user's files anywhere,
//     and see that files exist;
//   - connect to unix sockets by their paths: that of a container engine, or of the user's
//     systemd, leads out of every confinement;
//   - slow down its user's other processes: by changing their priority and processors (setpriority,
//     sched_setaffinity and the like take the pid of any process), by locks and leases on files
//     that it may read, and by using up what one user may have in all, such as processes, watches
//     of files and terminals;
//   - without ReadOnly, change files of other processes in /proc, such as oom_score_adj;
//   - fill memory that belongs to no process (memfd): Resources do not count it;
//   - with StdinTTY and without Private, read and write a terminal of its user that controls no
//     session of processes (setsid);
//   - change the logs, where their folder lies below Writable: Result.Confined says so;
//   - signal its session's other commands from a sandbox of Landlock that it makes for itself;
//   - leave programs, hooks and settings below Writable, which others may run later.
type Confine struct {
	ReadOnly bool     // files may be changed below Writable only
	Writable []string // directories or files, with ReadOnly; none: nowhere

	// Private allows to read files only below Readable, Writable and what bash needs.
	Private  bool
	Readable []string // directories or files, with Private

	// NoNetwork allows no socket but unix sockets, no io_uring, and no system calls of other
	// architectures.
	NoNetwork bool

	// BestEffort runs the command also where the kernel cannot enforce all of this: Result.Confined
	// says what holds. false: the command then fails with an ErrStart that names what is missing.
	BestEffort bool
}

// Confines reports whether c asks for anything. c may be nil.
func (c *Confine) Confines() bool { return c != nil && (c.ReadOnly || c.Private || c.NoNetwork) }

// Validate reports fields that contradict each other.
func (c Confine) Validate() error {
	switch {
	case !c.ReadOnly && len(c.Writable) > 0:
		return invalid("Confine.Writable",
			"Confine.Writable is %q without ReadOnly: set ReadOnly too, or leave Writable out", c.Writable)
	case !c.Private && len(c.Readable) > 0:
		return invalid("Confine.Readable",
			"Confine.Readable is %q without Private: set Private too, or leave Readable out", c.Readable)
	}
	return nil
}

// Resolve validates c and returns a copy with resolved paths. Relative ones begin at
// dir.
func (c Confine) Resolve(dir string) (Confine, error) {
	err := c.Validate()
	if err == nil {
		c.Writable, err = resolve("Confine.Writable", c.Writable, dir)
	}
	if err == nil {
		c.Readable, err = resolve("Confine.Readable", c.Readable, dir)
	}
	return c, err
}

func resolve(field string, paths []string, dir string) ([]string, error) {
	var resolved []string
	for _, path := range paths {
		if path == "" {
			return nil, invalid(field, "%s has an empty path: name a directory or a file", field)
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		place, err := filepath.EvalSymlinks(path)
		if err != nil {
			return nil, invalid(field,
				"%s: cannot use %q: name a directory or a file that exists: %v", field, path, err)
		}
		resolved = append(resolved, place)
	}
	return resolved, nil
}
