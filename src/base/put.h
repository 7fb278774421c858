/* JSON written into room that is there already. Who writes a record of which it knows how long it can get
 * reserves room for all of it (json_begin), lets a pointer run ahead, and says at the end how far it got
 * (json_end). Each function writes at `to` and returns the place behind; nothing here puts commas. */
#ifndef VT_BASE_PUT_H
#define VT_BASE_PUT_H

#include "base/clock.h"
#include "base/digits.h"
#include "base/uuid.h"

/* The text in front of an object's first value, and of each other. */
#define FIRST_KEY(name) STR("{\"" name "\":")
#define NEXT_KEY(name)  STR(",\"" name "\":")

/* The most that a value takes. */
enum {
    PUT_I64_MAX = 20,
    PUT_BOOL_MAX = 8, /* what is written, not what counts */
    PUT_TIME_MAX = TIME_TEXT_LEN + 2,
    PUT_DATE_MAX = DATE_TEXT_LEN + 2,
    PUT_UUID_MAX = UUID_TEXT_LEN + 2
};

static inline char *put_text(char *to, struct str s)
{
    memcpy(to, s.p, s.len);
    return to + s.len;
}

static inline char *put_char(char *to, char c)
{
    *to = c;
    return to + 1;
}

static inline char *put_i64(char *to, int64_t v)
{
    return to + fmt_i64(to, v);
}

static inline char *put_bool(char *to, bool v)
{
    memcpy(to, v ? "true   " : "false  ", PUT_BOOL_MAX);
    return to + 5 - v;
}

static inline char *put_uuid(char *to, const struct uuid *u)
{
    to[0] = to[UUID_TEXT_LEN + 1] = '"';
    uuid_format(u, to + 1);
    return to + UUID_TEXT_LEN + 2;
}

static inline char *put_time(char *to, int64_t t_ms)
{
    to[0] = to[TIME_TEXT_LEN + 1] = '"';
    time_format(t_ms, to + 1);
    return to + TIME_TEXT_LEN + 2;
}

static inline char *put_date(char *to, int32_t date)
{
    to[0] = to[DATE_TEXT_LEN + 1] = '"';
    date_format(date, to + 1);
    return to + DATE_TEXT_LEN + 2;
}

/* Integer or time that may be missing. */
static inline char *put_i64_or_null(char *to, bool has, int64_t v)
{
    return has ? put_i64(to, v) : put_text(to, STR("null"));
}

static inline char *put_time_or_null(char *to, bool has, int64_t t_ms)
{
    return has ? put_time(to, t_ms) : put_text(to, STR("null"));
}

#endif
