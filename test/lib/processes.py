"""Facts about a process from /proc."""
import os


def open_files(pid):
    """What its descriptors name: paths, "socket:[INODE]", "/memfd:NAME (deleted)". Those closed while this looks are left out."""
    names = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            names.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except FileNotFoundError:
            continue
    return names
