// Package deploy tests the files beside it.
package deploy

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// decode decodes documents one by one. A field that a value does not have is an error.
func decode(t *testing.T, path string, values ...any) {
	t.Helper()
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(read(t, path))))
	decoder.KnownFields(true)
	for _, value := range values {
		require.NoError(t, decoder.Decode(value), path)
	}
	require.ErrorIs(t, decoder.Decode(new(any)), io.EOF)
}

// flagsOf returns the arguments of the image's entry point, by flag.
func flagsOf(t *testing.T) map[string]string {
	t.Helper()
	match := regexp.MustCompile(`(?m)^ENTRYPOINT (.*)$`).FindStringSubmatch(read(t, "Dockerfile"))
	require.NotNil(t, match)
	var args []string
	require.NoError(t, yaml.Unmarshal([]byte(match[1]), &args), "JSON is YAML")
	require.Equal(t, "bash-plugin", args[0])
	flags := make(map[string]string)
	for i := 1; i < len(args); i += 2 {
		flags[args[i]] = args[i+1]
	}
	return flags
}

var certs = []string{"plugin.pem", "plugin-key.pem", "ca.pem"}

func TestDockerfile(t *testing.T) {
	t.Parallel()
	flags := flagsOf(t)
	assert.Equal(t, map[string]string{"-listen": ":7700", "-health": ":7701", "-tls-cert": "/run/secrets/plugin.pem",
		"-tls-key": "/run/secrets/plugin-key.pem", "-tls-client-ca": "/run/secrets/ca.pem"}, flags)
	text := read(t, "Dockerfile")
	assert.Contains(t, text, "EXPOSE 7700\n")
	assert.Contains(t, text, "/dev/tcp/127.0.0.1/7701")
	assert.Contains(t, text, "USER 1000:1000\n")
}

func TestCompose(t *testing.T) {
	t.Parallel()
	var file struct {
		Services map[string]struct {
			Build, Image, User, Restart string
			Ports, Secrets              []string
			CapDrop                     []string `yaml:"cap_drop"`
			SecurityOpt                 []string `yaml:"security_opt"`
			MemLimit                    string   `yaml:"mem_limit"`
			PidsLimit                   int      `yaml:"pids_limit"`
			StopGracePeriod             string   `yaml:"stop_grace_period"`
		}
		Secrets map[string]struct{ File string }
	}
	decode(t, "compose.yaml", &file)
	s, ok := file.Services["bash-plugin"]
	require.True(t, ok)
	assert.ElementsMatch(t, certs, s.Secrets)
	assert.Len(t, file.Secrets, len(certs))
	for _, name := range s.Secrets {
		assert.Equal(t, "certs/"+name, file.Secrets[name].File)
	}
	assert.Equal(t, []string{"7700:7700"}, s.Ports)
	assert.Equal(t, "40s", s.StopGracePeriod, "more than -drain")
}

type meta struct {
	Name   string
	Labels map[string]string
}

type port struct {
	Name          string
	Port          int
	ContainerPort int `yaml:"containerPort"`
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

type statefulSet struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   meta
	Spec       struct {
		ServiceName         string `yaml:"serviceName"`
		Replicas            int
		PodManagementPolicy string `yaml:"podManagementPolicy"`
		Selector            struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		}
		Template struct {
			Metadata meta
			Spec     struct {
				AutomountServiceAccountToken  bool `yaml:"automountServiceAccountToken"`
				TerminationGracePeriodSeconds int  `yaml:"terminationGracePeriodSeconds"`
				SecurityContext               struct {
					RunAsNonRoot   bool                  `yaml:"runAsNonRoot"`
					RunAsUser      int                   `yaml:"runAsUser"`
					RunAsGroup     int                   `yaml:"runAsGroup"`
					FSGroup        int                   `yaml:"fsGroup"`
					SeccompProfile struct{ Type string } `yaml:"seccompProfile"`
				} `yaml:"securityContext"`
				Containers []struct {
					Name, Image     string
					Ports           []port
					ReadinessProbe  probe `yaml:"readinessProbe"`
					LivenessProbe   probe `yaml:"livenessProbe"`
					SecurityContext struct {
						AllowPrivilegeEscalation bool `yaml:"allowPrivilegeEscalation"`
						ReadOnlyRootFilesystem   bool `yaml:"readOnlyRootFilesystem"`
						Capabilities             struct{ Drop []string }
					} `yaml:"securityContext"`
					Resources    struct{ Requests, Limits map[string]string }
					VolumeMounts []struct {
						Name      string
						MountPath string `yaml:"mountPath"`
						ReadOnly  bool   `yaml:"readOnly"`
					} `yaml:"volumeMounts"`
				}
				Volumes []struct {
					Name   string
					Secret struct {
						SecretName  string `yaml:"secretName"`
						DefaultMode int    `yaml:"defaultMode"`
					}
					EmptyDir struct {
						SizeLimit string `yaml:"sizeLimit"`
					} `yaml:"emptyDir"`
				}
			}
		}
	}
}

