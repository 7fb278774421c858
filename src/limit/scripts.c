/* Each script uses only the Redis keys in KEYS, so that an ACL of Redis can restrict which keys it may use.
 * Numbers are formatted with %.0f, because Lua's default format retains only 14 digits. */
#include "limit/scripts.h"

#include "base/check.h"

#include <stddef.h>
#include <stdio.h>

/* Admits or rejects one request for each of KEYS, in their order; a key may occur several times. ARGV: limit.
 * Replies with two integers for each request: the number of further requests that would be admitted now, or
 * -1 if this request is rejected; and the ms until the oldest of the newest `limit` requests leaves the
 * window.
 *
 * A window consists of the times of the requests that were admitted in the last minute, according to the
 * clock of Redis, oldest first. Each time has 6 bytes: ms, big-endian. If the clock was moved back, the
 * script shifts the times so that the newest one is now. So it never admits too many requests, and no key
 * waits longer than a minute.
 *
 * A string that is not a window is replaced. For a value of another type, MGET returns nil, so it is
 * replaced, too. */
static const char limit_script[] =
    "local limit = tonumber(ARGV[1])\n"
    "local call, pack, unpack, spread = redis.call, struct.pack, struct.unpack, unpack\n"
    "local stored, updated = call('MGET', spread(KEYS)), {}\n"
    "local t = call('TIME')\n"
    "local now = t[1] * 1000 + math.floor(t[2] / 1000)\n"
    "local reply = {}\n"
    "for k = 1, #KEYS do\n"
    "  local window, shifted = updated[KEYS[k]] or stored[k] or '', false\n"
    "  if #window % 6 ~= 0 then window = '' end\n"
    "  local n, expired = #window / 6, 0\n"
    "  local ahead = n > 0 and unpack('>I6', window, n * 6 - 5) - now or 0\n"
    "  if ahead > 0 then\n"
    "    local times = {}\n"
    "    for i = 1, n do times[i] = pack('>I6', math.max(unpack('>I6', window, i * 6 - 5) - ahead, 0)) end\n"
    "    window, shifted = table.concat(times), true\n"
    "  end\n"
    "  while expired < n and now - unpack('>I6', window, expired * 6 + 1) >= 60000 do expired = expired + 1 "
    "end\n"
    "  window, n = string.sub(window, expired * 6 + 1), n - expired\n"
    "  local admitted = n < limit\n"
    "  if admitted then window, n = window .. pack('>I6', now), n + 1 end\n"
    "  if admitted or shifted then\n"
    "    call('SET', KEYS[k], window, 'PX', 61000)\n"
    "    updated[KEYS[k]] = window\n"
    "  end\n"
    "  local oldest = unpack('>I6', window, math.max(n - limit, 0) * 6 + 1)\n"
    "  reply[2 * k - 1] = admitted and limit - n or -1\n"
    "  reply[2 * k] = 60000 - now + oldest\n"
    "end\n"
    "return reply\n";

/* Replies with two integers for the window KEYS[1]: the number of requests that were admitted in the last
 * minute; and the ms until the oldest of the newest `limit` of these requests leaves the window, or 0 if
 * there are none. ARGV: limit; 1 to delete the window afterwards. */
static const char show_window_script[] =
    "local limit, t = tonumber(ARGV[1]), redis.call('TIME')\n"
    "local now = t[1] * 1000 + math.floor(t[2] / 1000)\n"
    "local window = redis.call('MGET', KEYS[1])[1] or ''\n"
    "if ARGV[2] == '1' then redis.call('DEL', KEYS[1]) end\n"
    "local n, expired = math.floor(#window / 6), 0\n"
    "local function time(i) return math.min(struct.unpack('>I6', window, i * 6 + 1), now) end\n"
    "while expired < n and now - time(expired) >= 60000 do expired = expired + 1 end\n"
    "if expired == n then return {0, 0} end\n"
    "return {n - expired, 60000 - now + time(math.max(n - limit, expired))}\n";

