package shared

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/docker/go-units"
)

// resourcesJSON is a Resources whose sizes and times may be text.
type resourcesJSON struct {
	Memory    sizeJSON
	CPU       durationJSON
	Processes int
	Disk      sizeJSON
}

// UnmarshalJSON implements json.Unmarshaler. After an error r is as before.
func (r *Resources) UnmarshalJSON(text []byte) error {
	in := resourcesJSON{sizeJSON(r.Memory), durationJSON(r.CPU), r.Processes, sizeJSON(r.Disk)}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields() // no limit that somebody asks for is dropped
	if err := decoder.Decode(&in); err != nil {
		return err
	}
	*r = Resources{int64(in.Memory), time.Duration(in.CPU), in.Processes, int64(in.Disk)}
	return nil
}

// sizeJSON is a number of bytes.
type sizeJSON int64

// UnmarshalJSON implements json.Unmarshaler.
func (s *sizeJSON) UnmarshalJSON(text []byte) error {
	if unmarshalLimit(text, (*int64)(s), parseSize) != nil {
		return fmt.Errorf("%s is no size: use a positive number of bytes, or of KiB, MiB, GiB or TiB, "+
			"as in 512MiB or 1.5GiB, below 8192TiB", text)
	}
	return nil
}

// durationJSON is a number of nanoseconds.
type durationJSON time.Duration

// UnmarshalJSON implements json.Unmarshaler.
func (d *durationJSON) UnmarshalJSON(text []byte) error {
	if unmarshalLimit(text, (*int64)(d), parseDuration) != nil {
		return fmt.Errorf("%s is no duration: use a positive number of nanoseconds, or text as in 10s or 1h30m", text)
	}
	return nil
}

// unmarshalLimit reads a limit that is a whole number, or text with a positive value.
func unmarshalLimit(text []byte, limit *int64, parse func(string) (int64, error)) error {
	if json.Unmarshal(text, limit) == nil {
		return nil
	}
	var written string
	if err := json.Unmarshal(text, &written); err != nil {
		return err
	}
	n, err := parse(written)
	if err != nil {
		return err
	}
	if n <= 0 {
		return errors.New("not positive")
	}
	*limit = n
	return nil
}

// sizes are the texts that stand for sizes. The library takes more: "1e3", and "1GB" for
// 1 GiB, which is 10⁹ bytes elsewhere.
var sizes = regexp.MustCompile(`^([0-9]+|[0-9]+(\.[0-9]+)?[KMGT](iB)?)$`)

// maxSize bounds sizes in text. The library counts in floating point, which is exact up to here.
const maxSize = 1 << 53

func parseSize(text string) (int64, error) {
	if !sizes.MatchString(text) {
		return 0, errors.New("not a size")
	}
	n, err := units.RAMInBytes(text)
	if n >= maxSize {
		return 0, errors.New("too large")
	}
	return n, err
}

func parseDuration(text string) (int64, error) {
	d, err := time.ParseDuration(text)
	return int64(d), err
}
