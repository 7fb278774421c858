/* JSON out: appends values to a buffer. The output is always valid UTF-8 and valid JSON whatever bytes come
 * in. Commas are put where they are needed by looking at the last character written, so there is no writer
 * state. */
#ifndef VT_BASE_JSON_H
#define VT_BASE_JSON_H

#include "base/buf.h"
#include "base/put.h"

/* Whether the last character asks for a comma before a key or value. */
static inline bool json_wants_comma(const struct buf *b)
{
    char last = b->len ? b->p[b->len - 1] : b->before;
    return last && last != '{' && last != '[' && last != ':' && last != '\n';
}

static inline void json_comma(struct buf *b)
{
    if (json_wants_comma(b))
        buf_append_char(b, ',');
}

/* Opening brackets put the comma that belongs before them. */
static inline void json_open(struct buf *b, char bracket)
{
    json_comma(b);
    buf_append_char(b, bracket);
}

static inline void json_close(struct buf *b, char bracket)
{
    buf_append_char(b, bracket);
}

/* The comma that is needed, and room for `room` bytes behind it: see put.h for what writes there. NULL when
 * the buffer failed. */
static inline char *json_begin(struct buf *b, size_t room)
{
    char *to = buf_reserve(b, room + 1);
    if (to && json_wants_comma(b))
        *to++ = ',';
    return to;
}

/* What was written reaches to `end`. */
static inline void json_end(struct buf *b, const char *end)
{
    b->len = (size_t)(end - b->p);
}

/* Writes a string at `to`, up to where everything was written, and makes room for `room` bytes behind it.
 * Returns the place behind; NULL when the buffer failed. As json_str() otherwise. */
char *json_put_str(struct buf *b, char *to, struct str s, size_t room);

/* `"name":` with the comma before it, and behind it room for `room` bytes of a value. Returns the place of
 * the value, which json_end() takes; NULL when the buffer failed. `name` needs no escaping. */
static inline char *json_member(struct buf *b, struct str name, size_t room)
{
    char *to = json_begin(b, name.len + 3 + room);
    return to ? put_text(put_text(put_char(to, '"'), name), STR("\":")) : NULL;
}

static inline void json_key(struct buf *b, struct str name)
{
    const char *to = json_member(b, name, 0);
    if (to)
        json_end(b, to);
}

/* Values, with the comma before them where the last character asks for one. */
void json_str(struct buf *b, struct str s); /* p == NULL: null. Ill-formed UTF-8 becomes U+FFFD. */
void json_i64(struct buf *b, int64_t v);
void json_bool(struct buf *b, bool v);
void json_null(struct buf *b);
void json_uuid(struct buf *b, const struct uuid *u);
void json_time(struct buf *b, int64_t t_ms);
void json_date(struct buf *b, int32_t date);

/* The commonest members in one go. */
static inline void json_member_i64(struct buf *b, struct str name, int64_t v)
{
    char *to = json_member(b, name, PUT_I64_MAX);
    if (to)
        json_end(b, put_i64(to, v));
}

static inline void json_member_time(struct buf *b, struct str name, int64_t t_ms)
{
    char *to = json_member(b, name, PUT_TIME_MAX);
    if (to)
        json_end(b, put_time(to, t_ms));
}

/* Key and value in one call; `name` is a string literal. */
#define JSON_STR(b, name, v)  (json_key((b), STR(name)), json_str((b), (v)))
#define JSON_I64(b, name, v)  json_member_i64((b), STR(name), (v))
#define JSON_BOOL(b, name, v) (json_key((b), STR(name)), json_bool((b), (v)))
#define JSON_UUID(b, name, v) (json_key((b), STR(name)), json_uuid((b), (v)))
#define JSON_TIME(b, name, v) json_member_time((b), STR(name), (v))
#define JSON_DATE(b, name, v) (json_key((b), STR(name)), json_date((b), (v)))
#define JSON_NULL(b, name)    (json_key((b), STR(name)), json_null((b)))
/* Integer or time that may be missing: `has` false gives null. */
#define JSON_I64_OR_NULL(b, name, has, v)  ((has) ? JSON_I64(b, name, v) : JSON_NULL(b, name))
#define JSON_TIME_OR_NULL(b, name, has, v) ((has) ? JSON_TIME(b, name, v) : JSON_NULL(b, name))

#endif