/* Updates the hash {after, sent, at, polls} of each of KEYS. ARGV: days until an unused hash expires; then
 * for each key: `after` (-1 to leave it unchanged), `sent`, `at`, and the number of polls to add. Updates
 * of several processes may arrive out of order; the update with the latest `at` determines `after`. But if
 * the stored `at` is an hour or more ahead of an update, a clock was wrong, and the update replaces it. A
 * value of another type is replaced. The expiry is extended once a day. */
static const char record_polls_script[] =
    "local call, number, floor = redis.call, tonumber, math.floor\n"
    "for k = 1, #KEYS do\n"
    "  local key, i = KEYS[k], 4 * k - 2\n"
    "  local after, sent, at = ARGV[i], ARGV[i + 1], ARGV[i + 2]\n"
    "  local h = redis.pcall('HMGET', key, 'after', 'sent', 'at', 'polls')\n"
    "  if h.err then call('DEL', key); h = {} end\n"
    "  local before = number(h[3]) or 0\n"
    "  local late = number(at) < before and before - number(at) < 3600000\n"
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

/* Replies with four integers for each of KEYS: after, sent, at, polls. All four are 0 if there is no such
 * hash. */
static const char load_polls_script[] =
    "local reply = {}\n"
    "for i = 1, #KEYS do\n"
    "  local h = redis.pcall('HMGET', KEYS[i], 'after', 'sent', 'at', 'polls')\n"
    "  for j = 1, 4 do reply[#reply + 1] = not h.err and tonumber(h[j] or '0') or 0 end\n"
    "end\n"
    "return reply\n";

/* Deletes KEYS. */
static const char delete_script[] = "redis.call('DEL', unpack(KEYS))\n"
                                    "return {}\n";

const char *const redis_scripts[] = {
    [SCRIPT_LIMIT] = limit_script,
    [SCRIPT_SHOW_WINDOW] = show_window_script,
    [SCRIPT_RECORD_POLLS] = record_polls_script,
    [SCRIPT_LOAD_POLLS] = load_polls_script,
    [SCRIPT_DELETE] = delete_script,
    NULL,
};

static struct str format_probe_key(char out[REDIS_KEY_MAX], const char *key_prefix, const char *family)
{
    const int n = snprintf(out, REDIS_KEY_MAX, "%s%sprobe", key_prefix, family);
    CHECK(n > 0 && n < REDIS_KEY_MAX);
    return str_make(out, (size_t)n);
}

void redis_probes_init(struct redis_probes *p, const char *key_prefix)
{
    const struct str window = format_probe_key(p->limit_key, key_prefix, LIMIT_KEYS);
    const struct str polls = format_probe_key(p->poll_key, key_prefix, POLL_KEYS);
    const struct str one = STR("1"), zero = STR("0");
    const struct str day = STR("86400000"); /* the script extends the expiry when the day of `at` changes */
    p->probes[0] = (struct redis_probe){.script = SCRIPT_LIMIT, .keys = 1, .count = 2, .args = {window, one}};
    p->probes[1] = (struct redis_probe){
        .script = SCRIPT_RECORD_POLLS, .keys = 1, .count = 6, .args = {polls, one, zero, zero, day, zero}};
    p->probes[2] = (struct redis_probe){.script = SCRIPT_LOAD_POLLS, .keys = 1, .count = 1, .args = {polls}};
}

void redis_key_family_init(struct redis_key_family *f, const char *key_prefix, const char *family)
{
    const int n = snprintf(f->text, sizeof f->text, "%s%s", key_prefix, family);
    CHECK(n > 0 && (size_t)n < sizeof f->text);
    f->len = (size_t)n;
}

struct str redis_key_format(const struct redis_key_family *f, const struct uuid *key_id,
                            char out[REDIS_KEY_MAX])
{
    memcpy(out, f->text, f->len);
    uuid_format(key_id, out + f->len);
    return str_make(out, f->len + UUID_TEXT_LEN);
}
