package shared_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
)

// Each attack works where nothing is confined, and does nothing where it is.
func TestConfineKeepsWhatIsOutside(t *testing.T) {
	t.Parallel()
	attacks := map[string]string{
		"redirection":                `echo x >$OUT/file`,
		"append":                     `echo x >>$OUT/file`,
		"new file":                   `: >$OUT/new`,
		"a program that opens":       `cp program $OUT/file`,
		"rename":                     `mv $OUT/file $OUT/new`,
		"rename from inside":         `mv file $OUT/new`,
		"rename to inside":           `mv $OUT/file new`,
		"rename of a directory":      `mv $OUT/empty new`,
		"link":                       `ln file $OUT/new`,
		"link to inside":             `ln $OUT/file new; echo x >new`,
		"symbolic link":              `ln -s x $OUT/new`,
		"by a symbolic link":         `ln -s $OUT/file new; echo x >new`,
		"by a link to the folder":    `ln -s $OUT new; echo x >new/file`,
		"by ..":                      `echo x >../outside/file`,
		"truncate":                   `truncate -s 0 $OUT/file`,
		"mkdir":                      `mkdir $OUT/new`,
		"rmdir":                      `rmdir $OUT/empty`,
		"unlink":                     `rm $OUT/file`,
		"mkfifo":                     `mkfifo $OUT/new`,
		"from there":                 `cd $OUT && echo x >file`,
		"/proc/self/fd":              `exec 5<$OUT/file; echo x >/proc/self/fd/5`,
		"/proc/self/cwd":             `cd $OUT; echo x >/proc/self/cwd/file`,
		"/proc/self/root":            `echo x >/proc/self/root$OUT/file`,
		"/proc/PID/root":             `echo x >/proc/$PPID/root$OUT/file`,
		"a child":                    `(echo x >$OUT/file)`,
		"a child that outlives bash": `(while kill -0 $$; do :; done 2>/dev/null; echo x >$OUT/file) & disown`,
		"setsid":                     `setsid -w sh -c 'echo x >$OUT/file'`,
		"a double fork":              `(setsid sh -c 'echo x >$OUT/file' &)`,
		"another root":               `unshare -r chroot $OUT/.. /outside/program || echo x >$OUT/file`,
		"a clean environment":        `env -i /bin/sh -c "echo x >$OUT/file"`,
	}
	asEachUser(t, func(t *testing.T, y *yard) {
		free, confined := y.launch(t, nil), y.launch(t, &shared.Confine{ReadOnly: true, Writable: []string{"."}})
		before := y.look(t)
		attack := func(bash shared.Bash, command string) *shared.Result {
			y.reset(t)
			r := run(t, bash, command)
			if r.Leftover != nil {
				r = awaitEnd(t, bash, r.PID)
			}
			return r
		}
		for name, command := range attacks {
			r := attack(confined, command)
			assert.Equal(t, before, y.look(t), "%s: %s", name, r.Stderr.Content)
			r = attack(free, command)
			assert.NotEqual(t, before, y.look(t), "%s is no attack: %s", name, r.Stderr.Content)
		}
	})
}

// What is confined still works.
func TestConfinedCommandsWork(t *testing.T) {
	t.Parallel()
	asEachUser(t, func(t *testing.T, y *yard) {
		bash := y.launch(t, &shared.Confine{ReadOnly: true, Writable: []string{"."}, Private: true, Readable: []string{"empty"}, NoNetwork: true})
		for _, command := range []string{
			"echo x >new && mv new empty/moved && ln empty/moved linked && rm -r empty linked && mkdir empty",
			"echo x >/dev/null && head -c 9 /dev/zero /dev/urandom >/dev/null",
			"echo x >/dev/stdout && echo x >/dev/stderr && cat </dev/stdin",
			"! true </dev/tty",
			"mkfifo fifo && (echo x >fifo &) && cat fifo",
			"./program && id && ps && nproc && date && sort --version",
			"echo x >$TMPDIR/x && mv $TMPDIR/x . && mktemp",
			"cat <<END | wc -c\n" + strings.Repeat("a line of a here-document\n", 10_000) + "END",
			"kill -0 $$ && sleep 1000 & kill $! && ! wait $!",
			": " + strings.Repeat("x", 200<<10) + "\necho long",
		} {
			r := run(t, bash, command)
			assert.Equal(t, shared.StatusCompleted, r.Status, "%s\n%s", command[:min(80, len(command))], r.Stderr.Content)
			assert.Equal(t, "it may write below "+y.inside+", $TMPDIR; it may read below "+y.inside+"/empty, "+y.inside+", $TMPDIR and the system's folders; network: none", r.Confined)
		}
	})
}

