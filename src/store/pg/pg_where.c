/* Reads the password file, and parses the URL. */
#include "store/pg/pg_where.h"

#include "store/store_config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { PASSWORD_MAX = 1000 };

static enum err read_password(const char *path, char password[PASSWORD_MAX + 2], struct error *error)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return error_set(error, ERR_IO, "[store] password_file %s: %s", path, strerror(errno));
    setvbuf(file, NULL, _IONBF, 0); /* leaves no copy of the password in a buffer */
    const bool has_line = fgets(password, PASSWORD_MAX + 2, file) != NULL;
    const int code = !has_line && ferror(file) ? errno : 0; /* for example EISDIR */
    (void)fclose(file);
    if (code)
        return error_set(error, ERR_IO, "[store] password_file %s: %s", path, strerror(code));
    const size_t len = has_line ? strcspn(password, "\r\n") : 0;
    if (len == 0)
        return error_set(error, ERR_INVALID, "[store] password_file %s: the first line is empty", path);
    if (len > PASSWORD_MAX)
        return error_set(error, ERR_INVALID, "[store] password_file %s: a password has at most %d bytes",
                         path, PASSWORD_MAX);
    password[len] = '\0';
    return OK;
}

enum err pg_where_parse(struct pg_options *where, const char *url, const char *password_file,
                        struct error *error)
{
    char password[PASSWORD_MAX + 2] = "";
    struct error why;
    *where = (struct pg_options){0};
    enum err err = password_file && *password_file ? read_password(password_file, password, error) : OK;
    if (err)
        return err;
    err = pg_options_parse(where, url, password, &why);
    explicit_bzero(password, sizeof password);
    return err ? error_set(error, err, "[store] url: %s", why.text) : OK;
}

enum err store_server_check(const char *url, const char *password_file, struct error *error)
{
    struct pg_options where;
    const enum err err = pg_where_parse(&where, url, password_file, error);
    pg_options_fini(&where);
    return err;
}
