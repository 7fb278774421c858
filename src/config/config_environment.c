/* Reads the variables VIEWTALLY_<SECTION>_<KEY>. */
#include "base/nearest_word.h"
#include "config/loading.h"

#include <stdio.h>
#include <stdlib.h>

/* A variable whose section is unknown may belong to another program. So it is reported as a mistake only if
 * its name differs from the name of a key in at most this many letters. */
enum { TYPO_MAX = 2 };

static const char PREFIX[] = "VIEWTALLY_";

/* Formats `<SECTION>_<KEY>` or `<SECTION>_<KEY>_FILE`. */
static void format_name(char out[CONFIG_NAME_MAX], const struct config_key *key, bool from_file)
{
    (void)snprintf(out, CONFIG_NAME_MAX, "%s_%s%s", key->section, key->name, from_file ? "_file" : "");
    for (; *out; out++)
        *out = (char)(*out >= 'a' && *out <= 'z' ? *out - 32 : *out);
}

/* Returns the length of `<SECTION>_` at the start of the name, or 0 if the name does not begin with a
 * section. */
static size_t section_prefix(struct str name)
{
    const struct config_key *key;
    for (size_t i = 0; (key = config_key_at(i)); i++) {
        const struct str section = str_from_cstr(key->section);
        if (name.len > section.len && name.p[section.len] == '_' &&
            str_eq_nocase(str_make(name.p, section.len), section))
            return section.len + 1;
    }
    return 0;
}

/* Among the names of keys that begin with the first `same` bytes of `name`, finds the name that is most
 * similar to `name`. The result points into `names`. */
static struct nearest_word find_nearest(struct str name, size_t same,
                                        char names[CONFIG_KEYS_MAX * 2][CONFIG_NAME_MAX])
{
    struct nearest_word nearest = nearest_word_of(str_make(name.p + same, name.len - same));
    const struct config_key *key;
    for (size_t i = 0; (key = config_key_at(i)); i++)
        for (size_t n = 0; n < (key->secret ? 2 : 1); n++) {
            char *candidate = names[2 * i + n];
            format_name(candidate, key, n == 1);
            if (strncmp(candidate, name.p, same) == 0)
                nearest_word_compare(&nearest, candidate + same);
        }
    return nearest;
}

static bool ends_with(struct str s, struct str end)
{
    return s.len >= end.len && str_eq(str_make(s.p + s.len - end.len, end.len), end);
}

static const char *find(struct str s, struct str part)
{
    return memmem(s.p, s.len, part.p, part.len);
}

/* Returns true for a variable that Kubernetes sets in each container for each service of the namespace:
 * <SERVICE>_SERVICE_HOST, <SERVICE>_SERVICE_PORT, <SERVICE>_SERVICE_PORT_<NAME>, <SERVICE>_PORT=tcp://… and
 * <SERVICE>_PORT_<NUMBER>_…. The variables of a service such as viewtally-redis begin like those of a
 * section. */
static bool is_of_kubernetes(struct str name, struct str value)
{
    const struct str before_number = STR("_PORT_");
    const char *port = find(name, before_number);
    if (port && port[before_number.len] >= '0' && port[before_number.len] <= '9')
        return true;
    if (ends_with(name, STR("_PORT")) && find(value, STR("://")))
        return true;
    return ends_with(name, STR("_SERVICE_HOST")) || ends_with(name, STR("_SERVICE_PORT")) ||
           find(name, STR("_SERVICE_PORT_"));
}

static void reject_unknown(struct loading *l, struct str name)
{
    char names[CONFIG_KEYS_MAX * 2][CONFIG_NAME_MAX];
    const size_t same = section_prefix(name);
    const struct nearest_word nearest = find_nearest(name, same, names);
    if (!same && (!nearest.best || nearest.distance > TYPO_MAX))
        return;
    if (nearest.best)
        loading_report(l, "%s%.*s: unknown configuration key (did you mean %s%.*s%s?)", PREFIX, (int)name.len,
                       name.p, PREFIX, (int)same, name.p, nearest.best);
    else
        loading_report(l, "%s%.*s: unknown configuration key", PREFIX, (int)name.len, name.p);
}

/* Finds the configuration key that a variable sets. `name` is the variable without PREFIX. Sets `*at` to the
 * index of the key, and `*from_file` to true if the value is the path of a file that contains the secret. */
static bool find_named(struct str name, size_t *at, bool *from_file)
{
    char candidate[CONFIG_NAME_MAX];
    const struct config_key *key;
    for (*at = 0; (key = config_key_at(*at)); ++*at)
        for (int n = 0; n < (key->secret ? 2 : 1); n++) {
            *from_file = n == 1;
            format_name(candidate, key, *from_file);
            if (str_eq(name, str_from_cstr(candidate)))
                return true;
        }
    return false;
}

static void apply(struct loading *l, const char *variable, size_t at, bool from_file, struct str value)
{
    const char *other = l->variables[at];
    const int len = (int)strcspn(variable, "=");
    struct buf why;
    if (other) {
        loading_report(l, "%.*s: the key is already set by %.*s; remove one of them", len, variable,
                       (int)strcspn(other, "="), other);
        return;
    }
    l->variables[at] = variable;
    l->config->origins[at].is_from_environment = true;
    buf_init(&why, CONFIG_WHY_MAX);
    if (!loading_set(l, at, value, from_file, &why)) {
        loading_mark_section(l, config_key_at(at)->section);
        loading_report(l, "%.*s: %.*s", len, variable, (int)why.len, why.p);
    }
    buf_fini(&why);
}

void loading_read_environment(struct loading *l, const char *const *environment)
{
    for (; *environment; environment++) {
        struct str name, value = str_cut(str_from_cstr(*environment), '=', &name);
        size_t at;
        bool from_file;
        if (!value.p || !str_starts_with(name, str_from_cstr(PREFIX)))
            continue;
        name = str_make(name.p + sizeof PREFIX - 1, name.len - (sizeof PREFIX - 1));
        if (find_named(name, &at, &from_file))
            apply(l, *environment, at, from_file, str_trim(value));
        else if (!is_of_kubernetes(name, value))
            reject_unknown(l, name);
    }
}
