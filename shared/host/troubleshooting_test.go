//go:build unix

package host_test

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// troubles are the messages in the table of what keeps a plugin from starting.
func troubles(t *testing.T) []string {
	t.Helper()
	_, section, found := strings.Cut(plugintest.ReadFile(t, "TROUBLESHOOTING.md"), "\n## When the plugin does not start\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	var messages []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(.+?)` \\| .+ \\|$").FindAllStringSubmatch(section, -1) {
		messages = append(messages, row[1])
	}
	return messages
}

// briefly is a start timeout that is meant to be reached.
const briefly = 100 * time.Millisecond

// trouble is a configuration that keeps a plugin from starting, and makes what
// it needs for that.
type trouble func(*testing.T) host.LaunchConfig

// Each row's failure is provoked, and Launch says what stands there.
func TestTroubleshootingTable(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	require.NoError(t, os.WriteFile(plain, []byte("no program\n"), 0o600))
	binary := filepath.Join(dir, "binary")
	require.NoError(t, os.WriteFile(binary, []byte("\x7fELF is not enough"), 0o700))
	lost := filepath.Join(dir, "lost")
	require.NoError(t, os.WriteFile(lost, []byte("#!/no/such/interpreter\n"), 0o700))
	path := func(path string) trouble {
		return func(*testing.T) host.LaunchConfig { return host.LaunchConfig{Path: path} }
	}
	config := func(cfg host.LaunchConfig) trouble {
		return func(*testing.T) host.LaunchConfig { return cfg }
	}
	reattach := func(value func(*testing.T) string) trouble {
		return func(t *testing.T) host.LaunchConfig {
			t.Setenv(host.ReattachName, value(t))
			return host.LaunchConfig{Path: plugintest.Path, StartTimeout: briefly}
		}
	}
	nowhere := func(cfg host.LaunchConfig) trouble {
		return func(t *testing.T) host.LaunchConfig {
			gone := t.TempDir()
			t.Chdir(gone)
			require.NoError(t, os.Remove(gone))
			return cfg
		}
	}

	provoke := map[string]trouble{
		"there is no plugin at PATH":                                                    path("/no/such/plugin"),
		"cannot look at the plugin: …":                                                  path(plain + "/plugin"),
		"PATH is a directory":                                                           path(dir),
		"PATH is not executable":                                                        path(plain),
		"PATH has another checksum than expected":                                       config(host.LaunchConfig{Path: plugintest.Path, SHA256: make([]byte, 32)}),
		"cannot start the plugin PATH: … exec format error":                             path(binary),
		"cannot start the plugin PATH: fork/exec … no such file or directory":           path(lost),
		"cannot start the plugin PATH: dial …":                                          path(plugintest.Script(t, "echo '1|2|unix|/tmp/none|netrpc|'; exec sleep 1000")),
		"cannot start the plugin PATH: …":                                               path(plugintest.Script(t, "echo '9|1|unix|/tmp/none|netrpc|'; exec sleep 1000")),
		"PATH cannot start, or is not a go-plugin plugin for this contract; it says: …": config(host.LaunchConfig{Path: plugintest.Path, Env: []string{"TMPDIR=/no/such/dir"}}),
		"PATH is not a go-plugin plugin for this contract":                              path("/bin/true"),
		"cannot start the plugin PATH: unsupported plugin protocol …":                   path(plugintest.Script(t, "echo '1|2|unix|/tmp/none|grpc|'; exec sleep 1000")),
		"PATH speaks another version of the contract than this host, and …":             path(plugintest.Script(t, "echo '1|99|unix|/tmp/none|netrpc|'; exec sleep 1000")),
		"PATH did not get ready within N":                                               config(host.LaunchConfig{Path: plugintest.Script(t, "exec sleep 1000"), StartTimeout: briefly}),

		"BASH_PLUGIN_REATTACH is not what bash-plugin -debug prints (…)": reattach(func(*testing.T) string { return "{" }),
		"BASH_PLUGIN_REATTACH is of a plugin that speaks … with version N of the contract": reattach(func(*testing.T) string {
			return host.Reattach{Protocol: "netrpc", Version: 99}.String()
		}),
		"no plugin serves where BASH_PLUGIN_REATTACH says (…)": reattach(func(*testing.T) string {
			return host.Reattach{Protocol: "netrpc", Version: 2, Network: "unix", Addr: filepath.Join(dir, "none")}.String()
		}),
		"the plugin of BASH_PLUGIN_REATTACH was started by hand": func(t *testing.T) host.LaunchConfig {
			cfg := reattach(heldPlugin)(t)
			cfg.Confine = &shared.Confine{NoNetwork: true}
			return cfg
		},
		"the plugin of BASH_PLUGIN_REATTACH (pid N) does not answer within N": reattach(heldPlugin),

		"no plugin is named":                         path(""),
		"cannot use the working directory: …":        config(host.LaunchConfig{Path: plugintest.Path, Dir: plain}),
		"the checksum has N bytes":                   config(host.LaunchConfig{Path: plugintest.Path, SHA256: make([]byte, 64)}),
		"the limit of a log is N bytes":              config(host.LaunchConfig{Path: plugintest.Path, MaxLogBytes: -1}),
		"the limit of all logs is N bytes":           config(host.LaunchConfig{Path: plugintest.Path, MaxSessionLogBytes: -1}),
		"the limit of all sessions' logs is N bytes": config(host.LaunchConfig{Path: plugintest.Path, MaxUserLogBytes: -1}),
		"the start timeout is N":                     config(host.LaunchConfig{Path: plugintest.Path, StartTimeout: -time.Second}),
		"Env[N] is …, which is not KEY=VALUE":        config(host.LaunchConfig{Path: plugintest.Path, Env: []string{"KEY"}}),
		"Env[N] has a NUL byte":                      config(host.LaunchConfig{Path: plugintest.Path, Env: []string{"KEY=\x00"}}),
		"… drops no variable":                        config(host.LaunchConfig{Path: plugintest.Path, DropEnv: []string{"[A"}}),
		"cannot find the plugin: …":                  nowhere(host.LaunchConfig{Path: "plugin"}),
		"cannot find the working directory: …":       nowhere(host.LaunchConfig{Path: plugintest.Path}),
		"cannot find the folder for logs: …":         nowhere(host.LaunchConfig{Path: plugintest.Path, Dir: dir, LogDir: "logs"}),
	}
	messages := troubles(t)
	for _, message := range messages {
		require.Contains(t, provoke, message, "nobody has seen this failure")
	}
	assert.Len(t, messages, len(provoke), "the table does not list every failure")

	for _, message := range messages {
		t.Run(message, func(t *testing.T) {
			cfg := provoke[message](t)
			bash, err := host.Launch(t.Context(), cfg)
			assert.Nil(t, bash)
			plugintest.RequireErrorIsOneOf(t, err, shared.ErrStart, shared.ErrInvalid)
			assert.Regexp(t, begins(message, cfg.Path, cfg.Dir), err.Error())
		})
	}
}

