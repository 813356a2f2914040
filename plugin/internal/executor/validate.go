package executor

import (
	"fmt"

	"bashplugin/shared"
)

func fail(code shared.Code, format string, args ...any) error {
	return &shared.Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// invalid says what is wrong with a field of a request.
func invalid(field, format string, args ...any) error {
	return &shared.Error{Code: shared.CodeInvalid, Field: field, Message: field + " " + fmt.Sprintf(format, args...)}
}

func errClosed() error { return fail(shared.CodeClosed, "the session is closed: no more calls") }

// normalize checks a request, fills in its defaults and returns the absolute directory that it
// runs in.
func (e *Executor) normalize(req *shared.ExecuteRequest) (string, error) {
	err := req.Normalize()
	if err != nil {
		return "", err
	}
	req.Resources, err = req.Resources.Within(e.launcher.resources)
	if err != nil {
		return "", err
	}
	return e.launcher.dir.resolve(req.Dir)
}
