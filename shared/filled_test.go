package shared

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// filled returns a T each of whose fields has a value of its own, which is not zero, so
// that a test finds fields that are added later. Writers stay nil: a stream stands for them.
func filled[T any](t *testing.T) T {
	t.Helper()
	var v T
	f := filler{t: t}
	f.fill(reflect.ValueOf(&v).Elem())
	return v
}

type filler struct {
	t      *testing.T
	values int64 // used so far
	jobs   bool  // within Result.Jobs, which have none themselves
}

func (f *filler) fill(v reflect.Value) {
	f.t.Helper()
	f.values++
	switch v.Kind() {
	case reflect.Struct:
		f.fillStruct(v)
	case reflect.Slice:
		f.fillSlice(v)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.String:
		v.SetString(fmt.Sprintf("<a & b> 語 %d", f.values))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(f.values * int64(time.Millisecond)) // the precision of times in JSON
	case reflect.Interface:
	default:
		require.FailNow(f.t, "no value", "of a %v", v.Type())
	}
}

func (f *filler) fillStruct(v reflect.Value) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.UnixMilli(f.values).UTC()))
		return
	}
	for i := range v.NumField() {
		f.fill(v.Field(i))
	}
}

func (f *filler) fillSlice(v reflect.Value) {
	isJobs := v.Type() == reflect.TypeFor[JobList]()
	if isJobs && f.jobs {
		return
	}
	within := f.jobs
	f.jobs = within || isJobs
	v.Set(reflect.MakeSlice(v.Type(), 2, 2))
	f.fill(v.Index(0))
	f.fill(v.Index(1))
	f.jobs = within
}
