/* Each script touches the keys in KEYS only, so that an access list can name them. Numbers are
 * written with %.0f: Lua's own text of a number has 14 digits. */
#include "redis/scripts.h"

#include <stddef.h>

/* The exact window on Redis' own clock, of each key in turn; a key that stands there twice is asked twice.
 * The value is the instants of the admitted requests of the last minute, oldest first, 6 bytes each,
 * big-endian ms. When the clock was set back, all of them are moved back with it, so that the newest is now:
 * never too many, and nobody waits longer than a window. Answers one number for each key: admitted (1, 0),
 * twice the ms until the oldest of the last `limit` leaves the window (16 bits), and remaining in the bits
 * above. */
static const char take[] =
    "local limit = tonumber(ARGV[1])\n"
    "local t = redis.call('TIME')\n"
    "local now = t[1] * 1000 + math.floor(t[2] / 1000)\n"
    "local pack, unpack = struct.pack, struct.unpack\n"
    "local s\n"
    "local function instant(i) return (unpack('>I6', s, i * 6 + 1)) end\n"
    "local answer = {}\n"
    "for k = 1, #KEYS do\n"
    "  s = redis.call('GET', KEYS[k]) or ''\n"
    "  local n = math.floor(#s / 6)\n"
    "  local ahead = n > 0 and instant(n - 1) - now or 0\n"
    "  if ahead > 0 then\n"
    "    local moved = {}\n"
    "    for i = 0, n - 1 do moved[i + 1] = pack('>I6', math.max(instant(i) - ahead, 0)) end\n"
    "    s = table.concat(moved)\n"
    "  end\n"
    "  local first = 0\n"
    "  while first < n and now - instant(first) >= 60000 do first = first + 1 end\n"
    "  if first > 0 then s = string.sub(s, first * 6 + 1) end\n"
    "  n = n - first\n"
    "  local admitted = n < limit and 1 or 0\n"
    "  if admitted == 1 then\n"
    "    s = s .. pack('>I6', now)\n"
    "    n = n + 1\n"
    "  end\n"
    "  if admitted == 1 or ahead > 0 then redis.call('SET', KEYS[k], s, 'PX', 60000) end\n"
    "  local reset = 60000 - (now - instant(math.max(n - limit, 0)))\n"
    "  answer[k] = admitted + 2 * reset + 131072 * math.max(limit - n, 0)\n"
    "end\n"
    "return answer\n";

/* ARGV: after (-1: as it was), sent, at, polls, days to keep. Notes of several processes may come out of
 * order: the latest says where the integration stands. What is no hash of ours is replaced. */
static const char note_cursor[] =
    "local h = redis.pcall('HMGET', KEYS[1], 'after', 'sent', 'at', 'polls')\n"
    "if h.err then redis.call('DEL', KEYS[1]); h = {} end\n"
    "local function stored(i) return tonumber(h[i] or '0') or 0 end\n"
    "local after, sent, at = stored(1), stored(2), stored(3)\n"
    "local new_after, new_sent, new_at = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])\n"
    "if new_at >= at then\n"
    "  at = new_at\n"
    "  if new_after >= 0 then after = new_after end\n"
    "end\n"
    "local function text(n) return string.format('%.0f', n) end\n"
    "redis.call('HSET', KEYS[1], 'after', text(after), 'sent', text(math.max(sent, new_sent)), 'at', "
    "text(at),\n"
    "  'polls', text(stored(4) + tonumber(ARGV[4])))\n"
    "redis.call('EXPIRE', KEYS[1], ARGV[5] * 86400)\n"
    "return {}\n";

/* after, sent, at, polls of each key, 0 where there is none. */
static const char read_cursors[] =
    "local answer = {}\n"
    "for i = 1, #KEYS do\n"
    "  local h = redis.pcall('HMGET', KEYS[i], 'after', 'sent', 'at', 'polls')\n"
    "  for j = 1, 4 do answer[#answer + 1] = not h.err and tonumber(h[j] or '0') or 0 end\n"
    "end\n"
    "return answer\n";

const char *const redis_scripts[] = {
    [SCRIPT_TAKE] = take,
    [SCRIPT_NOTE_CURSOR] = note_cursor,
    [SCRIPT_READ_CURSORS] = read_cursors,
    NULL,
};
