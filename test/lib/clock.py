"""The fake clock: a file of two little-endian int64 that the binary maps (VIEWTALLY_TEST_CLOCK).

The first is the wall clock in ms since 1970, the second the monotonic clock in ms; 0 means the real clock. Only builds
with test seams (MODE=debug, asan, cov) use it.
"""
import ctypes
import datetime
import mmap
import os
import struct


DEFAULT_NOW = "2026-07-10T12:00:00Z"      # the default time


def to_ms(when):
    """Converts a datetime, an ISO string ("2026-07-10" or "2026-07-10T12:00:00Z") or a number of ms to ms since 1970."""
    if isinstance(when, str):
        when = datetime.datetime.fromisoformat(when.replace("Z", "+00:00"))
    if isinstance(when, datetime.datetime):
        if when.tzinfo is None:
            when = when.replace(tzinfo=datetime.timezone.utc)
        return (when - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)) // datetime.timedelta(milliseconds=1)
    return int(when)


class FakeClock:
    def __init__(self, path, wall=0, monotonic_ms=0):
        self.path = str(path)
        with open(self.path, "wb") as file:
            file.write(struct.pack("<qq", to_ms(wall), monotonic_ms))
        descriptor = os.open(self.path, os.O_RDWR)
        self._map = mmap.mmap(descriptor, 16)
        os.close(descriptor)
        # One store each: struct.pack_into() writes byte by byte, and a server could read a half-written time.
        self._wall, self._monotonic = (ctypes.c_int64.from_buffer(self._map, at) for at in (0, 8))

    @property
    def wall_ms(self):
        return self._wall.value

    @property
    def monotonic_ms(self):
        return self._monotonic.value

    def set_wall(self, when):
        self._wall.value = to_ms(when)

    def set_monotonic(self, ms):
        self._monotonic.value = int(ms)

    def advance(self, ms):
        """Advances both clocks (a value of 0, the real clock, stays 0)."""
        if self.wall_ms:
            self.set_wall(self.wall_ms + ms)
        if self.monotonic_ms:
            self.set_monotonic(self.monotonic_ms + ms)
