"""The fake clock: a file of two little-endian int64 that the binary maps (VIEWTALLY_TEST_CLOCK).

The first is the wall clock in ms since 1970, the second the monotonic clock in ms; 0 leaves the real one. Only the builds
with test seams (MODE=debug, asan, cov) honour it.
"""
import datetime
import mmap
import os
import struct


def to_ms(when):
    """A datetime, an ISO string ("2026-07-10" or "2026-07-10T12:00:00Z") or a number of ms as ms since 1970."""
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

    @property
    def wall_ms(self):
        return struct.unpack_from("<q", self._map, 0)[0]

    @property
    def monotonic_ms(self):
        return struct.unpack_from("<q", self._map, 8)[0]

    def set_wall(self, when):
        struct.pack_into("<q", self._map, 0, to_ms(when))

    def set_monotonic(self, ms):
        struct.pack_into("<q", self._map, 8, int(ms))

    def advance(self, ms):
        """Moves both clocks on (a clock that is 0 stays real)."""
        if self.wall_ms:
            self.set_wall(self.wall_ms + ms)
        if self.monotonic_ms:
            self.set_monotonic(self.monotonic_ms + ms)
