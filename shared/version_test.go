package shared

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared/internal/session"
)

var update = flag.Bool("update", false, "describe the wire anew, after Handshake.ProtocolVersion was raised")

// describe writes the types that a value is made of, a line for each, as they travel.
func describe(t reflect.Type, seen map[reflect.Type]bool, lines *[]string) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		describe(t.Elem(), seen, lines)
		return
	case reflect.Struct:
	default:
		return
	}
	if seen[t] || t.PkgPath() == "time" {
		return
	}
	seen[t] = true
	var fields []string
	for i := range t.NumField() {
		field := t.Field(i)
		if field.IsExported() && field.Type.Kind() != reflect.Interface {
			fields = append(fields, field.Name+" "+field.Type.String())
		}
	}
	*lines = append(*lines, fmt.Sprintf("%s {%s}", t, strings.Join(fields, "; ")))
	for i := range t.NumField() {
		if t.Field(i).IsExported() {
			describe(t.Field(i).Type, seen, lines)
		}
	}
}

// A change of what travels needs a new version of the contract: gob drops fields that the other side lacks.
func TestTheWireChangesWithItsVersion(t *testing.T) {
	t.Parallel()
	var lines []string
	seen := make(map[reflect.Type]bool)
	for _, value := range []any{
		session.OpenArgs{}, session.OpenReply{}, opened{}, SessionConfig{},
		session.Request[executeArgs]{}, session.Request[CheckRequest]{}, session.Request[KillRequest]{}, session.Request[int]{},
		session.Reply[answer]{}, session.TellArgs{}, session.LiveArgs{}, session.LiveReply{},
	} {
		describe(reflect.TypeOf(value), seen, &lines)
	}
	got := strings.ReplaceAll(strings.Join(lines, "\n"), "bashplugin/shared.", "shared.") + "\n"
	path := filepath.Join("testdata", fmt.Sprintf("wire-%d.txt", Handshake.ProtocolVersion))
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "raise the version, then: go test ./shared -run TestTheWire -update")
	assert.Equal(t, string(want), got,
		"the types on the wire have changed: raise Handshake.ProtocolVersion, then: go test ./shared -run TestTheWire -update")
}
