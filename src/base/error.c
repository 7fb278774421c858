/* Names of errors, for logs and messages. */
#include "base/error.h"

const char *err_name(enum err e)
{
    switch (e) {
    case OK: return "ok";
    case ERR_NOT_FOUND: return "not found";
    case ERR_EXISTS: return "exists already";
    case ERR_INVALID: return "invalid";
    case ERR_BUSY: return "busy";
    case ERR_FULL: return "full";
    case ERR_READONLY: return "read-only";
    case ERR_CORRUPT: return "corrupt";
    case ERR_VERSION: return "newer version";
    case ERR_NOMEM: return "out of memory";
    case ERR_IO: return "input/output error";
    case ERR_TIMEOUT: return "timed out";
    case ERR_CANCELLED: return "cancelled";
    case ERR_INTERNAL: return "internal error";
    }
    return "unknown error";
}
