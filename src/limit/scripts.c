/* Each script touches the keys in KEYS only, so that an access list can name them. Numbers are
 * written with %.0f: Lua's own text of a number has 14 digits. */
#include "limit/scripts.h"

#include "base/check.h"

#include <stddef.h>
#include <stdio.h>

/* The exact windows on Redis' own clock, of the keys of ARGV, none twice. A window is the instants of the
 * admitted requests of the last minute, oldest first, 6 bytes each, big-endian ms, in a field of a hash: for
 * a whole call Redis runs two or three commands and not two for each key. Windows leave with the hash that
 * holds them: once KEYS[1] is a minute old it takes the place of KEYS[2], of which nothing can count any more
 * then, and a window that is asked for is taken over from there. Freeing the old one is left to a thread of
 * Redis (UNLINK): it may hold a field for each key.
 *
 * The field "clock" is when the hash began, and the newest instant in either. While the clock is behind that,
 * it was set back: then a window is moved back with it, so that its newest is now: never too many, and nobody
 * waits longer than a window.
 *
 * Answers one number for each key: admitted (1, 0), twice the ms until the oldest of the last `limit` leaves
 * the window (16 bits), and remaining in the bits above. */
static const char take[] =
    "local limit = tonumber(ARGV[1])\n"
    "local call, sub, pack, unpack, spread = redis.call, string.sub, struct.pack, struct.unpack, unpack\n"
    "local t = call('TIME')\n"
    "local now = t[1] * 1000 + math.floor(t[2] / 1000)\n"
    "ARGV[1] = 'clock'\n"
    "local current, before = call('HMGET', KEYS[1], spread(ARGV)), nil\n"
    "local born, newest = now, now\n"
    "if current[1] and #current[1] == 12 then born, newest = unpack('>I6I6', current[1]) end\n"
    "if now - born >= 60000 then\n"
    "  call('UNLINK', KEYS[2])\n"
    "  call('RENAME', KEYS[1], KEYS[2])\n"
    "  before, current, born = current, {}, now\n"
    "end\n"
    "born, newest = math.min(born, now), math.max(newest, now)\n"
    "local stamp = pack('>I6', now)\n"
    "local write, answer = {'HSET', KEYS[1], 'clock', pack('>I6I6', born, newest)}, {}\n"
    "local written = #write\n"
    "for k = 2, #ARGV do\n"
    "  local s, moved = current[k], false\n"
    "  if not s then\n"
    "    before = before or call('HMGET', KEYS[2], spread(ARGV))\n"
    "    s = before[k] or ''\n"
    "  end\n"
    "  local n = math.floor(#s / 6)\n"
    "  if newest > now and n > 0 then\n"
    "    local ahead = unpack('>I6', s, n * 6 - 5) - now\n"
    "    if ahead > 0 then\n"
    "      local all = {}\n"
    "      for i = 1, n do all[i] = pack('>I6', math.max(unpack('>I6', s, i * 6 - 5) - ahead, 0)) end\n"
    "      s, moved = table.concat(all), true\n"
    "    end\n"
    "  end\n"
    "  local oldest = n > 0 and unpack('>I6', s) or now\n"
    "  if now - oldest >= 60000 then\n"
    "    local first = 1\n"
    "    while first < n and now - unpack('>I6', s, first * 6 + 1) >= 60000 do first = first + 1 end\n"
    "    s, n = sub(s, first * 6 + 1), n - first\n"
    "    oldest = n > 0 and unpack('>I6', s) or now\n"
    "  end\n"
    "  local admitted = n < limit\n"
    "  if admitted then\n"
    "    s, n = s .. stamp, n + 1\n"
    "  elseif n > limit then\n"
    "    oldest = unpack('>I6', s, (n - limit) * 6 + 1)\n"
    "  end\n"
    "  if admitted or moved then\n"
    "    write[written + 1], write[written + 2] = ARGV[k], s\n"
    "    written = written + 2\n"
    "  end\n"
    "  local reset = 60000 - now + oldest\n"
    "  answer[k - 1] = (admitted and 1 or 0) + 2 * reset + 131072 * math.max(limit - n, 0)\n"
    "end\n"
    "call(spread(write))\n"
    "if born == now then call('PEXPIRE', KEYS[1], 120000) end\n"
    "return answer\n";

/* ARGV: days to keep; then of each key after (-1: as it was), sent, at, polls. Notes of several processes may
 * come out of order: the latest says where the integration stands. What is no hash of ours is replaced. When
 * a key is to be forgotten is moved on once a day. */
static const char note_cursors[] =
    "local call, number, floor = redis.call, tonumber, math.floor\n"
    "for k = 1, #KEYS do\n"
    "  local key, i = KEYS[k], 4 * k - 2\n"
    "  local after, sent, at = ARGV[i], ARGV[i + 1], ARGV[i + 2]\n"
    "  local h = redis.pcall('HMGET', key, 'after', 'sent', 'at', 'polls')\n"
    "  if h.err then call('DEL', key); h = {} end\n"
    "  local before = number(h[3]) or 0\n"
    "  local late = number(at) < before\n"
    "  if late then at = h[3] end\n"
    "  if late or after == '-1' then after = number(h[1]) and h[1] or '0' end\n"
    "  if (number(h[2]) or 0) > number(sent) then sent = h[2] end\n"
    "  local polls = string.format('%.0f', (number(h[4]) or 0) + number(ARGV[i + 3]))\n"
    "  call('HSET', key, 'after', after, 'sent', sent, 'at', at, 'polls', polls)\n"
    "  if floor(number(at) / 86400000) ~= floor(before / 86400000) then\n"
    "    call('EXPIRE', key, ARGV[1] * 86400)\n"
    "  end\n"
    "end\n"
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
    [SCRIPT_LIMIT] = take,
    [SCRIPT_RECORD_POLLS] = note_cursors,
    [SCRIPT_LOAD_POLLS] = read_cursors,
    NULL,
};

void redis_probes_init(struct redis_probes *p, const char *key_prefix)
{
    static const char *const names[REDIS_PROBES] = {"probe:rate", "probe:rate:before", "probe:cursor"};
    struct str key[REDIS_PROBES];
    for (int i = 0; i < REDIS_PROBES; i++) {
        const int n = snprintf(p->names[i], sizeof p->names[i], "%s%s", key_prefix, names[i]);
        CHECK(n > 0 && (size_t)n < sizeof p->names[i]);
        key[i] = str_make(p->names[i], (size_t)n);
    }
    const struct str one = STR("1"), zero = STR("0"), a_day = STR("86400000"); /* so that the key expires */
    p->probes[0] = (struct redis_probe){
        .script = SCRIPT_LIMIT, .keys = 2, .count = 4, .args = {key[0], key[1], one, zero}};
    p->probes[1] = (struct redis_probe){
        .script = SCRIPT_RECORD_POLLS, .keys = 1, .count = 6, .args = {key[2], one, zero, zero, a_day, zero}};
    p->probes[2] = (struct redis_probe){.script = SCRIPT_LOAD_POLLS, .keys = 1, .count = 1, .args = {key[2]}};
}
