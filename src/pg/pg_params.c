/* Encodes binary values. Integers are big-endian. An array consists of its dimensions, its element type and,
 * for each element, the length and the value (array_recv() in PostgreSQL). */
#include "pg/pg_params.h"

#include "base/check.h"

/* Types of PostgreSQL (pg_type.dat); they never change. */
enum { OID_BYTEA = 17, OID_INT8 = 20, OID_TEXT = 25 };

void pg_params_init(struct pg_params *p)
{
    p->count = 0;
    buf_init_fallible(&p->bytes, PG_PARAM_BYTES_MAX);
}

void pg_params_fini(struct pg_params *p)
{
    buf_fini(&p->bytes);
}

static void begin(struct pg_params *p)
{
    CHECK(p->count < PG_PARAMS_MAX);
    p->at[p->count].offset = (uint32_t)p->bytes.len;
}

static void end(struct pg_params *p)
{
    p->at[p->count].len = (int32_t)(p->bytes.len - p->at[p->count].offset);
    p->count++;
}

static void append_big_endian(struct buf *b, uint64_t v, int size)
{
    for (int i = size - 1; i >= 0; i--)
        buf_append_char(b, (char)(v >> (8 * i)));
}

static void append_sized(struct buf *b, struct str s)
{
    append_big_endian(b, s.len, 4);
    buf_append(b, s);
}

static void append_array_head(struct buf *b, int count, bool has_null, unsigned oid)
{
    append_big_endian(b, count > 0, 4); /* dimensions */
    append_big_endian(b, has_null, 4);
    append_big_endian(b, oid, 4);
    if (count > 0) {
        append_big_endian(b, (uint64_t)count, 4);
        append_big_endian(b, 1, 4); /* index of the first element */
    }
}

void pg_params_add_null(struct pg_params *p)
{
    begin(p);
    p->at[p->count++].len = -1;
}

void pg_params_add_bool(struct pg_params *p, bool v)
{
    begin(p);
    append_big_endian(&p->bytes, v, 1);
    end(p);
}

void pg_params_add_i64(struct pg_params *p, int64_t v)
{
    begin(p);
    append_big_endian(&p->bytes, (uint64_t)v, 8);
    end(p);
}

static void append_text(struct buf *b, struct str s)
{
    while (s.len)
        buf_append(b, str_cut_character(&s));
}

void pg_params_add_text(struct pg_params *p, struct str s)
{
    begin(p);
    append_text(&p->bytes, s);
    end(p);
}

void pg_params_add_bytes(struct pg_params *p, struct str s)
{
    begin(p);
    buf_append(&p->bytes, s);
    end(p);
}

void pg_params_add_i64s(struct pg_params *p, const int64_t *v, int count)
{
    begin(p);
    append_array_head(&p->bytes, count, false, OID_INT8);
    for (int i = 0; i < count; i++) {
        append_big_endian(&p->bytes, 8, 4);
        append_big_endian(&p->bytes, (uint64_t)v[i], 8);
    }
    end(p);
}

/* Marks the parameters as failed if `part` of a parameter could not be encoded. */
static void add_failure(struct pg_params *p, const struct buf *part)
{
    if (!part->failed)
        return;
    p->bytes.failed = true;
    p->bytes.lacks_memory = part->lacks_memory;
}

void pg_params_add_texts(struct pg_params *p, const struct str *v, int count)
{
    struct buf text;
    buf_init_fallible(&text, PG_PARAM_BYTES_MAX);
    begin(p);
    append_array_head(&p->bytes, count, false, OID_TEXT);
    for (int i = 0; i < count; i++) {
        buf_reset(&text, PG_PARAM_BYTES_MAX);
        append_text(&text, v[i]);
        append_sized(&p->bytes, buf_str(&text));
    }
    add_failure(p, &text);
    end(p);
    buf_fini(&text);
}

void pg_params_add_bytes_array(struct pg_params *p, const struct str *v, int count)
{
    begin(p);
    append_array_head(&p->bytes, count, false, OID_BYTEA);
    for (int i = 0; i < count; i++)
        append_sized(&p->bytes, v[i]);
    end(p);
}

void pg_array_init(struct pg_array *a, enum pg_array_type type)
{
    *a = (struct pg_array){.type = type};
    buf_init_fallible(&a->elements, PG_PARAM_BYTES_MAX);
}

void pg_array_fini(struct pg_array *a)
{
    buf_fini(&a->elements);
}

void pg_array_clear(struct pg_array *a)
{
    a->count = 0;
    a->has_null = false;
    buf_reset(&a->elements, PG_PARAM_BYTES_MAX);
}

void pg_array_add_null(struct pg_array *a)
{
    append_big_endian(&a->elements, (uint64_t)-1, 4); /* this length means NULL */
    a->count++;
    a->has_null = true;
}

void pg_array_add_i64(struct pg_array *a, int64_t v)
{
    append_big_endian(&a->elements, 8, 4);
    append_big_endian(&a->elements, (uint64_t)v, 8);
    a->count++;
}

void pg_array_add_bytes(struct pg_array *a, struct str s)
{
    append_sized(&a->elements, s);
    a->count++;
}

void pg_params_add_array(struct pg_params *p, const struct pg_array *a)
{
    begin(p);
    append_array_head(&p->bytes, a->count, a->has_null, a->type == PG_ARRAY_I64 ? OID_INT8 : OID_BYTEA);
    buf_append(&p->bytes, buf_str(&a->elements));
    add_failure(p, &a->elements);
    end(p);
}

const char *pg_params_value(const struct pg_params *p, int i)
{
    /* For libpq, a NULL pointer means the value NULL, so an empty value needs an address. */
    return p->at[i].len < 0 ? NULL : p->bytes.p ? p->bytes.p + p->at[i].offset : "";
}
