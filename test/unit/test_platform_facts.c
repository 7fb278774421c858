/* Records the requests that the connectors send and the fields that they read, for
 * test/platforms/test_vendor_facts.py, which compares them with the descriptions published by the vendors.
 * The linker wraps the functions of jsonr.h with those below, so that every access to a response is
 * recorded (see the Makefile). Output: the file in $PLATFORM_FACTS. */
#include "lib/sample.h"
#include "unit.h"

#include "base/clock.h"
#include "platforms/jsonr.h"

#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 1 << 16, PATH_LEN = 160, FACTS_MAX = 4000, LINK_STEPS_MAX = 12 };

/* ---- the list of facts ---- */

static char *facts[FACTS_MAX];
static size_t fact_count;
static char context[64]; /* "youtube read 0" */

static void add_fact(const char *kind, const char *text, const char *more)
{
    char line[4096];
    (void)snprintf(line, sizeof line, "%s %s %s %s", kind, context, text, more);
    for (size_t i = 0; i < fact_count; i++)
        if (strcmp(facts[i], line) == 0)
            return;
    assert_true(fact_count < FACTS_MAX);
    facts[fact_count++] = strdup(line);
}

/* ---- paths of values ---- */

struct path_slot {
    const void *value;
    char path[PATH_LEN];
};
static struct path_slot path_slots[SLOTS];

static struct path_slot *find_slot(const void *value)
{
    size_t at = ((uintptr_t)value >> 4) % SLOTS;
    while (path_slots[at].value && path_slots[at].value != value)
        at = (at + 1) % SLOTS;
    return &path_slots[at];
}

static const char *path_of(const void *value)
{
    const struct path_slot *p = find_slot(value);
    return p->value ? p->path : "?";
}

static void set_path(const void *value, const char *path)
{
    struct path_slot *p = find_slot(value);
    p->value = value;
    (void)snprintf(p->path, sizeof p->path, "%s", path);
}

/* ---- wrappers of the functions of jsonr.h ---- */

struct yyjson_val *__real_jsonr_parse(struct arena *a, struct str body);
struct yyjson_val *__real_jsonr_get(struct yyjson_val *v, const char *name);
bool __real_jsonr_next(struct jsonr_iter *it, struct str *name, struct yyjson_val **value);
struct jsonr_iter __real_jsonr_iterate(struct yyjson_val *v);
struct str __real_jsonr_text(struct yyjson_val *v);
struct str __real_jsonr_id(struct yyjson_val *v);
bool __real_jsonr_integer(struct yyjson_val *v, int64_t *out);
int64_t __real_jsonr_count(struct yyjson_val *v);

struct yyjson_val *__wrap_jsonr_parse(struct arena *a, struct str body);
struct yyjson_val *__wrap_jsonr_get(struct yyjson_val *v, const char *name);
bool __wrap_jsonr_next(struct jsonr_iter *it, struct str *name, struct yyjson_val **value);
struct jsonr_iter __wrap_jsonr_iterate(struct yyjson_val *v);
struct str __wrap_jsonr_text(struct yyjson_val *v);
struct str __wrap_jsonr_id(struct yyjson_val *v);
bool __wrap_jsonr_integer(struct yyjson_val *v, int64_t *out);
int64_t __wrap_jsonr_count(struct yyjson_val *v);

struct yyjson_val *__wrap_jsonr_parse(struct arena *a, struct str body)
{
    struct yyjson_val *root = __real_jsonr_parse(a, body);
    if (root)
        set_path(root, "$");
    return root;
}

struct yyjson_val *__wrap_jsonr_get(struct yyjson_val *v, const char *name)
{
    struct yyjson_val *got = __real_jsonr_get(v, name);
    char path[PATH_LEN];
    if (v && jsonr_is_object(v)) {
        (void)snprintf(path, sizeof path, "%s.%s", path_of(v), name);
        if (got)
            set_path(got, path);
    }
    return got;
}

/* Stores the path of the elements for the first element that is left. __wrap_jsonr_next() passes it on to the
 * next element. */
struct jsonr_iter __wrap_jsonr_iterate(struct yyjson_val *v)
{
    struct jsonr_iter it = __real_jsonr_iterate(v);
    char path[PATH_LEN];
    if (it.left) {
        (void)snprintf(path, sizeof path, "%s%s", path_of(v), it.object ? ".*" : "[]");
        /* Uses the address one byte after that of the element, because no value has this address. */
        set_path((const char *)it.at + 1, path);
    }
    return it;
}

bool __wrap_jsonr_next(struct jsonr_iter *it, struct str *name, struct yyjson_val **value)
{
    char path[PATH_LEN];
    if (it->left)
        (void)snprintf(path, sizeof path, "%s", path_of((const char *)it->at + 1));
    if (!__real_jsonr_next(it, name, value))
        return false;
    set_path(*value, path);
    if (it->left)
        set_path((const char *)it->at + 1, path);
    return true;
}

struct str __wrap_jsonr_text(struct yyjson_val *v)
{
    struct str got = __real_jsonr_text(v);
    if (got.p)
        add_fact("field", path_of(v), "text");
    return got;
}

struct str __wrap_jsonr_id(struct yyjson_val *v)
{
    struct str got = __real_jsonr_id(v);
    if (got.p)
        add_fact("field", path_of(v), "id");
    return got;
}

