"""Facts about a process from /proc."""
import contextlib
import os
import pathlib


def open_files(pid):
    """Returns the targets of the process's descriptors: paths, "socket:[INODE]", "/memfd:NAME (deleted)". Skips
    descriptors that are closed during the call."""
    names = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            names.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except FileNotFoundError:
            continue
    return names


def thread_states(pid):
    """Returns the letter of the state of each thread, as in the STAT column of ps(1)."""
    states = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):        # the thread has exited
            states.append((task / "stat").read_text().rpartition(") ")[2][0])
    return states


def is_sleeping(pid):
    """Returns True if no thread of the process is running or runnable: it has handled all that it has received."""
    return all(state == "S" for state in thread_states(pid))


def is_stopped(pid):
    """Returns True if all threads are stopped. SIGSTOP takes effect with a delay: a running thread may still begin a transaction."""
    return all(state == "T" for state in thread_states(pid))
