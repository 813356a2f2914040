//go:build unix

package plugintest

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"bashplugin/shared"
)

// RequireCode checks that an error is typed on this side of the boundary.
func RequireCode(t testing.TB, err error, want error) *shared.Error {
	t.Helper()
	require.ErrorIs(t, err, want)
	var e *shared.Error
	require.ErrorAs(t, err, &e)
	require.NotEmpty(t, e.Message)
	return e
}

// RequireErrorIsOneOf checks that an error is one of several.
func RequireErrorIsOneOf(t testing.TB, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if errors.Is(err, target) {
			return
		}
	}
	require.Fail(t, "another error", "%v", err)
}
