/* Error codes, and errors with a text. A driver translates the codes of its library into these and logs the
 * library's own words once. */
#ifndef VT_BASE_ERROR_H
#define VT_BASE_ERROR_H

#define MUST_USE __attribute__((warn_unused_result))

enum err {
    OK = 0,
    ERR_NOT_FOUND, /* no such row, file, key */
    ERR_EXISTS,    /* would be a duplicate */
    ERR_INVALID,   /* input breaks a rule */
    ERR_BUSY,      /* in use by another process or call: try again */
    ERR_FULL,      /* disk full, or a hard limit reached */
    ERR_READONLY,
    ERR_CORRUPT, /* damaged, or not a viewtally database */
    ERR_VERSION, /* the database is newer than this binary */
    ERR_NOMEM,
    ERR_IO,
    ERR_TIMEOUT,
    ERR_CANCELED,
    ERR_INTERNAL,
};

/* A short English name: "busy", "not found". Static. */
const char *err_name(enum err code);

/* An error with a human-readable text. The caller owns it; functions that can fail for several reasons take a
 * pointer to it. Zeroed: no error. */
struct error {
    enum err code;
    char text[512]; /* one line, no period at the end; a longer text is cut */
};

/* Sets code and text and returns the code, so that a function can `return error_set(error, ERR_…, …)`.
 * error == NULL: the caller needs only the code. The arguments may point into error->text. */
enum err error_set(struct error *error, enum err code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
