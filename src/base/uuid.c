/* UUIDs and their text form. */
#include "base/uuid.h"

#include "base/number.h"

const struct uuid uuid_nil;

static bool is_dash_at(size_t i)
{
    return i == 8 || i == 13 || i == 18 || i == 23;
}

bool uuid_parse(struct str s, struct uuid *out)
{
    struct uuid u = {{0}};
    size_t n = 0;
    if (s.len != UUID_TEXT_LEN)
        return false;
    for (size_t i = 0; i < UUID_TEXT_LEN; i++) {
        if (is_dash_at(i)) {
            if (s.p[i] != '-')
                return false;
            continue;
        }
        int v = hex_digit(s.p[i]);
        if (v < 0)
            return false;
        u.b[n / 2] = (uint8_t)(u.b[n / 2] << 4 | v);
        n++;
    }
    *out = u;
    return true;
}

void uuid_format(const struct uuid *u, char out[UUID_TEXT_LEN])
{
    hex_format(u->b, 4, out);
    hex_format(u->b + 4, 2, out + 9);
    hex_format(u->b + 6, 2, out + 14);
    hex_format(u->b + 8, 2, out + 19);
    hex_format(u->b + 10, 6, out + 24);
    out[8] = out[13] = out[18] = out[23] = '-';
}

int uuid_cmp(const struct uuid *a, const struct uuid *b)
{
    return memcmp(a->b, b->b, sizeof a->b);
}

struct uuid uuid_from_random(const uint8_t random[16])
{
    struct uuid u;
    memcpy(u.b, random, sizeof u.b);
    u.b[6] = (uint8_t)((u.b[6] & 0x0f) | 0x40);
    u.b[8] = (uint8_t)((u.b[8] & 0x3f) | 0x80);
    return u;
}
