"""A small disk of a test's own, to be filled up (a tmpfs), and files that nobody can write. Both need root."""
import contextlib
import pathlib
import shutil
import subprocess

import pytest

BLOCK = 4096


class Disk:
    def __init__(self, path, size):
        """`size` as mount wants it: "1m". OSError: it cannot be mounted here."""
        self.path = pathlib.Path(path)
        self.path.mkdir()
        mounted = shutil.which("mount") and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(path)], capture_output=True, check=False).returncode == 0
        if not mounted:
            raise OSError("a tmpfs cannot be mounted here (wants root)")

    def fill(self, room=0):
        """Until nothing more goes in, or `room` bytes."""
        path = self.path / "filler"
        with open(path, "wb", buffering=0) as filler:
            with contextlib.suppress(OSError):
                while True:
                    filler.write(b"x" * BLOCK)
            filler.truncate(max(0, filler.tell() - room))

    def make_room(self):
        (self.path / "filler").unlink()

    def resize(self, size):
        subprocess.run(["mount", "-o", f"remount,size={size}", str(self.path)], check=True)

    def unmount(self):
        # Lazily: the server of the test may end later.
        subprocess.run(["umount", "-l", str(self.path)], check=True)


@contextlib.contextmanager
def immutable(path):
    """Not to be written even by root, whom permission bits do not stop."""
    if subprocess.run(["chattr", "+i", str(path)], capture_output=True, check=False).returncode != 0:
        pytest.skip("chattr +i is not possible here (needs root and a file system that has it)")
    try:
        yield
    finally:
        subprocess.run(["chattr", "-i", str(path)], check=True)
