package confinement

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
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
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		free, confined := y.Launch(t, nil), y.Launch(t, &shared.Confine{ReadOnly: true, Writable: []string{"."}})
		before := y.Look(t)
		attack := func(bash shared.Bash, command string) *shared.Result {
			y.Reset(t)
			r := plugintest.Run(t, bash, command)
			if r.Leftover != nil {
				r = plugintest.AwaitEnd(t, bash, r.PID)
			}
			return r
		}
		for name, command := range attacks {
			r := attack(confined, command)
			assert.Equal(t, before, y.Look(t), "%s: %s", name, r.Stderr.Content)
			r = attack(free, command)
			assert.NotEqual(t, before, y.Look(t), "%s is no attack: %s", name, r.Stderr.Content)
		}
	})
}

// What is confined still works.
func TestConfinedCommandsWork(t *testing.T) {
	t.Parallel()
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		bash := y.Launch(t, &shared.Confine{ReadOnly: true, Writable: []string{"."}, Private: true, Readable: []string{"empty"}, NoNetwork: true})
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
			r := plugintest.Run(t, bash, command)
			assert.Equal(t, shared.StatusCompleted, r.Status, "%s\n%s", command[:min(80, len(command))], r.Stderr.Content)
			assert.Equal(t, "it may write below "+y.Inside+", $TMPDIR; it may read below "+y.Inside+"/empty, "+y.Inside+", $TMPDIR and the system's folders; network: none", r.Confined)
		}
	})
}

func TestTheTMPDIRGoesWithTheJob(t *testing.T) {
	t.Parallel()
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		bash := y.Launch(t, &shared.Confine{ReadOnly: true})
		r := plugintest.Run(t, bash, "echo $TMPDIR; mkdir -p $TMPDIR/a/b; chmod 0 $TMPDIR/a/b; chmod 500 $TMPDIR/a; ls -ld $TMPDIR")
		plugintest.Says(t, r, "drwx------")
		temp, _, _ := strings.Cut(r.Stdout.Content, "\n")
		plugintest.Eventually(t, "the end of "+temp, func() bool { _, err := os.Lstat(temp); return err != nil })

		job := plugintest.Run(t, bash, "echo $TMPDIR; "+plugintest.Forever+" &")
		temp = strings.TrimSpace(job.Stdout.Content)
		assert.DirExists(t, temp)
		plugintest.Says(t, plugintest.Run(t, bash, "echo x >"+temp+"/x"), "Permission denied")
		assert.Equal(t, "own\n", plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "echo $TMPDIR", Env: []string{"TMPDIR=own"}}).Stdout.Content)
		plugintest.Kill(t, bash, job.PID)
		plugintest.Eventually(t, "the end of "+temp, func() bool { _, err := os.Lstat(temp); return err != nil })
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
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		y.Env = append(y.Env, "A=secret")
		free := y.Launch(t, nil)
		for what, confine := range map[string]*shared.Confine{
			"alone": {Private: true, Readable: []string{"."}}, "and read-only": {ReadOnly: true, Private: true, Writable: []string{"."}},
		} {
			confined := y.Launch(t, confine)
			for name, command := range attacks {
				y.Reset(t)
				r := plugintest.Run(t, confined, "unset A; "+command)
				assert.NotContains(t, r.Stdout.Content, "secret", "%s, %s", name, what)
				assert.NotEqual(t, shared.StatusCompleted, r.Status, name)
				y.Reset(t)
				plugintest.Says(t, plugintest.Run(t, free, command), "secret")
			}
			y.Reset(t)
			assert.Equal(t, "secret\n", plugintest.Run(t, confined, "cat file").Stdout.Content)
		}
	})
}

// The rule is the directory's, not its name's.
func TestADirectoryThatIsReplacedWhileTheCommandRuns(t *testing.T) {
	t.Parallel()
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		bash := y.Launch(t, &shared.Confine{ReadOnly: true, Writable: []string{"."}})
		before := y.Look(t)
		job := plugintest.Execute(t, bash, shared.ExecuteRequest{
			Command: "echo up >up; while [[ ! -L $IN ]]; do sleep 0.01; done; echo x >moved; echo x >$IN/file; ls", Mode: shared.ModeBackground})
		plugintest.AwaitFile(t, filepath.Join(y.Inside, "up"))
		require.NoError(t, os.Rename(y.Inside, y.Inside+"-moved"))
		require.NoError(t, os.Symlink(y.Outside, y.Inside))
		r := plugintest.AwaitEnd(t, bash, job.PID)
		plugintest.Says(t, r, "moved")
		plugintest.Says(t, r, "Permission denied")
		assert.Equal(t, before, y.Look(t))

		r = plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "echo x >file; cd $IN-moved; echo x >new", Dir: y.Inside})
		assert.Equal(t, before, y.Look(t), "the link leads outside")
		assert.Equal(t, 2, strings.Count(r.Stderr.Content, "Permission denied"))
		require.NoError(t, os.Remove(y.Inside))
		require.NoError(t, os.Rename(y.Inside+"-moved", y.Inside))
		assert.Equal(t, shared.StatusCompleted, plugintest.Run(t, bash, "echo x >file").Status, "it is back")
	})
}

// What Linux does not keep, as the documentation says.
func TestWhatConfineDoesNotKeep(t *testing.T) {
	t.Parallel()
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		bash := y.Launch(t, &shared.Confine{ReadOnly: true, Private: true})
		r := plugintest.Run(t, bash, "chmod 640 $OUT/file && stat -c '%a %s' $OUT/file")
		assert.Equal(t, "640 7\n", r.Stdout.Content, r.Stderr.Content)
	})
}

