/* The one error type. A driver translates its library's codes into these and logs the library's own words
 * once. */
#ifndef VT_BASE_ERR_H
#define VT_BASE_ERR_H

#define MUST_USE __attribute__((warn_unused_result))

enum err {
    OK = 0,
    ERR_NOT_FOUND, /* no such row, file, key */
    ERR_EXISTS,    /* would be a duplicate */
    ERR_INVALID,   /* input breaks a rule; the caller was told which */
    ERR_BUSY,      /* somebody else holds it for now: try again */
    ERR_FULL,      /* no room on the disk, or a hard limit reached */
    ERR_READONLY,  /* may not be written */
    ERR_CORRUPT,   /* not a database of ours, or damaged */
    ERR_VERSION,   /* database newer than this binary */
    ERR_NOMEM,
    ERR_IO,
    ERR_TIMEOUT,
    ERR_CANCELLED,
    ERR_INTERNAL,
};

/* A short English name: "busy", "not found". Static. */
const char *err_name(enum err e);

#endif
