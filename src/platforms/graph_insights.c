/* Reads lists of insights, and error messages about metrics. */
#include "platforms/graph.h"

#include "base/check.h"
#include "base/clock.h"
#include "store/model.h"

/* ---- whether the permission for insights is missing ---- */

bool graph_expects_insights(const struct platform_call *call, const struct platform_item *item)
{
    return call->now_ms - item->posted_at >= GRAPH_INSIGHTS_LATE_DAYS * DAY_MS;
}

bool graph_lacks_insights(const struct graph_insights *t)
{
    return !t->proven && (t->lacking > 0 || (t->denied > 0 && !t->silent));
}

/* ---- reading lists of insights ---- */

/* Returns true if the entry may belong to the object `id`. Ids look like "179…/insights/views/lifetime"; an
 * entry without an id, or with another form of id, is accepted. */
static bool is_entry_of(struct yyjson_val *entry, struct str id)
{
    struct str object, rest = str_cut(jsonr_text(jsonr_get(entry, "id")), '/', &object);
    return !rest.p || str_eq(object, id);
}

bool graph_is_insights(struct yyjson_val *body, struct str id)
{
    struct yyjson_val *data = jsonr_get(body, "data"), *entry;
    struct jsonr_iter it = jsonr_iterate(data);
    while (jsonr_next(&it, NULL, &entry))
        if (!jsonr_text(jsonr_get(entry, "name")).p || !is_entry_of(entry, id))
            return false;
    return jsonr_is_array(data);
}

/* Returns values[0].value, or total_value.value, which some metrics have instead [P]. */
static struct yyjson_val *entry_value(struct yyjson_val *entry)
{
    struct jsonr_iter it = jsonr_iterate(jsonr_get(entry, "values"));
    struct yyjson_val *first = NULL;
    if (jsonr_next(&it, NULL, &first) && jsonr_get(first, "value"))
        return jsonr_get(first, "value");
    return jsonr_get(jsonr_get(entry, "total_value"), "value");
}

/* Returns false if the entry has the value of a day. A metric may be listed twice, for the lifetime and per
 * day [P]. */
static bool is_lifetime(struct yyjson_val *entry)
{
    struct str period = jsonr_text(jsonr_get(entry, "period"));
    return !period.p || str_eq(period, STR("lifetime"));
}

struct yyjson_val *graph_find_insight(struct yyjson_val *body, const char *name)
{
    struct jsonr_iter it = jsonr_iterate(jsonr_get(body, "data"));
    struct yyjson_val *entry, *total = NULL;
    while (jsonr_next(&it, NULL, &entry)) {
        if (!str_eq(jsonr_text(jsonr_get(entry, "name")), str_from_cstr(name)))
            continue;
        if (is_lifetime(entry))
            return entry_value(entry);
        if (!total)
            total = jsonr_get(jsonr_get(entry, "total_value"), "value");
    }
    return total;
}

/* Sums all members of an object of reactions, whose names vary in case and prefix. */
int64_t graph_sum_counts(struct yyjson_val *v)
{
    struct jsonr_iter it = jsonr_iterate(v);
    struct yyjson_val *member;
    int64_t sum = COUNT_NONE;
    if (!jsonr_is_object(v))
        return jsonr_is_array(v) ? COUNT_NONE : jsonr_count(v);
    while (jsonr_next(&it, NULL, &member)) {
        int64_t n = jsonr_count(member);
        if (n == COUNT_NONE)
            continue;
        sum = (sum == COUNT_NONE ? 0 : sum) + n;
        if (sum > COUNT_MAX)
            return COUNT_NONE;
    }
    return sum;
}

/* ---- names of metrics ---- */

bool graph_has_name(struct str names, struct str name)
{
    struct str one;
    for (struct str rest = names; rest.len;) {
        rest = str_cut(rest, ',', &one);
        if (str_eq(str_trim(one), name))
            return true;
    }
    return false;
}

struct str graph_remove_names(struct arena *a, struct str names, struct str dropped)
{
    struct str left = STR(""), name;
    for (struct str rest = names; rest.len;) {
        rest = str_cut(rest, ',', &name);
        if (!graph_has_name(dropped, name))
            left = arena_printf(a, "%.*s%s%.*s", (int)left.len, left.p, left.len ? "," : "", (int)name.len,
                                name.p);
    }
    return left;
}

/* Returns the text after the first `part` in `s`. `p` of the result is NULL if `part` does not occur. */
static struct str text_after(struct str s, struct str part)
{
    const char *at = s.len ? memmem(s.p, s.len, part.p, part.len) : NULL;
    if (!at)
        return (struct str){NULL, 0};
    return str_make(at + part.len, (size_t)(s.p + s.len - at) - part.len);
}

static struct str name_at(struct str names, unsigned long long index)
{
    struct str one = {NULL, 0};
    for (struct str rest = names; rest.len; index--) {
        rest = str_cut(rest, ',', &one);
        if (index == 0)
            return one;
    }
    return (struct str){NULL, 0};
}

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool has_word(struct str s, struct str word)
{
    for (struct str rest = text_after(s, word), before = s; rest.p;
         before = rest, rest = text_after(rest, word)) {
        size_t at = before.len - rest.len - word.len;
        bool begins =
            at == 0 ? before.p == s.p || !is_word_char(before.p[-1]) : !is_word_char(before.p[at - 1]);
        if (begins && (rest.len == 0 || !is_word_char(rest.p[0])))
            return true;
    }
    return false;
}

/* A message such as "metric[2] must be one of the following values: …" identifies the rejected metric by its
 * index, and lists only valid names. In other messages, the rejected metric is the only requested metric that
 * occurs. */
struct str graph_find_rejected_metric(struct str message, struct str requested)
{
    struct str index, one, found = {NULL, 0}, rest = text_after(message, STR("metric["));
    unsigned long long n;
    if (rest.p) {
        rest = str_cut(rest, ']', &index);
        return rest.p && str_to_u64(index, 99, &n) ? name_at(requested, n) : found;
    }
    if (text_after(message, STR("following values")).p)
        return found;
    for (rest = requested; rest.len;) {
        rest = str_cut(rest, ',', &one);
        if (!has_word(message, one))
            continue;
        if (found.p)
            return (struct str){NULL, 0};
        found = one;
    }
    return found;
}
