/* A scanner that copies the text and replaces the forms that PostgreSQL does not have. */
#include "store/pg/pg_translate.h"

#include "base/check.h"
#include "pg/pg_params.h"
#include "store/pg/pg_queries.h"

#include <pthread.h>

enum { TRANSLATED_MAX_BYTES = 4096 };

/* --- translating one statement --- */

static struct str skip(struct str s, size_t n)
{
    return str_make(s.p + n, s.len - n);
}

static size_t count_digits(struct str s)
{
    size_t n = 0;
    while (n < s.len && s.p[n] >= '0' && s.p[n] <= '9')
        n++;
    return n;
}

static size_t count_name_chars(struct str s)
{
    size_t n = 0;
    while (n < s.len &&
           (s.p[n] == '_' || (s.p[n] >= '0' && s.p[n] <= '9') || (s.p[n] >= 'a' && s.p[n] <= 'z')))
        n++;
    return n;
}

/* Returns true if `s` begins with a table, with or without an alias, and its join condition. */
static bool is_joined_table(struct str s)
{
    for (int names = 0; names <= 2; names++) {
        const size_t len = count_name_chars(s);
        if (len == 0 || len == s.len)
            return names > 0 && str_starts_with(s, STR("ON "));
        s = skip(s, len + 1);
    }
    return false;
}

/* The functions below translate the beginning of `s` and return its length, or 0 if it has a form that cannot
 * be translated. */

static size_t add_parameter(struct str s, struct buf *out, int *param_count)
{
    const struct str number = str_make(s.p + 1, count_digits(skip(s, 1)));
    unsigned long long i;
    if (!str_to_u64(number, PG_PARAMS_MAX, &i) || i == 0)
        return 0;
    buf_append_char(out, '$');
    buf_append(out, number);
    if (*param_count < (int)i)
        *param_count = (int)i;
    return 1 + number.len;
}

static size_t add_literal(struct str s, struct buf *out)
{
    const char *end = memchr(s.p + 1, '\'', s.len - 1);
    if (!end)
        return 0;
    const size_t len = (size_t)(end + 1 - s.p);
    buf_append(out, str_make(s.p, len));
    return len;
}

static size_t add_next(struct str s, struct buf *out, int *param_count)
{
    static const struct str indexed_by = {" INDEXED BY ", 12}, cross_join = {"CROSS JOIN ", 11};
    if (s.p[0] == '?')
        return add_parameter(s, out, param_count);
    if (s.p[0] == '\'')
        return add_literal(s, out);
    if (str_starts_with(s, indexed_by)) {
        const size_t len = count_name_chars(skip(s, indexed_by.len));
        return len ? indexed_by.len + len : 0;
    }
    if (str_starts_with(s, cross_join)) {
        buf_append(out, STR("JOIN "));
        return is_joined_table(skip(s, cross_join.len)) ? cross_join.len : 0;
    }
    if (str_starts_with(s, STR("--")) || str_starts_with(s, STR("/*")) || str_starts_with(s, STR("x'")))
        return 0;
    buf_append_char(out, s.p[0]);
    return 1;
}

bool pg_translate_text(struct str sql, struct buf *out, int *param_count)
{
    *param_count = 0;
    while (sql.len) {
        const size_t len = add_next(sql, out, param_count);
        if (!len)
            return false;
        sql = skip(sql, len);
    }
    return !out->failed;
}

/* --- translating all statements --- */

#define OTHER_TEXT(name, text) [QUERY_##name] = text,
static const char *const other_texts[QUERY_COUNT] = {PG_OTHER_TEXTS(OTHER_TEXT)};
#undef OTHER_TEXT

#define IN_LIST(name) [QUERY_##name] = true,
static const bool is_never_used[QUERY_COUNT] = {PG_NEVER_USED(IN_LIST)};
#undef IN_LIST

/* The texts are never freed. */
static struct pg_translated translated[QUERY_COUNT];

static void translate(enum query query)
{
    const char *text = other_texts[query] ? other_texts[query] : sql_queries[query].text;
    struct buf out;
    buf_init(&out, TRANSLATED_MAX_BYTES);
    CHECK(pg_translate_text(str_from_cstr(text), &out, &translated[query].param_count));
    buf_append_char(&out, '\0');
    CHECK(!out.failed);
    translated[query].text = out.p;
}

static void translate_all(void)
{
    for (int i = 0; i < QUERY_COUNT; i++)
        if (!is_never_used[i])
            translate((enum query)i);
}

const struct pg_translated *pg_translate(enum query query)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, translate_all);
    return &translated[query];
}