bool __wrap_jsonr_integer(struct yyjson_val *v, int64_t *out)
{
    const bool got = __real_jsonr_integer(v, out);
    if (got)
        add_fact("field", path_of(v), "integer");
    return got;
}

int64_t __wrap_jsonr_count(struct yyjson_val *v)
{
    const int64_t got = __real_jsonr_count(v);
    if (got != COUNT_NONE)
        add_fact("field", path_of(v), "count");
    return got;
}

/* ---- fields ---- */

static const char *const functions[] = {"read", "resolve", "refresh", "link"};

static void read_sample(void *ctx, const char *name, struct str text)
{
    struct sample *s = calloc(1, sizeof *s);
    struct arena arena;
    (void)ctx;
    if (!sample_parse(s, text))
        fail_msg("%s is not a valid sample", name);
    (void)snprintf(context, sizeof context, "%s %s %d", platform_desc(s->api)->name, functions[s->function],
                   s->tier);
    memset(path_slots, 0, sizeof path_slots);
    arena_init(&arena, 64 << 10);
    sample_play(&arena, s);
    arena_fini(&arena);
    sample_fini(s);
    free(s);
}

static void records_fields_read_from_samples(void **state)
{
    (void)state;
    assert_true(sample_for_each(read_sample, NULL) > 20);
    assert_true(fact_count > 100);
    for (size_t i = 0; i < fact_count; i++)
        assert_null(strstr(facts[i], " ? "));
}

/* ---- requests ---- */

static void build(struct arena *arena, const struct platform_desc *desc, struct platform_call call)
{
    struct http_request request;
    arena_reset(arena);
    (void)snprintf(context, sizeof context, "%s %s %d", desc->name, functions[call.kind], call.tier);
    desc->build(arena, &call, &request);
    add_fact("request",
             arena_printf(arena, "%s %.*s", request.method, (int)request.path.len, request.path.p).p,
             request.body.len ? arena_printf(arena, "%.*s", (int)request.body.len, request.body.p).p : "");
}

/* Builds the requests of every request form, for every views source, both kinds of ids, and every hour of
 * half a day. */
static void build_all(struct arena *arena, const struct platform_desc *desc, bool by_key, bool combined)
{
    static const char *const ids[] = {"1784", "10_20"};
    const struct platform_options options = {
        .origins = {"https://api.example", "https://token.example", "https://consent.example"},
        .graph_version = "v26.0"};
    for (int tier = 0; tier < desc->tiers; tier++)
        for (int source = 0; source < 6; source++)
            for (size_t id = 0; id < 2; id++)
                for (int hour = 0; hour < 12; hour++) {
                    struct platform_item item = {.id = str_from_cstr(ids[id]),
                                                 .posted_at = SAMPLE_NOW - DAY_MS,
                                                 .views_source = source};
                    build(arena, desc,
                          (struct platform_call){.options = &options,
                                                 .account_id = STR("1784"),
                                                 .access_token = STR("TOKEN"),
                                                 .by_key = by_key,
                                                 .combined = combined,
                                                 .tier = tier,
                                                 .now_ms = SAMPLE_NOW + hour * HOUR_MS,
                                                 .items = &item,
                                                 .item_count = 1});
                }
}

static void link_requests(struct arena *arena, const struct platform_desc *desc)
{
    const struct platform_options options = {
        .origins = {"https://api.example", "https://token.example", "https://consent.example"},
        .graph_version = "v26.0"};
    for (int step = 0; step < LINK_STEPS_MAX; step++) {
        struct platform_link *link = calloc(1, sizeof *link);
        struct http_request request;
        *link = (struct platform_link){.options = &options,
                                       .app = {STR("ID"), STR("SECRET")},
                                       .redirect_uri = STR("https://a.example/linked"),
                                       .code = STR("CODE"),
                                       .grant = {.access_token = STR("TOKEN")},
                                       .step = step};
        arena_reset(arena);
        (void)snprintf(context, sizeof context, "%s link %d", desc->name, step);
        if (desc->link_build(arena, link, &request))
            add_fact("request",
                     arena_printf(arena, "%s %.*s", request.method, (int)request.path.len, request.path.p).p,
                     "");
        free(link);
    }
}

static void records_requests(void **state)
{
    (void)state;
    struct arena arena;
    const size_t before = fact_count;
    arena_init(&arena, 64 << 10);
    for (int api = 0; api < PLATFORM_APIS; api++) {
        const struct platform_desc *desc = platform_desc((enum platform_api)api);
        build_all(&arena, desc, false, false);
        if (desc->combines)
            build_all(&arena, desc, false, true);
        if (desc->links)
            link_requests(&arena, desc);
    }
    build_all(&arena, &youtube_desc, true, false);
    arena_fini(&arena);
    assert_true(fact_count > before + 30);
}

static void facts_are_written_to_the_file_in_the_environment(void **state)
{
    (void)state;
    const char *path = getenv("PLATFORM_FACTS");
    FILE *f = path ? fopen(path, "w") : NULL;
    for (size_t i = 0; i < fact_count; i++) {
        if (f)
            (void)fprintf(f, "%s\n", facts[i]);
        free(facts[i]);
    }
    if (f)
        assert_int_equal(fclose(f), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_fields_read_from_samples),
        cmocka_unit_test(records_requests),
        cmocka_unit_test(facts_are_written_to_the_file_in_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
