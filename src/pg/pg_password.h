/* The file that contains a password in its first line. */
#ifndef VT_PG_PG_PASSWORD_H
#define VT_PG_PG_PASSWORD_H

#include "base/error.h"

enum { PG_PASSWORD_MAX = 1000, PG_PASSWORD_SIZE = PG_PASSWORD_MAX + 2 };

/* Reads the password from the file. Sets it to "" on failure. The caller overwrites it after use. */
MUST_USE enum err pg_password_read(const char *path, char password[PG_PASSWORD_SIZE], struct error *error);

#endif
