/* Loads a configuration file and environment variables of arbitrary bytes. Checks that they are rejected
 * with messages, or that the printed configuration can be loaded and gives the same values. The file ends at
 * the first NUL byte; each further text that ends with a NUL byte is a variable without its prefix
 * VIEWTALLY_. */
#include "base/check.h"
#include "config/config.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { VARIABLES_MAX = 8, VARIABLE_BYTES_MAX = 512 };

struct environment {
    char texts[VARIABLES_MAX][VARIABLE_BYTES_MAX];
    const char *list[VARIABLES_MAX + 1];
};

static void make_environment(struct environment *e, struct str rest)
{
    int count = 0;
    struct str variable;
    while (rest.p && count < VARIABLES_MAX) {
        rest = str_cut(rest, '\0', &variable);
        (void)snprintf(e->texts[count], VARIABLE_BYTES_MAX, "VIEWTALLY_%.*s", (int)variable.len, variable.p);
        e->list[count] = e->texts[count];
        count++;
    }
    e->list[count] = NULL;
}

/* Checks that the printed value of each key contains no secret, and that each key has an origin. */
static void check_printed(const struct config *config)
{
    const struct config_key *key;
    struct buf value;
    buf_init(&value, 1 << 20);
    for (size_t i = 0; (key = config_key_at(i)); i++) {
        buf_reset(&value, 1 << 20);
        config_print_value(config, key, &value);
        CHECK(!value.failed && (!key->secret || !value.len || str_eq(buf_str(&value), STR("(hidden)"))));
        CHECK(config_origin_of(config, key->section, key->name));
    }
    buf_fini(&value);
}

/* Loads the bytes as a configuration file and prints the resulting configuration to `out`. */
static enum err load(struct str text, const char *const *environment, struct buf *out)
{
    char path[64];
    struct config config;
    struct buf message;
    const int fd = memfd_create("config", MFD_CLOEXEC);
    CHECK(fd >= 0 && write(fd, text.p, text.len) == (ssize_t)text.len);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    config_init(&config);
    buf_init(&message, 1 << 16);
    const enum err err = config_load(&config, path, environment, &message);
    CHECK((err == OK) == (message.len == 0));
    config_print(&config, out);
    check_printed(&config);
    buf_fini(&message);
    config_fini(&config);
    CHECK(close(fd) == 0);
    return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const no_environment[] = {NULL};
    static struct environment environment;
    struct buf first, second;
    struct str text;
    /* A `…_file` key could name any file of this machine. */
    if (size > 16 << 10 || memmem(data, size, "_file", 5) || memmem(data, size, "_FILE", 5))
        return 0;
    make_environment(&environment, str_cut(str_make((const char *)data, size), '\0', &text));
    buf_init(&first, 1 << 20);
    buf_init(&second, 1 << 20);
    if (load(text, environment.list, &first) == OK && !memmem(first.p, first.len, "(hidden)", 8)) {
        CHECK(load(buf_str(&first), no_environment, &second) == OK);
        CHECK(str_eq(buf_str(&first), buf_str(&second)));
    }
    buf_fini(&first);
    buf_fini(&second);
    return 0;
}
