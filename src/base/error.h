/* Error codes, and errors with a text. Code that calls a library translates the library's error codes into
 * these codes and logs the library's own error text once. */
#ifndef VT_BASE_ERROR_H
#define VT_BASE_ERROR_H

#define MUST_USE __attribute__((warn_unused_result))

enum err {
    OK = 0,
    ERR_NOT_FOUND, /* there is no such row, file or key */
    ERR_EXISTS,    /* the item exists already */
    ERR_INVALID,   /* input breaks a rule */
    ERR_BUSY,      /* another process or call uses the resource; a later attempt may succeed */
    ERR_FULL,      /* disk full, or a hard limit reached */
    ERR_READONLY,
    ERR_CORRUPT, /* damaged, or not a viewtally database */
    ERR_VERSION, /* the version of the database does not suit this binary: it is newer, or older and must be
                    migrated, or the database is empty; or the PostgreSQL server is too old */
    ERR_NOMEM,
    ERR_IO,
    ERR_TIMEOUT,
    ERR_CANCELED,
    ERR_UNKNOWN_OUTCOME, /* the connection was lost during a commit; the transaction may or may not be
                            committed */
    ERR_INTERNAL,
};

/* Returns a short English name, such as "busy" or "not found". The string is static. */
const char *err_name(enum err code);

/* An error with a text for people. A function that can fail for several reasons fills in a struct that its
 * caller provides. A zeroed struct means no error. */
struct error {
    enum err code;
    char text[512]; /* one line, no period at the end; a longer text is truncated */
};

/* Sets the code and the formatted text, and returns the code, so that a function can `return error_set(error,
 * ERR_…, …)`. If `error` is NULL, only returns the code. The arguments may point into error->text. */
enum err error_set(struct error *error, enum err code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Replaces the first occurrence of `from` in the text, for example the name of a temporary file by the name
 * that a person knows. */
void error_replace(struct error *error, const char *from, const char *to);

#endif
