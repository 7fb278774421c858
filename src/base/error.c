/* Names of error codes, and texts of errors. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *err_name(enum err code)
{
    switch (code) {
    case OK: return "ok";
    case ERR_NOT_FOUND: return "not found";
    case ERR_EXISTS: return "already exists";
    case ERR_INVALID: return "invalid";
    case ERR_BUSY: return "busy";
    case ERR_FULL: return "no space left";
    case ERR_READONLY: return "read-only";
    case ERR_CORRUPT: return "corrupt";
    case ERR_VERSION: return "unsuitable version";
    case ERR_NOMEM: return "out of memory";
    case ERR_IO: return "input/output error";
    case ERR_TIMEOUT: return "timed out";
    case ERR_CANCELED: return "canceled";
    case ERR_UNKNOWN_OUTCOME: return "unknown outcome of a commit";
    case ERR_INTERNAL: return "internal error";
    }
    return "unknown error";
}

enum err error_set(struct error *error, enum err code, const char *format, ...)
{
    if (!error)
        return code;
    char text[sizeof error->text]; /* a copy, because the arguments may point into error->text */
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    memcpy(error->text, text, sizeof text);
    error->code = code;
    return code;
}

void error_replace(struct error *error, const char *from, const char *to)
{
    const char *at = strstr(error->text, from);
    if (at)
        error_set(error, error->code, "%.*s%s%s", (int)(at - error->text), error->text, to,
                  at + strlen(from));
}
