/* Writes an author as an export: NDJSON, from which an import (export_apply.h) restores the author, so that
 * the API gives the same responses. docs/data-in.md describes the lines. Equal data results in equal bytes.
 *
 * The last line contains the SHA-256 of all lines before it. An import compares this SHA-256 with the lines,
 * and then with the SHA-256 of an export of the rows that the import has written. */
#ifndef VT_IMPORT_AUTHOR_EXPORT_H
#define VT_IMPORT_AUTHOR_EXPORT_H

#include "base/str.h"
#include "store/author_archive.h"

/* The version of the format, in the first line. */
enum { EXPORT_VERSION = 1 };
/* The beginnings of the first and of the last line of an export. */
#define EXPORT_FIRST_LINE "{\"type\":\"author\",\"export\":"
#define EXPORT_LAST_LINE  "{\"type\":\"end\","

enum { EXPORT_DIGEST_LEN = 32 };

struct export_summary {
    int64_t lines; /* without the last line */
    int64_t keys, books, videos, events;
    uint8_t digest[EXPORT_DIGEST_LEN];
};

/* Writes a part of the export. If it returns an error, export_author() stops and returns this error. */
typedef enum err export_write_fn(void *ctx, struct str bytes);

/* Exports an author in one snapshot, in bounded memory. If `write` is NULL, only computes the summary. If
 * there is no such author, returns ERR_NOT_FOUND and writes nothing. */
MUST_USE enum err export_author(struct store *store, const struct uuid *author_id, export_write_fn *write,
                                void *ctx, struct export_summary *summary);

/* Returns true if a correction (store/lower_views.h) has lowered the views of the video below one of its
 * milestones, or below the views at which it went viral. Without such a correction, a line `state` with such
 * numbers is invalid. */
bool export_is_corrected(const struct video *video);

#endif