// begins matches what begins with a message of the table, about this path and
// directory.
func begins(message, path, dir string) *regexp.Regexp {
	const word = `\b(PATH|DIR|N)\b|…`
	return regexp.MustCompile("^" + regexp.MustCompile(word).ReplaceAllStringFunc(regexp.QuoteMeta(message), func(placeholder string) string {
		switch placeholder {
		case "PATH":
			return regexp.QuoteMeta(path)
		case "DIR":
			return regexp.QuoteMeta(dir)
		case "N":
			return `-?\d[\d.a-zµ]*`
		}
		return ".+"
	}))
}

// heldPlugin says where something listens that never answers, as under a
// debugger.
func heldPlugin(t *testing.T) string {
	t.Helper()
	return host.Reattach{Protocol: "netrpc", Version: 2, PID: os.Getpid(), Network: "unix", Addr: silentSocket(t)}.String()
}

func silentSocket(t *testing.T) string {
	t.Helper()
	socket := filepath.Join(plugintest.ShortDir(t), "s")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	return socket
}

// StartTimeout bounds the whole start: also of a plugin that says that it is ready
// and then does not answer.
func TestLaunchOfAPluginThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	path := plugintest.Script(t, "echo '1|2|unix|"+silentSocket(t)+"|netrpc|'; exec sleep 1000")
	_, err := host.Launch(t.Context(), host.LaunchConfig{Path: path, StartTimeout: briefly})
	plugintest.RequireCode(t, err, shared.ErrStart)
	assert.Regexp(t, begins("PATH did not get ready within N", path, ""), err.Error())
}

// Each message in the code has a row.
func TestTroubleshootingTableIsComplete(t *testing.T) {
	t.Parallel()
	joint := regexp.MustCompile(`"\s*\+\n\s*"|` + "`\\s*\\+\\n\\s*`") // of a message on several lines
	comma := regexp.MustCompile(`,\n\s*`)
	format := regexp.MustCompile(`(?:launchError|invalid|Errorf)\((?:[\w.]+, |"\w*", )*["` + "`" + `]([^` + "`" + `\n]+?)["` + "`" + `](?:, |\))`)
	example := strings.NewReplacer("Env[%d] %s", "Env[1] has a NUL byte", "limit of %s", "limit of a log", `%q drops`, "A drops", "directory %s", "directory /dir", "%d", "1", "within %v", "within 1s", "is %v", "is 1s", "%v", "why", "%w", "why",
		"%s is not what", host.ReattachName+" is not what", "%s is of", host.ReattachName+" is of", "plugin of %s", "plugin of "+host.ReattachName,
		"where %s says", "where "+host.ReattachName+" says", "%s", "/path")
	messages := troubles(t)
	count := 0
	for _, file := range []string{"launchconfig.go", "launch.go", "reattach.go", "../sessionconfig.go", "../internal/instance/instance.go"} {
		code := joint.ReplaceAllString(plugintest.ReadFile(t, file), "")
		code = comma.ReplaceAllString(code, ", ")
		for _, text := range format.FindAllStringSubmatch(code, -1) {
			if text[1] == "%s" { // one of internal/instance
				continue
			}
			count++
			said := example.Replace(text[1])
			listed := slices.ContainsFunc(messages, func(message string) bool { return begins(message, "/path", "/dir").MatchString(said) })
			assert.True(t, listed, "%s: %s", file, said)
		}
	}
	assert.GreaterOrEqual(t, count, 25, "messages were found")
}
