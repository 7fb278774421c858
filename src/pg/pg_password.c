/* Reads the password file. */
#include "pg/pg_password.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum err pg_password_read(const char *path, char password[PG_PASSWORD_SIZE], struct error *error)
{
    FILE *file = fopen(path, "re");
    password[0] = '\0';
    if (!file)
        return error_set(error, ERR_IO, "[store] password_file %s: %s", path, strerror(errno));
    setvbuf(file, NULL, _IONBF, 0); /* leaves no copy of the password in a buffer */
    const bool has_line = fgets(password, PG_PASSWORD_SIZE, file) != NULL;
    const int code = !has_line && ferror(file) ? errno : 0; /* for example EISDIR */
    (void)fclose(file);
    if (code)
        return error_set(error, ERR_IO, "[store] password_file %s: %s", path, strerror(code));
    const size_t len = has_line ? strcspn(password, "\r\n") : 0;
    if (len > 0 && len <= PG_PASSWORD_MAX) {
        password[len] = '\0';
        return OK;
    }
    explicit_bzero(password, PG_PASSWORD_SIZE);
    return len ? error_set(error, ERR_INVALID, "[store] password_file %s: a password has at most %d bytes",
                           path, PG_PASSWORD_MAX)
               : error_set(error, ERR_INVALID, "[store] password_file %s: the first line is empty", path);
}
