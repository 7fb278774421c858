/* Parses the lines of an export (author_export.h). For books and videos it only determines the type, because
 * record.h parses them. */
#ifndef VT_IMPORT_EXPORT_RECORD_H
#define VT_IMPORT_EXPORT_RECORD_H

#include "import/record.h"

enum export_line_kind {
    EXPORT_AUTHOR,
    EXPORT_APP,
    EXPORT_KEY,
    EXPORT_BOOK,
    EXPORT_VIDEO,
    EXPORT_STATE,
    EXPORT_GAINS,
    EXPORT_EVENT,
    EXPORT_END,
    EXPORT_LINE_KINDS
};

/* All fields are present in a valid line, unless a comment says that a field is optional. */
struct exported_author {
    struct field version, id, name, plan_active, created_at, views_refreshed_at;
};

struct exported_app {
    struct field client_id, name, home_url;
};

struct exported_key {
    struct field id, name, hash, suffix, client_id, created_at, last_used_at, revoked_at;
};

struct exported_post {
    struct field platform, updated_at, counts[COUNT_KINDS];
    struct field views_source, resolved_id; /* optional */
};

struct exported_milestone {
    struct field value, reached_at;
};

struct exported_day {
    struct field date, gained;
};

struct exported_state {
    struct field video_id, baseline, first_reading_at, updated_at;
    struct field threshold, median, compared, went_viral_at, views_when_viral;
    struct field baseline_pending, corrected; /* optional */
    struct field_list posts;                  /* of struct exported_post */
    struct field_list milestones;             /* of struct exported_milestone */
    struct field_list days;                   /* of struct exported_day */
};

struct exported_gains {
    struct field date, platform, gained;
};

struct exported_event {
    struct field id, video_id, type, occurred_at;
    struct field views, threshold, median; /* optional; only for video.went_viral */
    struct field milestone;                /* optional; only for video.milestone_reached */
};

struct export_end {
    struct field lines, sha256;
};

struct export_record {
    enum export_line_kind kind;
    union { /* unused for EXPORT_BOOK and EXPORT_VIDEO */
        struct exported_author author;
        struct exported_app app;
        struct exported_key key;
        struct exported_state state;
        struct exported_gains gains;
        struct exported_event event;
        struct export_end end;
    };
};

struct export_parser;
struct export_parser *export_parser_new(void);
void export_parser_free(struct export_parser *p);

/* Parses one line. Returns false if it is invalid and sets `*why` to the reason. The record and the reason
 * are valid until the next call. */
bool export_record_parse(struct export_parser *p, struct str line, struct export_record *out,
                         struct str *why);

/* Parses "evt_N". Returns false if the text has another form, or if N is not an int64_t above 0. */
bool export_event_id_parse(struct str text, int64_t *out);

/* Parses lower-case hexadecimal digits, two for each byte. Returns false if the text is anything else. */
bool export_hex_parse(struct str text, uint8_t *out, size_t count);

#endif
