/* The values of a configuration: defaults, copies, printing. */
#include "config/config.h"

#include "base/check.h"
#include "config/value.h"

#include <stdio.h>
#include <stdlib.h>

const struct config_key *config_key_at(size_t i)
{
    if (i < config_service_keys.count)
        return &config_service_keys.keys[i];
    i -= config_service_keys.count;
    for (int p = 0; p < PLATFORM_COUNT; i -= config_platform_keys[p++]->count)
        if (i < config_platform_keys[p]->count)
            return &config_platform_keys[p]->keys[i];
    return NULL;
}

const struct config_key *config_find_key(const char *section, const char *name, size_t *at)
{
    const struct config_key *key;
    for (*at = 0; (key = config_key_at(*at)); ++*at)
        if (strcmp(key->section, section) == 0 && strcmp(key->name, name) == 0)
            return key;
    return NULL;
}

const struct config_origin *config_origin_of(const struct config *c, const char *section, const char *name)
{
    size_t at;
    CHECK(config_find_key(section, name, &at));
    return &c->origins[at];
}

bool config_is_set(const struct config *c, const char *section, const char *name)
{
    const struct config_origin *origin = config_origin_of(c, section, name);
    return origin->line || origin->is_from_environment;
}

void config_init(struct config *c)
{
    *c = (struct config){0};
    const struct config_key *key;
    for (size_t i = 0; (key = config_key_at(i)); i++) {
        struct buf why;
        buf_init(&why, 256);
        bool ok = value_set(c, key, str_from_cstr(key->initial), &why);
        buf_fini(&why);
        CHECK(ok);
    }
}

void config_copy(struct config *out, const struct config *from)
{
    *out = (struct config){0};
    const struct config_key *key;
    for (size_t i = 0; (key = config_key_at(i)); i++)
        value_copy(out, from, key);
    for (size_t i = 0; i < CONFIG_KEYS_MAX; i++) {
        const struct config_origin *origin = &from->origins[i];
        out->origins[i] = *origin;
        if (origin->secret_file)
            CHECK(out->origins[i].secret_file = strdup(origin->secret_file));
    }
}

void config_fini(struct config *c)
{
    const struct config_key *key;
    for (size_t i = 0; (key = config_key_at(i)); i++)
        value_free(c, key);
    for (size_t i = 0; i < CONFIG_KEYS_MAX; i++) {
        free(c->origins[i].secret_file);
        c->origins[i].secret_file = NULL;
    }
}

/* Prints the value, but hides the password in a URL such as redis://user:password@host. */
static void print_without_password(const struct config *c, const struct config_key *key, struct buf *out)
{
    size_t begin = out->len;
    value_print(c, key, out);
    struct str value = str_make(out->p + begin, out->len - begin), scheme, user;
    struct str rest = str_cut(value, ':', &scheme);
    if (key->type != CONFIG_TEXT || out->failed || !str_starts_with(rest, STR("//")))
        return;
    const char *at = memrchr(rest.p, '@', rest.len);
    if (!at || !str_cut(str_make(rest.p + 2, (size_t)(at - rest.p) - 2), ':', &user).p)
        return;
    const size_t from = (size_t)(user.p + user.len + 1 - out->p), tail = (size_t)(rest.p + rest.len - at);
    struct buf host; /* a copy, because `at` points into `out` */
    buf_init(&host, tail + 1);
    buf_append(&host, str_make(at, tail));
    out->len = from;
    buf_append(out, STR("(hidden)"));
    buf_append(out, buf_str(&host));
    buf_fini(&host);
}

void config_print_value(const struct config *c, const struct config_key *key, struct buf *out)
{
    const size_t before = out->len;
    print_without_password(c, key, out);
    if (key->secret && out->len > before) {
        out->len = before;
        buf_append(out, STR("(hidden)"));
    }
}

static void print_keys(const struct config *c, bool with_help, struct buf *out)
{
    const char *section = "";
    const struct config_key *key;
    for (size_t i = 0; (key = config_key_at(i)); i++) {
        if (strcmp(section, key->section) != 0) {
            section = key->section;
            buf_printf(out, "%s[%s]\n", i ? "\n" : "", section);
        }
        struct str help = str_from_cstr(with_help ? key->help : NULL), line;
        while (help.p) {
            help = str_cut(help, '\n', &line);
            buf_printf(out, "; %.*s\n", (int)line.len, line.p);
        }
        if (with_help && key->secret)
            buf_printf(out, "; %s_file names a file that contains the value instead.\n", key->name);
        if (with_help && key->place.reload)
            buf_append(out, STR("; SIGHUP applies a new value.\n"));
        buf_printf(out, "%s = ", key->name);
        size_t before = out->len;
        config_print_value(c, key, out);
        if (out->len == before && out->len)
            out->len--; /* an empty value must not leave a space at the end of the line */
        buf_append_char(out, '\n');
    }
}

void config_print(const struct config *c, struct buf *out)
{
    print_keys(c, false, out);
}

void config_print_example(struct buf *out)
{
    struct config c;
    config_init(&c);
    buf_append(
        out,
        STR("; Every key of viewtally at its default. Copy this file to config.ini and change what you need; "
            "a key that is left\n"
            "; out has its default. An environment variable VIEWTALLY_<SECTION>_<KEY> overrides a key.\n\n"));
    print_keys(&c, true, out);
    config_fini(&c);
}

const char *config_get_default(const char *section, const char *name)
{
    size_t at;
    const struct config_key *key = config_find_key(section, name, &at);
    CHECK(key);
    return key->initial;
}

void config_each_item(const char *list, void (*fn)(void *ctx, struct str item), void *ctx)
{
    struct str rest = str_from_cstr(list), item;
    while (rest.p) {
        rest = str_cut(rest, ',', &item);
        if (item.len)
            fn(ctx, item);
    }
}
