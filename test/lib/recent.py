"""Packs and unpacks the column `recent` of the table videos (src/store/pack.h), and compares it with the table daily."""
import contextlib
import sqlite3

REACH = 7       # days before the newest one


def varints(packed):
    value = shift = 0
    for byte in packed:
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value = shift = 0


def unpack(packed):
    """[(day, gained, gained_total)], ascending."""
    if not packed:
        return []
    version, newest, others, total, *gains = varints(packed)
    assert version == 1, packed
    newest = newest >> 1 ^ -(newest & 1)
    days = [newest - age for age in range(REACH, 0, -1) if others >> age - 1 & 1] + [newest]
    assert len(days) == len(gains), packed
    rows = []
    for day, gained in zip(days, gains):
        total += gained
        rows.append((day, gained, total))
    return rows


def pack(rows):
    """The column for all rows of a video: (day, gained, gained_total), ascending."""
    if not rows:
        return b""
    newest = rows[-1][0]
    kept = [row for row in rows if row[0] >= newest - REACH]
    packed = bytearray()
    for value in (1, newest << 1 if newest >= 0 else ~(newest << 1), sum(1 << newest - row[0] - 1 for row in kept[:-1]),
                  kept[0][2] - kept[0][1], *(row[1] for row in kept)):
        while value >= 0x80:
            packed.append(value & 0x7f | 0x80)
            value >>= 7
        packed.append(value)
    return bytes(packed)


def check(database):
    """Asserts that the column of all videos matches the table daily. Returns how many have it, and how many are NULL."""
    with contextlib.closing(sqlite3.connect(database)) as connection:
        days = {}
        for video, *row in connection.execute("SELECT video_id, day, gained, gained_total FROM daily ORDER BY video_id, day"):
            days.setdefault(video, []).append(tuple(row))
        known = unknown = 0
        for video, packed in connection.execute("SELECT id, recent FROM videos"):
            if packed is None:
                unknown += 1
                continue
            assert packed == pack(days.get(video, [])), f"video {video}: {unpack(packed)}, and in the table {days.get(video)}"
            known += 1
    return known, unknown


def clear(database, rng):
    """Sets the column of some videos to NULL, as in rows of an older version."""
    with contextlib.closing(sqlite3.connect(database, timeout=60)) as connection, connection:
        connection.execute("UPDATE videos SET recent = NULL WHERE id % 3 = ?", [rng.randrange(3)])