func TestKubernetes(t *testing.T) {
	t.Parallel()
	var service struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   meta
		Spec       struct {
			ClusterIP string `yaml:"clusterIP"`
			Selector  map[string]string
			Ports     []port
		}
	}
	var set statefulSet
	decode(t, "kubernetes.yaml", &service, &set)
	assert.Equal(t, []string{"v1", "Service", "apps/v1", "StatefulSet"}, []string{service.APIVersion, service.Kind, set.APIVersion, set.Kind})
	assert.Equal(t, service.Metadata.Name, set.Spec.ServiceName)
	pod := set.Spec.Template
	for _, labels := range []map[string]string{service.Spec.Selector, set.Spec.Selector.MatchLabels} {
		assert.Equal(t, pod.Metadata.Labels, labels)
	}
	assert.Equal(t, "None", service.Spec.ClusterIP, "each instance has a name")
	assert.Greater(t, pod.Spec.TerminationGracePeriodSeconds, 30, "more than -drain")
	assert.Equal(t, 1000, pod.Spec.SecurityContext.RunAsUser, "as in the Dockerfile")
	require.Len(t, pod.Spec.Containers, 1)
	c := pod.Spec.Containers[0]
	flags, ports := flagsOf(t), make(map[string]string)
	for _, p := range c.Ports {
		ports[p.Name] = fmt.Sprint(":", p.ContainerPort)
	}
	assert.Equal(t, map[string]string{"plugin": flags["-listen"], "health": flags["-health"]}, ports)
	assert.Equal(t, flags["-listen"], fmt.Sprint(":", service.Spec.Ports[0].Port))
	for _, p := range []probe{c.ReadinessProbe, c.LivenessProbe} {
		assert.Equal(t, "/healthz", p.HTTPGet.Path)
		assert.Contains(t, ports, p.HTTPGet.Port)
	}
	volumes := make(map[string]bool)
	for _, v := range pod.Spec.Volumes {
		volumes[v.Name] = true
	}
	for _, m := range c.VolumeMounts {
		assert.True(t, volumes[m.Name], m.Name)
		if m.Name == "certs" {
			assert.True(t, strings.HasPrefix(flags["-tls-key"], m.MountPath+"/"))
		}
	}
	assert.False(t, c.SecurityContext.AllowPrivilegeEscalation)
	quantity := regexp.MustCompile(`^[0-9]+(m|[KMG]i)?$`)
	for _, list := range []map[string]string{c.Resources.Requests, c.Resources.Limits} {
		for _, q := range list {
			assert.Regexp(t, quantity, q)
		}
	}
	assert.Contains(t, read(t, "README.md"), "kubectl create secret generic "+pod.Spec.Volumes[0].Secret.SecretName+" --from-file=certs/plugin.pem")
}

// Nomad's file is not decoded: only what refers to something else is looked at.
func TestNomad(t *testing.T) {
	t.Parallel()
	text, flags := read(t, "bash-plugin.nomad.hcl"), flagsOf(t)
	assert.Equal(t, strings.Count(text, "{"), strings.Count(text, "}"))
	assert.Contains(t, text, `port "plugin" { to = `+strings.TrimPrefix(flags["-listen"], ":")+" }")
	assert.Contains(t, text, `port "health" { to = `+strings.TrimPrefix(flags["-health"], ":")+" }")
	assert.Contains(t, text, `volumes  = ["secrets:/run/secrets:ro"]`)
	for _, name := range certs {
		assert.Contains(t, text, `destination = "secrets/`+name+`"`)
	}
	for _, name := range regexp.MustCompile(`\{\{ \.(\w+) \}\}`).FindAllStringSubmatch(text, -1) {
		assert.Contains(t, read(t, "README.md"), " "+name[1]+"=@certs/", "nomad var put")
	}
}
