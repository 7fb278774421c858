"""Runs that nothing else on the machine disturbed: neither the host of a virtual machine nor programs that were there before the bench.

A kernel thread that runs for 15 ms every five seconds is 0.15 % of two processors and decides the p99 of whatever second it falls into; where
contenders take turns in a round of five seconds it meets always the same one. So such a round is tried again."""
import os
import pathlib

TRIES, STOLEN_PART, OTHERS_PART = 3, 0.01, 0.005
WORDS = (f"one in which the host took more than {STOLEN_PART:.0%} of the processors away, or other programs more than {OTHERS_PART:.1%} of them, "
         f"was tried again, up to {TRIES - 1} times")


def stolen_seconds():
    """For how long the host of a virtual machine has kept its processors for others, all together."""
    line = pathlib.Path("/proc/stat").read_text().partition("\n")[0].split()
    return int(line[8]) / os.sysconf("SC_CLK_TCK") if len(line) > 8 else 0.0


def began(pid):
    """When a process was started, in ticks since the system was."""
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def others_seconds():
    """{thread: for how long it has had a processor} of all programs that are older than this one, the kernel's own threads with them."""
    seconds, mine = {}, began(os.getpid())
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if began(pid) < mine:
                for task in os.listdir(f"/proc/{pid}/task"):
                    seconds[task] = int(pathlib.Path(f"/proc/{pid}/task/{task}/schedstat").read_text().split()[0]) / 1e9
        except (FileNotFoundError, ProcessLookupError):     # has ended, or this kernel does not count
            pass
    return seconds


def undisturbed(run, seconds, ready=lambda: None):
    """What run() gives, which takes `seconds`; again if somebody else took too much of the processors meanwhile. Of a few tries the one that
    lost least; the result tells the parts as `stolen` and `others`. ready() is called before each try and may wait: what others do then
    disturbs nobody."""
    all_processors = seconds * (os.cpu_count() or 1)
    results = []
    while True:
        ready()
        others, stolen = others_seconds(), stolen_seconds()
        result = run()
        result["stolen"] = (stolen_seconds() - stolen) / all_processors
        result["others"] = sum(now - others.get(task, now) for task, now in others_seconds().items()) / all_processors
        results.append(result)
        if result["stolen"] <= STOLEN_PART and result["others"] <= OTHERS_PART or len(results) == TRIES:
            return min(results, key=lambda one: one["stolen"] + one["others"])
