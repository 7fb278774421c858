/* Reads nginx's configuration from a file, or finds the program nginx and reads the output of `nginx -T`. */
#include "doctor/nginx_text.h"

#include "doctor/child_process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 16 << 10 };

enum err nginx_read_file(const char *path, struct buf *out, struct error *error)
{
    FILE *f = fopen(path, "re");
    size_t n = 1;
    if (!f)
        return error_set(error, ERR_IO, "%s: %s", path, strerror(errno));
    while (n > 0 && !out->failed) {
        char *to = buf_reserve(out, READ_BYTES);
        n = to ? fread(to, 1, READ_BYTES, f) : 0;
        out->len += n;
    }
    const int failed = ferror(f) ? errno : 0;
    (void)fclose(f);
    if (failed)
        return error_set(error, ERR_IO, "%s: %s", path, strerror(failed));
    return out->failed ? error_set(error, ERR_FULL, "%s is too large", path) : OK;
}

/* Returns the path of nginx, or NULL if it is not installed. PATH is not searched, because on Debian the PATH
 * of users lacks /usr/sbin. */
static const char *find_program(void)
{
#ifdef VT_TEST_SEAMS
    const char *program = getenv("VIEWTALLY_TEST_NGINX");
    if (program)
        return *program ? program : NULL;
#endif
    static const char *const paths[] = {"/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx",
                                        "/usr/local/nginx/sbin/nginx", "/opt/nginx/sbin/nginx"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (access(paths[i], X_OK) == 0)
            return paths[i];
    return NULL;
}

enum err nginx_run_dump(struct buf *out, struct error *error)
{
    static const char *const arguments[] = {"nginx", "-T", NULL};
    const char *program = find_program();
    if (!program)
        return error_set(error, ERR_NOT_FOUND, "nginx is not installed on this machine");
    return child_process_run(program, arguments, out, error);
}
