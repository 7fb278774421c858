/* Loads a configuration file of arbitrary bytes. It is rejected with a message, or the printed configuration
 * loads to the same values. */
#include "base/check.h"
#include "config/config.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const no_environment[] = {NULL};

/* Loads the bytes and prints the result to `out`. */
static enum err load(struct str text, struct buf *out)
{
    char path[64];
    struct config config;
    struct buf message;
    const int fd = memfd_create("config", MFD_CLOEXEC);
    CHECK(fd >= 0 && write(fd, text.p, text.len) == (ssize_t)text.len);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    config_init(&config);
    buf_init(&message, 1 << 16);
    const enum err err = config_load(&config, path, no_environment, &message);
    CHECK((err == OK) == (message.len == 0));
    config_print(&config, out);
    buf_fini(&message);
    config_fini(&config);
    CHECK(close(fd) == 0);
    return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct str text = str_make((const char *)data, size);
    struct buf first, second;
    /* A `…_file` key could name any file of this machine. */
    if (size > 16 << 10 || memmem(data, size, "_file", 5))
        return 0;
    buf_init(&first, 1 << 20);
    buf_init(&second, 1 << 20);
    if (load(text, &first) == OK && !memmem(first.p, first.len, "(hidden)", 8)) {
        CHECK(load(buf_str(&first), &second) == OK);
        CHECK(str_eq(buf_str(&first), buf_str(&second)));
    }
    buf_fini(&first);
    buf_fini(&second);
    return 0;
}
