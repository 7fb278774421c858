"""Runs the programs of tests. Each one has a process group of its own, so that all of its processes can be ended together."""
import collections
import os
import signal
import subprocess
import threading
import time

# After SIGINT, pytest stops the servers it has started.
INTERRUPT_SECONDS = 20
# timeout(1) sends a signal to the process and the same one to its group. The second one would interrupt the cleanup.
REPETITION_SECONDS = 2

Finished = collections.namedtuple("Finished", ["status", "output", "seconds"])      # the status is None after a timeout

_running = set()
_lock = threading.RLock()       # the signal handler may interrupt a thread that holds it
_interrupted_at = None          # time.monotonic() of the last signal that was not ignored


class Interrupted(Exception):
    """A signal ended all programs, and no further one is started."""


def run(command, directory, seconds, env=None):
    """Runs a command until it exits. After the time limit, ends its process group."""
    start = time.monotonic()
    with _lock:
        if _interrupted_at:
            raise Interrupted
        process = subprocess.Popen(command, cwd=directory, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        _running.add(process)
    try:
        output, _ = process.communicate(timeout=seconds)
        status = process.returncode
    except subprocess.TimeoutExpired:
        threading.Thread(target=_end, args=[process]).start()
        output, _ = process.communicate()
        output += f"\nended after {seconds} s\n".encode()
        status = None
    finally:
        with _lock:     # the signal handler iterates over the set
            _running.discard(process)
    return Finished(status, output.decode("utf-8", "replace"), time.monotonic() - start)


def _end(process):
    """Sends SIGINT, and SIGKILL to what is left of the process group when the program has exited or does not exit."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(INTERRUPT_SECONDS)
    except subprocess.TimeoutExpired:
        pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _interrupt(*_):
    global _interrupted_at
    with _lock:
        now = time.monotonic()
        if _interrupted_at and now - _interrupted_at < REPETITION_SECONDS:
            return
        _interrupted_at = now
        for process in _running:
            threading.Thread(target=_end, args=[process]).start()
    raise KeyboardInterrupt


def exit_on_signals(main):
    """Exits with the result of main(). The first SIGINT (Ctrl-C), SIGTERM or SIGHUP ends all programs of run(), which a signal of the
    terminal does not reach by itself, and raises KeyboardInterrupt in main(). The exit status is then 130."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)
    try:
        status = main()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        status = 130
    raise SystemExit(status)
