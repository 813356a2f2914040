package process

import "golang.org/x/sys/unix"

const zombie = 5 // SZOMB

// stat reads one process.
func stat(pid int) (info, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return info{}, err
	}
	return info{
		pid:   int(k.Proc.P_pid),
		ppid:  int(k.Eproc.Ppid),
		pgrp:  int(k.Eproc.Pgid),
		start: uint64(k.Proc.P_starttime.Sec)*1e6 + uint64(k.Proc.P_starttime.Usec),
		dead:  k.Proc.P_stat == zombie,
	}, nil
}

// pids lists the numbers of all processes.
func pids() []int {
	var all []int
	procs, _ := unix.SysctlKinfoProcSlice("kern.proc.all")
	for _, k := range procs {
		all = append(all, int(k.Proc.P_pid))
	}
	return all
}

// pss returns 0: stat does not know the memory of a process.
func pss(p info) int64 { return p.rss }

func threadsOfAll() int { return 0 }

func checkProc() error { return nil }
