package job

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"bashplugin/shared"
)

// input is the stdin of a command. Its goroutine (run) writes; what the command has not
// read waits in memory, so that no caller waits for the command. A command without a
// stdin has a nil input, which does nothing.
type input struct {
	// to is the writing end of a pipe, or a terminal. The source closes a terminal.
	to   *os.File
	tty  bool          // to is a terminal
	done chan struct{} // closed when run has ended

	mu      sync.Mutex // guards the fields below
	changed *sync.Cond
	last    bool // nothing comes after waiting
	broken  bool // the command reads no more

	// waiting has at most shared.MaxInputBytes. run removes what it has written.
	waiting []byte
}

// newInput makes a pipe that has text first, and returns the command's end of it.
func newInput(text string) (*os.File, *input, error) {
	read, write, err := pipe(1)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot make a pipe: %w", err)
	}
	return read, inputTo(write, false, text), nil
}

func inputTo(file *os.File, tty bool, text string) *input {
	in := &input{to: file, tty: tty, done: make(chan struct{}), waiting: []byte(text)}
	in.changed = sync.NewCond(&in.mu)
	return in
}

func (in *input) run() {
	defer close(in.done)
	for {
		part := in.next()
		if len(part) == 0 {
			break
		}
		n, err := in.to.Write(part)
		in.mu.Lock()
		in.waiting = in.waiting[min(n, len(in.waiting)):]
		if err != nil {
			in.waiting = nil
			in.broken = true
		}
		in.mu.Unlock()
	}
	if !in.tty {
		in.to.Close()
	}
}

// next waits for bytes to write. It returns none if there will be none.
func (in *input) next() []byte {
	in.mu.Lock()
	defer in.mu.Unlock()
	for len(in.waiting) == 0 && !in.last && !in.broken {
		in.changed.Wait()
	}
	return in.waiting[:min(len(in.waiting), bufferSize)]
}

// put adds text to what waits, and the end of the input if last is set.
func (in *input) put(text string, last bool) error {
	if in.tty && last {
		text += "\x04" // Ctrl-D, by which a terminal's input ends and can go on
		last = false
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.broken:
		return errors.New("the command does not read its stdin any more")
	case in.last && text != "":
		return errors.New("stdin was closed by CloseInput")
	case len(in.waiting)+len(text) > shared.MaxInputBytes:
		return fmt.Errorf("%d bytes and the %d that the command has not read yet are more than %d: "+
			"wait until it reads them", len(text), len(in.waiting), shared.MaxInputBytes)
	}
	in.waiting = append(in.waiting, text...)
	in.last = in.last || last
	in.changed.Broadcast()
	return nil
}

// close ends run, even if the command does not read.
func (in *input) close() {
	if in == nil {
		return
	}
	in.mu.Lock()
	in.broken = true
	in.waiting = nil
	in.changed.Broadcast()
	in.mu.Unlock()
	_ = in.to.Close()
	<-in.done
}

// Write writes to the job's stdin, and ends the input if last is set. It does not wait for
// the command to read. The error says why nothing was written.
func (j *Job) Write(text string, last bool) error {
	switch {
	case j.input == nil:
		return errors.New("the job has no stdin: start the command with one, by ExecuteRequest.Stdin")
	case !j.Running():
		return errors.New("the job has ended: start the command again")
	}
	return j.input.put(text, last)
}
