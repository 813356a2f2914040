package process

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// clock returns the time as list gives a process's start.
func clock() uint64 { return uint64(time.Now().UnixMicro()) }

const zombie = 5 // SZOMB

func infoOf(k unix.KinfoProc) info {
	return info{
		pid:     int(k.Proc.P_pid),
		ppid:    int(k.Eproc.Ppid),
		pgrp:    int(k.Eproc.Pgid),
		session: int(k.Eproc.Pgid), // sessions are not told; the group stands in
		start:   uint64(k.Proc.P_starttime.Sec)*1e6 + uint64(k.Proc.P_starttime.Usec),
		dead:    k.Proc.P_stat == zombie,
	}
}

func stat(pid int) (info, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return info{}, err
	}
	return infoOf(*k), nil
}

func list() map[int]info {
	procs, _ := unix.SysctlKinfoProcSlice("kern.proc.all")
	all := make(map[int]info, len(procs))
	for _, k := range procs {
		p := infoOf(k)
		all[p.pid] = p
	}
	return all
}

// pids is of use where there are marks.
func pids() []int { return nil }

// listBelow is for systems that have orphans come to this process.
func listBelow([]int) map[int]info { return list() }

func tellsChildren() bool { return false }

// Orphans go to launchd: nothing is adopted.
func becomeSubreaper() bool { return false }

func adopted() []int { return nil }

// worked is not told.
func worked(int) time.Duration { return 0 }

// handles cannot tell: it says that a process may.
func handles(int, syscall.Signal) bool { return true }

// environment is not told of other processes.
func environment(int, string) string { return "" }

// arguments are not told of other processes.
func arguments(int) string { return "" }

func name(pid int) string {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return ""
	}
	return unix.ByteSliceToString(k.Proc.P_comm[:])
}

// pipeOf and openPipes are for orphans, which are none of this process's.
func pipeOf(*os.File) uint64 { return 0 }
func openPipes(int) []uint64 { return nil }

// readsPipe is not asked: no process is told to be busy.
func readsPipe(int) bool { return false }

func checkProc() error { return nil }
