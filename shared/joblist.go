package shared

import (
	"errors"
	"fmt"

	"bashplugin/shared/internal/session"
)

// JobList is a list of Results, none of which has Jobs of its own.
type JobList []Result

// maxJobs is the most Jobs that a host takes from a plugin, which may lie: an empty Result is two
// bytes on the wire, and a thousand in memory.
const maxJobs = 10_000

// GobEncode implements gob.GobEncoder.
func (l JobList) GobEncode() ([]byte, error) { return session.Encode([]Result(l)) }

// GobDecode implements gob.GobDecoder. It counts the Results before it makes them.
func (l *JobList) GobDecode(text []byte) error {
	counted, err := session.Decode[[]struct{ Jobs noJobs }](text)
	if err != nil {
		return err
	}
	if len(counted) > maxJobs {
		return fmt.Errorf("the plugin lists %d jobs: at most %d are allowed", len(counted), maxJobs)
	}
	*l, err = session.Decode[[]Result](text)
	return err
}

// noJobs takes no memory, and refuses a list of jobs.
type noJobs struct{}

// GobDecode implements gob.GobDecoder.
func (*noJobs) GobDecode([]byte) error { return errors.New("the plugin lists jobs of a job") }
