/* Formats and parses names of backups. */
#include "backup/backup_name.h"

#include "base/clock.h"
#include "base/number.h"

#include <stdio.h>

enum { NAME_LEN = 38, TIME_AT = 10, ID_AT = 27, ID_DIGITS = 8 };

uint32_t backup_id_of(const uint8_t *store_id)
{
    return (uint32_t)store_id[0] << 24 | (uint32_t)store_id[1] << 16 | (uint32_t)store_id[2] << 8 |
           store_id[3];
}

void backup_name_format(int64_t t_ms, uint32_t id, char out[BACKUP_NAME_MAX])
{
    char t[TIME_NAME_LEN + 1];
    time_name_format(t_ms, t);
    (void)snprintf(out, BACKUP_NAME_MAX, "viewtally-%s-%08x.db", t, id);
}

static bool parse_hex(struct str digits, uint32_t *out)
{
    *out = 0;
    for (size_t i = 0; i < digits.len; i++) {
        const int digit = hex_digit(digits.p[i]);
        if (digit < 0)
            return false;
        *out = *out << 4 | (uint32_t)digit;
    }
    return true;
}

bool backup_name_parse(struct str name, int64_t *t_ms, uint32_t *id)
{
    char again[BACKUP_NAME_MAX];
    if (name.len != NAME_LEN || !parse_hex(str_make(name.p + ID_AT, ID_DIGITS), id))
        return false;
    if (!time_name_parse(str_make(name.p + TIME_AT, TIME_NAME_LEN), t_ms))
        return false;
    backup_name_format(*t_ms, *id, again);
    return str_eq(name, str_from_cstr(again));
}
