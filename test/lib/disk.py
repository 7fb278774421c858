"""A small disk that a test can fill (a tmpfs), and immutable files. Both need root."""
import contextlib
import pathlib
import shutil
import subprocess

import pytest

BLOCK = 4096


class Disk:
    def __init__(self, path, size):
        """`size` has the format of mount, such as "1m". Raises OSError if the tmpfs cannot be mounted."""
        self.path = pathlib.Path(path)
        self.path.mkdir()
        mounted = shutil.which("mount") and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(path)], capture_output=True, check=False).returncode == 0
        if not mounted:
            raise OSError("a tmpfs cannot be mounted (needs root)")

    def fill(self, room=0):
        """Fills the disk except for `room` bytes."""
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
        # Lazily, because the server may still use the disk.
        subprocess.run(["umount", "-l", str(self.path)], check=True)


@contextlib.contextmanager
def immutable(path):
    """Makes a file immutable, even for root, until the block ends."""
    if subprocess.run(["chattr", "+i", str(path)], capture_output=True, check=False).returncode != 0:
        pytest.skip("chattr +i is not possible (needs root and support by the file system)")
    try:
        yield
    finally:
        subprocess.run(["chattr", "-i", str(path)], check=True)