func TestDevicesCannotBeMade(t *testing.T) {
	t.Parallel()
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		bash := y.Launch(t, &shared.Confine{ReadOnly: true, Writable: []string{"."}})
		for _, kind := range []string{"b 7 0", "c 1 3"} {
			assert.Equal(t, shared.StatusFailed, plugintest.Run(t, bash, "mknod device "+kind).Status)
		}
		r := plugintest.Run(t, bash, "grep -E '^(CapEff|NoNewPrivs)' /proc/self/status; mount -t tmpfs none empty")
		plugintest.Says(t, r, "NoNewPrivs:\t1")
		assert.Equal(t, shared.StatusFailed, r.Status)
		if y.UID == 0 {
			plugintest.Says(t, r, "CapEff:\t00000000800424fb")
		}
	})
}

func TestARequestTightensItsSession(t *testing.T) {
	t.Parallel()
	plugintest.AsEachUser(t, func(t *testing.T, y *plugintest.Yard) {
		session := &shared.Confine{ReadOnly: true, Writable: []string{"."}, NoNetwork: true}
		bash := y.Launch(t, session)
		try := func(command string, confine *shared.Confine) *shared.Result {
			return plugintest.Execute(t, bash, shared.ExecuteRequest{Command: command, Confine: confine})
		}
		for name, loose := range map[string]*shared.Confine{"nil": nil, "zero": {}, "another field": {Private: true, Readable: []string{"."}}, "best effort": {BestEffort: true}} {
			plugintest.Says(t, try("echo x >$OUT/file", loose), "Permission denied")
			plugintest.Says(t, try(": </dev/tcp/127.0.0.1/1", loose), "Permission denied")
			assert.Equal(t, shared.StatusCompleted, try("echo x >file", loose).Status, name)
		}
		tight := &shared.Confine{ReadOnly: true, Writable: []string{"empty"}}
		plugintest.Says(t, try("echo x >file", tight), "Permission denied")
		assert.Equal(t, "it may write below "+y.Inside+"/empty, $TMPDIR; network: none", try("echo x >empty/new", tight).Confined)
		plugintest.Says(t, try("echo x >empty/new", &shared.Confine{ReadOnly: true}), "Permission denied")
		plugintest.Says(t, try("cat $OUT/file", &shared.Confine{Private: true}), "Permission denied")
		assert.Equal(t, "secret\n", try("cat $OUT/file", nil).Stdout.Content, "of that request alone")

		private := y.Launch(t, &shared.Confine{Private: true, Readable: []string{"."}})
		for _, c := range []*shared.Confine{{Private: true, Readable: []string{y.Outside}}, {ReadOnly: true, Writable: []string{y.Outside}}} {
			plugintest.Says(t, plugintest.Execute(t, private, shared.ExecuteRequest{Command: "cat $OUT/file", Confine: c}), "Permission denied")
		}
	})
}

func TestInvalidConfines(t *testing.T) {
	t.Parallel()
	y := plugintest.NewYard(t, os.Getuid())
	require.NoError(t, os.Symlink(y.Outside, filepath.Join(y.Inside, "link")))
	bash := y.Launch(t, &shared.Confine{ReadOnly: true, Writable: []string{"."}})
	for name, c := range map[string]struct {
		confine shared.Confine
		field   string
		says    []string
	}{
		"outside":                   {shared.Confine{ReadOnly: true, Writable: []string{y.Outside}}, "Confine.Writable", []string{y.Outside, y.Inside}},
		"above":                     {shared.Confine{ReadOnly: true, Writable: []string{"empty", ".."}}, "Confine.Writable", []string{y.Root, y.Inside}},
		"by a symbolic link":        {shared.Confine{ReadOnly: true, Writable: []string{"link"}}, "Confine.Writable", []string{y.Outside, y.Inside}},
		"a name that begins alike":  {shared.Confine{ReadOnly: true, Writable: []string{"empty/../../outside"}}, "Confine.Writable", []string{y.Outside}},
		"missing":                   {shared.Confine{ReadOnly: true, Writable: []string{"nope"}}, "Confine.Writable", []string{"nope", "exists"}},
		"empty path":                {shared.Confine{ReadOnly: true, Writable: []string{""}}, "Confine.Writable", []string{"empty", "directory"}},
		"NUL":                       {shared.Confine{Private: true, Readable: []string{"\x00"}}, "Confine.Readable", []string{"directory"}},
		"Writable without ReadOnly": {shared.Confine{Writable: []string{"."}}, "Confine.Writable", []string{"ReadOnly"}},
		"Readable without Private":  {shared.Confine{Readable: []string{"."}}, "Confine.Readable", []string{"Private"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := bash.Execute(t.Context(), shared.ExecuteRequest{Command: "true", Confine: &c.confine})
			e := plugintest.RequireCode(t, err, shared.ErrInvalid)
			assert.Equal(t, c.field, e.Field)
			for _, text := range c.says {
				assert.Contains(t, e.Message, text)
			}
		})
	}
	for _, confine := range []shared.Confine{{Writable: []string{"."}}, {ReadOnly: true, Writable: []string{"/no/such"}}, {Readable: []string{"."}}} {
		_, err := host.Launch(t.Context(), host.LaunchConfig{Path: plugintest.Path, Confine: &confine})
		plugintest.RequireCode(t, err, shared.ErrInvalid)
	}
}
