package proc

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A job is a job object: every process that the child starts is in it, and none can leave. Windows ends them all when the last
// handle is closed, so the death of the tool needs no guardian.
type job struct{ handle windows.Handle }

func newJob() (*job, error) {
	h, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("proc: cannot create a job object: %w", err)
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(h, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		windows.CloseHandle(h)
		return nil, fmt.Errorf("proc: cannot limit a job object: %w", err)
	}
	return &job{h}, nil
}

func (j *job) close() { windows.CloseHandle(j.handle) }

// admit puts a process that was created suspended into the job and lets it run.
func (j *job) admit(pid int) error {
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return err
	}
	defer windows.CloseHandle(h)
	if err := windows.AssignProcessToJobObject(j.handle, h); err != nil {
		return err
	}
	return resume(uint32(pid))
}

// resume lets the threads of a suspended process run; os/exec keeps no handle of the first thread.
func resume(pid uint32) error {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(snapshot)
	e := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	resumed := false
	for err = windows.Thread32First(snapshot, &e); err == nil; err = windows.Thread32Next(snapshot, &e) {
		if e.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, e.ThreadID)
		if err != nil {
			return err
		}
		_, err = windows.ResumeThread(thread)
		windows.CloseHandle(thread)
		if err != nil {
			return err
		}
		resumed = true
	}
	if !resumed {
		return fmt.Errorf("process %d has no thread to resume", pid)
	}
	return nil
}

// pids lists the living processes, at most 1024.
func (j *job) pids() ([]int, error) {
	var list struct {
		Assigned, InList uint32
		IDs              [1024]uintptr
	}
	err := windows.QueryInformationJobObject(j.handle, windows.JobObjectBasicProcessIdList,
		uintptr(unsafe.Pointer(&list)), uint32(unsafe.Sizeof(list)), nil)
	if err != nil && err != windows.ERROR_MORE_DATA {
		return nil, err
	}
	var pids []int
	for _, id := range list.IDs[:min(int(list.InList), len(list.IDs))] {
		pids = append(pids, int(id))
	}
	return pids, nil
}

func (j *job) terminate() { _ = windows.TerminateJobObject(j.handle, 1) }

func survivors(pids []int) []Survivor {
	var list []Survivor
	for _, pid := range pids {
		list = append(list, Survivor{PID: pid, Name: nameOf(pid)})
	}
	return list
}

// nameOf is the path of the program: another process's command line is not offered.
func nameOf(pid int) string {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return "[]"
	}
	defer windows.CloseHandle(h)
	buf := make([]uint16, 1024)
	n := uint32(len(buf))
	if err := windows.QueryFullProcessImageName(h, 0, &buf[0], &n); err != nil {
		return "[]"
	}
	return printable([]byte(windows.UTF16ToString(buf[:n])))
}
