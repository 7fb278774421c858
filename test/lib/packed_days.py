"""Packs and unpacks the columns videos.days (src/store/day_pack.h) and videos.recent, and compares them with the table daily."""
import contextlib
import sqlite3

DAYS_BEFORE_NEWEST = 7       # in videos.recent


def varints(packed):
    value = shift = 0
    for byte in packed:
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value = shift = 0


def join(values):
    packed = bytearray()
    for value in values:
        while value >= 0x80:
            packed.append(value & 0x7f | 0x80)
            value >>= 7
        packed.append(value)
    return bytes(packed)


def zigzag(value):
    return value << 1 if value >= 0 else ~(value << 1)


def unpack(packed):
    """Returns [(day, gained)], ascending."""
    if not packed:
        return []
    version, newest, total, *numbers = varints(packed)
    assert version == 1 and len(numbers) % 2 == 1, packed
    day, rows = newest >> 1 ^ -(newest & 1), [(newest >> 1 ^ -(newest & 1), numbers[0])]
    for distance, gained in zip(numbers[1::2], numbers[2::2]):
        day -= distance + 1
        rows.append((day, gained))
    assert sum(gained for _, gained in rows) == total and all(gained for _, gained in rows), packed
    return rows[::-1]


def pack(rows):
    """Returns the column `days` for all daily rows of a video: (day, gained, …), ascending."""
    rows = [row for row in rows if row[1]][::-1]
    if not rows:
        return b""
    values = [1, zigzag(rows[0][0]), sum(row[1] for row in rows), rows[0][1]]
    for later, earlier in zip(rows, rows[1:]):
        values += [later[0] - earlier[0] - 1, earlier[1]]
    return join(values)


def pack_recent(rows):
    """Returns the column `recent` for all daily rows of a video: (day, gained, gained_total), ascending."""
    if not rows:
        return b""
    newest = rows[-1][0]
    recent = [row for row in rows if row[0] >= newest - DAYS_BEFORE_NEWEST]
    return join([1, zigzag(newest), sum(1 << newest - row[0] - 1 for row in recent[:-1]), recent[0][2] - recent[0][1], *(row[1] for row in recent)])


def check(database):
    """Asserts that the packed columns of each video match the table daily, except the column `days` of videos that the previous release
    has written, which is not valid. Returns the number of these videos."""
    with contextlib.closing(sqlite3.connect(database)) as connection:
        rows = {}
        for video, *row in connection.execute("SELECT video_id, day, gained, gained_total FROM daily ORDER BY video_id, day"):
            rows.setdefault(video, []).append(tuple(row))
        stale = 0
        for video, gained, days, recent in connection.execute("SELECT id, views - baseline, days, recent FROM videos"):
            expected = rows.get(video, [])
            assert sum(row[1] for row in expected) == gained, f"video {video}"
            assert recent in (None, pack_recent(expected)), f"video {video}: the table daily has {expected}"
            if sum(row[1] for row in unpack(days)) != gained:
                stale += 1
                continue
            assert days == pack(expected), f"video {video}: {unpack(days)}, but the table daily has {expected}"
    return stale


def make_stale(database, rng):
    """Changes the columns of some videos as if the previous release had written these videos."""
    with contextlib.closing(sqlite3.connect(database, timeout=60)) as connection, connection:
        connection.execute("UPDATE videos SET recent = NULL, days = x'' WHERE id % 3 = ?", [rng.randrange(3)])