func TestTheTMPDIRGoesWithTheJob(t *testing.T) {
	t.Parallel()
	asEachUser(t, func(t *testing.T, y *yard) {
		bash := y.launch(t, &shared.Confine{ReadOnly: true})
		r := run(t, bash, "echo $TMPDIR; mkdir -p $TMPDIR/a/b; chmod 0 $TMPDIR/a/b; chmod 500 $TMPDIR/a; ls -ld $TMPDIR")
		says(t, r, "drwx------")
		temp, _, _ := strings.Cut(r.Stdout.Content, "\n")
		eventually(t, "the end of "+temp, func() bool { _, err := os.Lstat(temp); return err != nil })

		job := run(t, bash, "echo $TMPDIR; "+forever+" &")
		temp = strings.TrimSpace(job.Stdout.Content)
		assert.DirExists(t, temp)
		says(t, run(t, bash, "echo x >"+temp+"/x"), "Permission denied")
		assert.Equal(t, "own\n", execute(t, bash, shared.ExecuteRequest{Command: "echo $TMPDIR", Env: []string{"TMPDIR=own"}}).Stdout.Content)
		kill(t, bash, job.PID)
		eventually(t, "the end of "+temp, func() bool { _, err := os.Lstat(temp); return err != nil })
	})
}

func TestPrivateKeepsWhatIsOutsideFromBeingRead(t *testing.T) {
	t.Parallel()
	attacks := map[string]string{
		"cat":                `cat $OUT/file`,
		"redirection":        `cat <$OUT/file`,
		"builtin":            `x=$(<$OUT/file) && echo "$x"`,
		"ls":                 `ls $OUT && echo secret`,
		"a program there":    `$OUT/program`,
		"a script there":     `. $OUT/program`,
		"by a symbolic link": `ln -s $OUT/file new; cat new`,
		"by ..":              `cat ../outside/file`,
		"by a link":          `ln $OUT/file new; cat new`,
		"after a rename":     `mv $OUT/file new; cat new`,
		"/proc/self/root":    `cat /proc/self/root$OUT/file`,
		"/proc/PID/root":     `cat /proc/$PPID/root$OUT/file`,
		"from there":         `cd $OUT; cat file`,
		"its environment":    `grep -z secret /proc/$PPID/environ`,
		"a child":            `setsid -w cat $OUT/file`,
	}
	asEachUser(t, func(t *testing.T, y *yard) {
		y.env = append(y.env, "A=secret")
		free := y.launch(t, nil)
		for what, confine := range map[string]*shared.Confine{
			"alone": {Private: true, Readable: []string{"."}}, "and read-only": {ReadOnly: true, Private: true, Writable: []string{"."}},
		} {
			confined := y.launch(t, confine)
			for name, command := range attacks {
				y.reset(t)
				r := run(t, confined, "unset A; "+command)
				assert.NotContains(t, r.Stdout.Content, "secret", "%s, %s", name, what)
				assert.NotEqual(t, shared.StatusCompleted, r.Status, name)
				y.reset(t)
				says(t, run(t, free, command), "secret")
			}
			y.reset(t)
			assert.Equal(t, "secret\n", run(t, confined, "cat file").Stdout.Content)
		}
	})
}

// The rule is the directory's, not its name's.
func TestADirectoryThatIsReplacedWhileTheCommandRuns(t *testing.T) {
	t.Parallel()
	asEachUser(t, func(t *testing.T, y *yard) {
		bash := y.launch(t, &shared.Confine{ReadOnly: true, Writable: []string{"."}})
		before := y.look(t)
		job := execute(t, bash, shared.ExecuteRequest{
			Command: "echo up >up; while [[ ! -L $IN ]]; do sleep 0.01; done; echo x >moved; echo x >$IN/file; ls", Mode: shared.ModeBackground})
		awaitFile(t, filepath.Join(y.inside, "up"))
		require.NoError(t, os.Rename(y.inside, y.inside+"-moved"))
		require.NoError(t, os.Symlink(y.outside, y.inside))
		r := awaitEnd(t, bash, job.PID)
		says(t, r, "moved")
		says(t, r, "Permission denied")
		assert.Equal(t, before, y.look(t))

		r = execute(t, bash, shared.ExecuteRequest{Command: "echo x >file; cd $IN-moved; echo x >new", Dir: y.inside})
		assert.Equal(t, before, y.look(t), "the link leads outside")
		assert.Equal(t, 2, strings.Count(r.Stderr.Content, "Permission denied"))
		require.NoError(t, os.Remove(y.inside))
		require.NoError(t, os.Rename(y.inside+"-moved", y.inside))
		assert.Equal(t, shared.StatusCompleted, run(t, bash, "echo x >file").Status, "it is back")
	})
}

// What Linux does not keep, as the documentation says.
func TestWhatConfineDoesNotKeep(t *testing.T) {
	t.Parallel()
	asEachUser(t, func(t *testing.T, y *yard) {
		bash := y.launch(t, &shared.Confine{ReadOnly: true, Private: true})
		r := run(t, bash, "chmod 640 $OUT/file && stat -c '%a %s' $OUT/file")
		assert.Equal(t, "640 7\n", r.Stdout.Content, r.Stderr.Content)
	})
}

