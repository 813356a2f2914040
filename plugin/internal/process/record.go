package process

import (
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// Record is what the Table tells the Guardian, in memory that both see, so
// that telling costs nothing and survives the teller: the pids of leaders and
// of adopted orphans.
type Record struct {
	session  session
	guardian int // its pid, in the Table's process
	file     *os.File
	alive    *os.File // a pipe whose end of file tells the guardian of this process's end, however it comes
	slots    *[recordSlots]recordSlot

	mu   sync.Mutex // guards free
	free []int
}

// recordSlots bounds the groups and orphans that the record takes. The few
// past it are still found by their mark, their environment and their parents.
const recordSlots = 4096

type recordSlot struct {
	pid    atomic.Int64 // 0: free
	start  atomic.Uint64
	reaped atomic.Bool // the process is; others of its session may live
}

// entry is a slot as read by the guardian.
type entry struct {
	start  uint64
	reaped bool
}

func newRecord() (*Record, error) {
	file, err := sharedMemory(int64(unsafe.Sizeof([recordSlots]recordSlot{})))
	if err != nil {
		return nil, err
	}
	r, err := mapRecord(file)
	if err != nil {
		file.Close()
		return nil, err
	}
	r.session = newSession()
	for i := range recordSlots {
		r.free = append(r.free, recordSlots-1-i)
	}
	return r, nil
}

// mapRecord maps the memory behind file, which it takes over.
func mapRecord(file *os.File) (*Record, error) {
	mem, err := syscall.Mmap(int(file.Fd()), 0, int(unsafe.Sizeof([recordSlots]recordSlot{})),
		syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return &Record{file: file, slots: (*[recordSlots]recordSlot)(unsafe.Pointer(&mem[0]))}, nil
}

// add returns the slot for remove, -1 where there is none.
func (r *Record) add(pid int, start uint64) int {
	if r == nil {
		return -1
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.free) - 1
	if last < 0 {
		return -1
	}
	slot := r.free[last]
	r.free = r.free[:last]
	r.slots[slot].start.Store(start)
	r.slots[slot].reaped.Store(false)
	r.slots[slot].pid.Store(int64(pid))
	return slot
}

// reap says that the process itself is about to be reaped.
func (r *Record) reap(slot int) {
	if slot >= 0 {
		r.slots[slot].reaped.Store(true)
	}
}

func (r *Record) remove(slot int) {
	if slot < 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slots[slot].pid.Store(0)
	r.free = append(r.free, slot)
}

func (r *Record) isGuardian(pid int) bool { return r != nil && pid == r.guardian }

// entries returns what is recorded, by pid.
func (r *Record) entries() map[int]entry {
	entries := make(map[int]entry)
	for i := range r.slots {
		slot := &r.slots[i]
		if pid := slot.pid.Load(); pid != 0 {
			entries[int(pid)] = entry{slot.start.Load(), slot.reaped.Load()}
		}
	}
	return entries
}

// owns reports whether p is recorded itself or is of a recorded session. It is
// not where the number was used again: then p is older than the entry, or
// another than the recorded process has its pid.
func owns(entries map[int]entry, p info, all map[int]info) bool {
	for _, id := range []int{p.pid, p.session, p.pgrp} {
		e, ok := entries[id]
		if !ok || p.start < e.start {
			continue
		}
		if holder, used := all[id]; !used || e.isOf(holder) {
			return true
		}
	}
	return false
}

// isOf reports whether the process that has the entry's pid is the recorded one.
// A plugin that was killed has not told what was reaped after it.
func (e entry) isOf(holder info) bool {
	return !e.reaped && holder.start == e.start
}
