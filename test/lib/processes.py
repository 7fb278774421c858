"""Facts about a process from /proc."""
import os


def open_files(pid):
    """Returns the targets of its descriptors: paths, "socket:[INODE]", "/memfd:NAME (deleted)". Skips descriptors that are closed during the call."""
    names = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            names.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except FileNotFoundError:
            continue
    return names