func TestDevicesCannotBeMade(t *testing.T) {
	t.Parallel()
	asEachUser(t, func(t *testing.T, y *yard) {
		bash := y.launch(t, &shared.Confine{ReadOnly: true, Writable: []string{"."}})
		for _, kind := range []string{"b 7 0", "c 1 3"} {
			assert.Equal(t, shared.StatusFailed, run(t, bash, "mknod device "+kind).Status)
		}
		r := run(t, bash, "grep -E '^(CapEff|NoNewPrivs)' /proc/self/status; mount -t tmpfs none empty")
		says(t, r, "NoNewPrivs:\t1")
		assert.Equal(t, shared.StatusFailed, r.Status)
		if y.uid == 0 {
			says(t, r, "CapEff:\t00000000800424fb")
		}
	})
}

func TestARequestTightensItsSession(t *testing.T) {
	t.Parallel()
	asEachUser(t, func(t *testing.T, y *yard) {
		session := &shared.Confine{ReadOnly: true, Writable: []string{"."}, NoNetwork: true}
		bash := y.launch(t, session)
		try := func(command string, confine *shared.Confine) *shared.Result {
			return execute(t, bash, shared.ExecuteRequest{Command: command, Confine: confine})
		}
		for name, loose := range map[string]*shared.Confine{"nil": nil, "zero": {}, "another field": {Private: true, Readable: []string{"."}}, "best effort": {BestEffort: true}} {
			says(t, try("echo x >$OUT/file", loose), "Permission denied")
			says(t, try(": </dev/tcp/127.0.0.1/1", loose), "Permission denied")
			assert.Equal(t, shared.StatusCompleted, try("echo x >file", loose).Status, name)
		}
		tight := &shared.Confine{ReadOnly: true, Writable: []string{"empty"}}
		says(t, try("echo x >file", tight), "Permission denied")
		assert.Equal(t, "it may write below "+y.inside+"/empty, $TMPDIR; network: none", try("echo x >empty/new", tight).Confined)
		says(t, try("echo x >empty/new", &shared.Confine{ReadOnly: true}), "Permission denied")
		says(t, try("cat $OUT/file", &shared.Confine{Private: true}), "Permission denied")
		assert.Equal(t, "secret\n", try("cat $OUT/file", nil).Stdout.Content, "of that request alone")

		private := y.launch(t, &shared.Confine{Private: true, Readable: []string{"."}})
		for _, c := range []*shared.Confine{{Private: true, Readable: []string{y.outside}}, {ReadOnly: true, Writable: []string{y.outside}}} {
			says(t, execute(t, private, shared.ExecuteRequest{Command: "cat $OUT/file", Confine: c}), "Permission denied")
		}
	})
}

func TestInvalidConfines(t *testing.T) {
	t.Parallel()
	y := newYard(t, os.Getuid())
	require.NoError(t, os.Symlink(y.outside, filepath.Join(y.inside, "link")))
	bash := y.launch(t, &shared.Confine{ReadOnly: true, Writable: []string{"."}})
	for name, c := range map[string]struct {
		confine shared.Confine
		field   string
		says    []string
	}{
		"outside":                   {shared.Confine{ReadOnly: true, Writable: []string{y.outside}}, "Confine.Writable", []string{y.outside, y.inside}},
		"above":                     {shared.Confine{ReadOnly: true, Writable: []string{"empty", ".."}}, "Confine.Writable", []string{y.root, y.inside}},
		"by a symbolic link":        {shared.Confine{ReadOnly: true, Writable: []string{"link"}}, "Confine.Writable", []string{y.outside, y.inside}},
		"a name that begins alike":  {shared.Confine{ReadOnly: true, Writable: []string{"empty/../../outside"}}, "Confine.Writable", []string{y.outside}},
		"missing":                   {shared.Confine{ReadOnly: true, Writable: []string{"nope"}}, "Confine.Writable", []string{"nope", "exists"}},
		"empty path":                {shared.Confine{ReadOnly: true, Writable: []string{""}}, "Confine.Writable", []string{"empty", "directory"}},
		"NUL":                       {shared.Confine{Private: true, Readable: []string{"\x00"}}, "Confine.Readable", []string{"directory"}},
		"Writable without ReadOnly": {shared.Confine{Writable: []string{"."}}, "Confine.Writable", []string{"ReadOnly"}},
		"Readable without Private":  {shared.Confine{Readable: []string{"."}}, "Confine.Readable", []string{"Private"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := bash.Execute(t.Context(), shared.ExecuteRequest{Command: "true", Confine: &c.confine})
			e := requireCode(t, err, shared.ErrInvalid)
			assert.Equal(t, c.field, e.Field)
			for _, text := range c.says {
				assert.Contains(t, e.Message, text)
			}
		})
	}
	for _, confine := range []shared.Confine{{Writable: []string{"."}}, {ReadOnly: true, Writable: []string{"/no/such"}}, {Readable: []string{"."}}} {
		_, err := host.Launch(t.Context(), host.LaunchConfig{Path: pluginPath, Confine: &confine})
		requireCode(t, err, shared.ErrInvalid)
	}
}
