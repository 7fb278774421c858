"""Packs and unpacks the column videos.recent (src/store/pack.h) and compares it with the table daily."""
import contextlib
import sqlite3

DAYS_BEFORE_NEWEST = 7       # number of days before the newest day


def varints(packed):
    value = shift = 0
    for byte in packed:
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value = shift = 0


def unpack(packed):
    """Returns [(day, gained, gained_total)], ascending."""
    if not packed:
        return []
    version, newest, others, total, *gains = varints(packed)
    assert version == 1, packed
    newest = newest >> 1 ^ -(newest & 1)
    days = [newest - age for age in range(DAYS_BEFORE_NEWEST, 0, -1) if others >> age - 1 & 1] + [newest]
    assert len(days) == len(gains), packed
    rows = []
    for day, gained in zip(days, gains):
        total += gained
        rows.append((day, gained, total))
    return rows


def pack(rows):
    """Returns the column for all daily rows of a video: (day, gained, gained_total), ascending."""
    if not rows:
        return b""
    newest = rows[-1][0]
    recent = [row for row in rows if row[0] >= newest - DAYS_BEFORE_NEWEST]
    packed = bytearray()
    for value in (1, newest << 1 if newest >= 0 else ~(newest << 1), sum(1 << newest - row[0] - 1 for row in recent[:-1]),
                  recent[0][2] - recent[0][1], *(row[1] for row in recent)):
        while value >= 0x80:
            packed.append(value & 0x7f | 0x80)
            value >>= 7
        packed.append(value)
    return bytes(packed)


def check(database):
    """Asserts that the column of all videos matches the table daily. Returns the number of columns that are set and the number of NULLs."""
    with contextlib.closing(sqlite3.connect(database)) as connection:
        days = {}
        for video, *row in connection.execute("SELECT video_id, day, gained, gained_total FROM daily ORDER BY video_id, day"):
            days.setdefault(video, []).append(tuple(row))
        set_count = null_count = 0
        for video, packed in connection.execute("SELECT id, recent FROM videos"):
            if packed is None:
                null_count += 1
                continue
            assert packed == pack(days.get(video, [])), f"video {video}: {unpack(packed)}, but the table daily has {days.get(video)}"
            set_count += 1
    return set_count, null_count


def clear(database, rng):
    """Sets the column of some videos to NULL, as in a database of an older version."""
    with contextlib.closing(sqlite3.connect(database, timeout=60)) as connection, connection:
        connection.execute("UPDATE videos SET recent = NULL WHERE id % 3 = ?", [rng.randrange(3)])
