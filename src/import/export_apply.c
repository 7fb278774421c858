/* Applies an export: one function per type of line. The types are in this order, so that a row exists before
 * another row refers to it:
 *
 *     author · apps and keys · books · videos, each followed by its state · gains · events · end */
#include "import/export_apply.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/vec.h"
#include "import/export_check.h"
#include "store/apps.h"
#include "store/erase.h"
#include "store/platform_posts.h"

#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { ARENA_BLOCK = 32 * 1024, EVENT_ID_AHEAD_DAYS = 10 };

/* The gains of all videos of the author on a day. */
struct day_total {
    int32_t date;
    int64_t gained; /* not more than AUTHOR_GAINED_MAX */
};

struct export_apply {
    struct export_apply_options options;
    struct record_parser *records;
    struct export_parser *exports;
    struct arena arena;
    crypto_hash_sha256_state hash;
    struct export_summary summary;
    struct author author;
    enum export_line_kind previous; /* type of the previous line; valid after the first line */
    bool is_ended;
    struct record video; /* the most recent book or video line; its strings belong to `records` */
    int64_t last_event_id;
    int64_t baselines;            /* sum of the baselines of all videos, not more than AUTHOR_GAINED_MAX */
    VEC(struct day_total) totals; /* ascending by date */
    VEC(struct day_gain) days;    /* gains of the current video */
    int64_t gains_day;            /* date of the previous `gains` line; INT64_MIN: none */
    int gains_platform;
    int64_t gains_sum; /* sum of the `gains` lines of this day so far */
    char reason[400];
};

struct export_apply *export_apply_new(const struct export_apply_options *options)
{
    struct export_apply *a = xcalloc(1, sizeof *a);
    a->options = *options;
    a->records = record_parser_new(UNKNOWN_FIELDS_REJECTED);
    a->exports = export_parser_new();
    arena_init(&a->arena, ARENA_BLOCK);
    return a;
}

void export_apply_free(struct export_apply *a)
{
    record_parser_free(a->records);
    export_parser_free(a->exports);
    arena_fini(&a->arena);
    VEC_FREE(&a->totals);
    VEC_FREE(&a->days);
    free(a);
}

void export_apply_begin(struct export_apply *a)
{
    (void)crypto_hash_sha256_init(&a->hash);
    a->summary = (struct export_summary){0};
    a->author = (struct author){.row = 0};
    a->is_ended = false;
    a->last_event_id = a->baselines = a->gains_sum = 0;
    a->totals.count = 0;
    a->gains_day = INT64_MIN;
    a->gains_platform = -1;
}

const struct export_summary *export_apply_summary(const struct export_apply *a)
{
    return &a->summary;
}

/* Sets the reason and returns ERR_INVALID. export_apply_line() then returns OK with this reason. */
static enum err reject(struct export_apply *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static enum err reject(struct export_apply *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(a->reason, sizeof a->reason, fmt, ap);
    va_end(ap);
    return ERR_INVALID;
}

static enum err reject_if(struct export_apply *a, const char *why)
{
    return why ? reject(a, "%s", why) : OK;
}

static int64_t time_or_none(const struct field *field)
{
    return field->given == GIVEN_VALUE ? field->time_ms : TIME_NONE;
}

static struct str text_or_none(const struct field *field)
{
    return field->given == GIVEN_VALUE ? field->text : (struct str){NULL, 0};
}

static int64_t add_limited(int64_t sum, int64_t more)
{
    return more < AUTHOR_GAINED_MAX - sum ? sum + more : AUTHOR_GAINED_MAX;
}

/* ---- the author ---- */

static enum err check_missing(struct export_apply *a, const struct uuid *id)
{
    struct author existing;
    bool is_erased = false;
    enum err err = store_find_author(a->options.store, &a->arena, id, &existing);
    if (err != ERR_NOT_FOUND)
        return err ? err
                   : reject(
                         a,
                         "the database already has this author: import the export into another database, "
                         "or delete the author with viewtally author erase and import with --allow-erased");
    err = store_find_tombstone(a->options.store, id, &is_erased);
    if (err || !is_erased)
        return err;
    return a->options.allows_erased
               ? store_delete_tombstone(a->options.store, id)
               : reject(a, "this author was erased (to create the author again, import with --allow-erased)");
}

static enum err note_import(struct export_apply *a)
{
    const struct audit_note note = {
        .author_row = a->author.row, .at = a->options.now, .action = AUDIT_AUTHOR_IMPORTED};
    return store_insert_audit(a->options.store, &note, a->options.by);
}

static enum err apply_author(struct export_apply *a, const struct exported_author *record)
{
    if (record->version.count != EXPORT_VERSION)
        return reject(a, "the export has format %lld, and this version of viewtally reads format %d",
                      (long long)record->version.count, EXPORT_VERSION);
    enum err err = check_missing(a, &record->id.id);
    if (err)
        return err;
    a->author = (struct author){.id = record->id.id,
                                .name = record->name.text,
                                .plan_active = record->plan_active.flag,
                                .created_at = record->created_at.time_ms};
    err = store_insert_author(a->options.store, &a->author);
    if (!err)
        err = store_touch_author(a->options.store, a->author.row, time_or_none(&record->views_refreshed_at));
    return err ? err : note_import(a);
}

/* ---- apps and keys ---- */

/* Registers a missing app as a removed app, so that the keys of the app belong to the same app as before. The
 * app cannot become usable, because an export contains neither its secret nor its redirect URIs. */
static enum err apply_app(struct export_apply *a, const struct exported_app *record)
{
    struct app_record app;
    enum err err = store_find_app(a->options.store, &a->arena, record->client_id.text, &app);
    const struct str home_url = text_or_none(&record->home_url);
    if (!err && (!str_eq(app.name, record->name.text) || !app.home_url.p != !home_url.p ||
                 !str_eq(app.home_url, home_url)))
        return reject(a, "client_id belongs to an app with another name or home_url in this database");
    if (err != ERR_NOT_FOUND)
        return err;
    app = (struct app_record){.client_id = record->client_id.text,
                              .name = record->name.text,
                              .home_url = home_url,
                              .created_at = a->options.now,
                              .removed_at = TIME_NONE};
    err = store_insert_app(a->options.store, &app);
    return err ? err : store_remove_app(a->options.store, app.row, a->options.now);
}

static enum err find_app_row(struct export_apply *a, const struct field *client_id, int64_t *row)
{
    struct app_record app;
    *row = 0;
    if (client_id->given != GIVEN_VALUE)
        return OK;
    enum err err = store_find_app(a->options.store, &a->arena, client_id->text, &app);
    if (err == ERR_NOT_FOUND)
        return reject(a, "client_id is not the client_id of a preceding app line");
    *row = app.row;
    return err;
}

static enum err apply_key(struct export_apply *a, const struct exported_key *record)
{
    uint8_t hash[KEY_HASH_LEN];
    struct api_key key = {.author_row = a->author.row,
                          .id = record->id.id,
                          .name = record->name.text,
                          .created_at = record->created_at.time_ms,
                          .last_used_at = time_or_none(&record->last_used_at),
                          .revoked_at = time_or_none(&record->revoked_at)};
    if (!export_hex_parse(record->hash.text, hash, sizeof hash))
        return reject(a, "hash is not 64 lower-case hexadecimal digits");
    memcpy(key.suffix, record->suffix.text.p, sizeof key.suffix);
    enum err err = find_app_row(a, &record->client_id, &key.app_row);
    if (err)
        return err;
    err = store_restore_key(a->options.store, &key, hash);
    if (err == ERR_EXISTS)
        return reject(a, "the database has a key with this id or hash");
    a->summary.keys++;
    return err;
}

/* ---- books ---- */

static enum err check_author(struct export_apply *a, const struct field *author_id)
{
    return author_id->given == GIVEN_VALUE && uuid_eq(&author_id->id, &a->author.id)
               ? OK
               : reject(a, "author_id is not the author of the export");
}

static enum err apply_book(struct export_apply *a, const struct book_record *record)
{
    struct book book;
    enum err err = check_author(a, &record->author_id);
    if (err)
        return err;
    if (record->title.given != GIVEN_VALUE || record->subtitle.given != GIVEN_VALUE ||
        record->created_at.given != GIVEN_VALUE)
        return reject(a, "title, subtitle or created_at is missing");
    err = store_find_book(a->options.store, &a->arena, &record->id.id, &book);
    if (err != ERR_NOT_FOUND)
        return err ? err : reject(a, "the database has a book with this id");
    book = (struct book){.author_row = a->author.row,
                         .id = record->id.id,
                         .title = record->title.text,
                         .subtitle = record->subtitle.text,
                         .created_at = record->created_at.time_ms};
    a->summary.books++;
    return store_insert_book(a->options.store, &book);
}

/* ---- videos ---- */

static enum err find_book_row(struct export_apply *a, const struct field *book_id, int64_t *row)
{
    struct book book;
    *row = 0;
    if (book_id->given != GIVEN_VALUE)
        return OK;
    enum err err = store_find_book(a->options.store, &a->arena, &book_id->id, &book);
    if (err == ERR_NOT_FOUND || (!err && book.author_row != a->author.row))
        return reject(a, "book_id is not a book of the export");
    *row = book.row;
    return err;
}

/* Checks the video line. apply_state() inserts the video, because its state is in the next line. */
static enum err check_video(struct export_apply *a, const struct video_record *record)
{
    struct video video;
    enum err err = check_author(a, &record->author_id);
    if (!err && (record->book_id.given == GIVEN_NOT || record->title.given == GIVEN_NOT ||
                 record->thumbnail_url.given == GIVEN_NOT))
        err = reject(a, "book_id, title or thumbnail_url is missing");
    if (!err)
        err = reject_if(a, export_check_posts(record));
    if (err)
        return err;
    err = store_find_video(a->options.store, &a->arena, &record->id.id, &video);
    return err == ERR_NOT_FOUND ? OK : err ? err : reject(a, "the database has a video with this id");
}

static enum err make_video(struct export_apply *a, const struct exported_state *state, struct video *video)
{
    const struct video_record *record = &a->video.video;
    *video = (struct video){.author_row = a->author.row,
                            .id = record->id.id,
                            .title = text_or_none(&record->title),
                            .thumbnail_url = text_or_none(&record->thumbnail_url),
                            .posted_at = TIME_NONE,
                            .post_count = record->post_count};
    for (size_t i = 0; i < record->post_count; i++) {
        const struct post_record *post = &record->posts[i];
        video->posts[i] = (struct post){.platform = post->platform.platform,
                                        .post_id = post->post_id.text,
                                        .url = text_or_none(&post->url),
                                        .posted_at = post->posted_at.time_ms};
        if (!i || post->posted_at.time_ms < video->posted_at)
            video->posted_at = post->posted_at.time_ms;
    }
    enum err err = reject_if(a, export_check_state(state, video, a->options.now));
    return err ? err : find_book_row(a, &record->book_id, &video->book_row);
}

static enum err write_posts(struct export_apply *a, const struct exported_state *state,
                            const struct video *video)
{
    const struct exported_post *posts = state->posts.items;
    enum err err = OK;
    for (size_t i = 0; i < video->post_count && !err; i++) {
        const struct post *post = &video->posts[i];
        const bool has_source = posts[i].views_source.given == GIVEN_VALUE && posts[i].views_source.count;
        err = store_put_post_key(a->options.store, post->platform, post->post_id, video->row);
        if (err == ERR_EXISTS)
            return reject(a, "a post_id belongs to another video");
        if (err || (!has_source && posts[i].resolved_id.given != GIVEN_VALUE))
            continue;
        const struct platform_post found = {.platform = post->platform,
                                            .post_id = post->post_id,
                                            .resolved_id = text_or_none(&posts[i].resolved_id),
                                            .views_source = has_source ? (int)posts[i].views_source.count : 0,
                                            .missed_since = TIME_NONE,
                                            .requested_at = TIME_NONE};
        err = store_put_platform_post(a->options.store, &found);
    }
    return err;
}

/* Adds the daily gains of a video to the author's totals. */
static void add_totals(struct export_apply *a, size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        const struct day_gain *day = &a->days.items[i];
        while (at < a->totals.count && a->totals.items[at].date < day->date)
            at++;
        if (at == a->totals.count || a->totals.items[at].date != day->date) {
            (void)VEC_ADD(&a->totals);
            memmove(&a->totals.items[at + 1], &a->totals.items[at],
                    (a->totals.count - 1 - at) * sizeof a->totals.items[0]);
            a->totals.items[at] = (struct day_total){.date = day->date};
        }
        a->totals.items[at].gained = add_limited(a->totals.items[at].gained, day->gained);
    }
}

static enum err apply_state(struct export_apply *a, const struct exported_state *state)
{
    struct store *store = a->options.store;
    struct video video;
    enum err err = make_video(a, state, &video);
    if (err)
        return err;
    a->days.count = 0;
    VEC_RESERVE(&a->days, state->days.count + 1);
    err = reject_if(a, export_check_days(state, &video, a->days.items));
    if (!err)
        err = store_insert_video(store, &video);
    if (!err)
        err = write_posts(a, state, &video);
    if (!err)
        err = store_restore_gains(store, &a->arena, &video, a->days.items, state->days.count);
    if (!err)
        err = store_save_counts(store, &video, video.went_viral_at != TIME_NONE);
    add_totals(a, state->days.count);
    a->baselines = add_limited(a->baselines, video.baseline);
    a->summary.videos++;
    return err;
}

/* ---- gains of platforms ---- */

static int64_t total_of(const struct export_apply *a, int64_t day)
{
    for (size_t i = 0; i < a->totals.count; i++)
        if (a->totals.items[i].date == day)
            return a->totals.items[i].gained;
    return day == DAY_BASELINE ? a->baselines : 0;
}

static enum err apply_gains(struct export_apply *a, const struct exported_gains *record)
{
    const int64_t day = record->date.given == GIVEN_VALUE ? record->date.date : DAY_BASELINE;
    const int platform = (int)record->platform.platform;
    const int64_t gained = record->gained.count;
    if (day < a->gains_day || (day == a->gains_day && platform <= a->gains_platform))
        return reject(a, "the gains lines are not in ascending order of date and platform");
    if (day != a->gains_day)
        a->gains_sum = 0;
    a->gains_day = day;
    a->gains_platform = platform;
    if (!gained)
        return reject(a, "views is 0");
    if (gained > total_of(a, day) - a->gains_sum)
        return reject(a, day == DAY_BASELINE
                             ? "the baselines of the platforms are larger than those of the videos"
                             : "the platforms gained more views than the videos on this date");
    a->gains_sum += gained;
    return store_add_platform_gain(a->options.store, a->author.row, (int32_t)day, record->platform.platform,
                                   gained);
}

/* ---- events ---- */

static enum err check_event_id(struct export_apply *a, const struct field *field, int64_t *id)
{
    if (!export_event_id_parse(field->text, id))
        return reject(a, "id is not evt_ and a positive number");
    if (*id <= a->last_event_id)
        return reject(a, "the ids of the events do not ascend");
    /* A new event gets an id above all existing ids, so a high id would raise the ids of all later events, of
     * all authors. */
    if (!a->options.new_event_ids && *id > a->options.now + EVENT_ID_AHEAD_DAYS * DAY_MS)
        return reject(a,
                      "id is above evt_%lld, the highest id that an import accepts at present: import with "
                      "--new-event-ids (clients then receive the author's events once more)",
                      (long long)(a->options.now + EVENT_ID_AHEAD_DAYS * DAY_MS));
    a->last_event_id = *id;
    return OK;
}

static enum err apply_event(struct export_apply *a, const struct exported_event *record)
{
    struct event event = {0};
    struct video video;
    enum err err = check_event_id(a, &record->id, &event.id);
    if (err)
        return err;
    err = store_find_video(a->options.store, &a->arena, &record->video_id.id, &video);
    if (err == ERR_NOT_FOUND || (!err && video.author_row != a->author.row))
        return reject(a, "video_id is not a video of the export");
    if (!err)
        err = reject_if(a, export_check_event(record, &video, &event));
    if (err)
        return err;
    a->summary.events++;
    return a->options.new_event_ids ? store_insert_event(a->options.store, &event, a->options.now)
                                    : store_restore_event(a->options.store, &event);
}

/* ---- finishing the author ---- */

static enum err apply_end(struct export_apply *a, const struct export_end *record)
{
    uint8_t digest[EXPORT_DIGEST_LEN];
    (void)crypto_hash_sha256_final(&a->hash, a->summary.digest);
    if (record->lines.count != a->summary.lines)
        return reject(a,
                      "%lld lines precede this one, but the export was written with %lld: lines are missing "
                      "or were added",
                      (long long)a->summary.lines, (long long)record->lines.count);
    if (!export_hex_parse(record->sha256.text, digest, sizeof digest) ||
        memcmp(digest, a->summary.digest, sizeof digest) != 0)
        return reject(a, "sha256 does not match the preceding lines: the export is damaged or was edited");
    a->is_ended = true;
    return OK;
}

enum err export_apply_finish(struct export_apply *a, struct str *reason, int64_t *shared_event_id)
{
    struct export_summary written;
    CHECK(a->is_ended);
    *shared_event_id = 0;
    *reason = (struct str){NULL, 0};
    if (a->options.new_event_ids)
        return OK;
    enum err err = store_find_shared_event_id(a->options.store, a->author.row, shared_event_id);
    if (err != ERR_NOT_FOUND)
        return err;
    err = export_author(a->options.store, &a->author.id, NULL, NULL, &written);
    if (!err && memcmp(written.digest, a->summary.digest, sizeof written.digest) != 0)
        *reason = STR("an export of what was imported would differ, so nothing was imported: was the file "
                      "written by viewtally author export?");
    return err;
}

/* ---- reading lines and checking their order ---- */

static int rank_of(enum export_line_kind kind)
{
    static const int ranks[EXPORT_LINE_KINDS] = {
        [EXPORT_AUTHOR] = 0, [EXPORT_APP] = 1,   [EXPORT_KEY] = 1,   [EXPORT_BOOK] = 2, [EXPORT_VIDEO] = 3,
        [EXPORT_STATE] = 3,  [EXPORT_GAINS] = 4, [EXPORT_EVENT] = 5, [EXPORT_END] = 6,
    };
    return ranks[kind];
}

static enum err check_order(struct export_apply *a, enum export_line_kind kind)
{
    const bool is_first = a->summary.lines == 0;
    if (is_first != (kind == EXPORT_AUTHOR))
        return reject(a, "an export has one author, in its first line");
    if (is_first)
        return OK;
    if (rank_of(kind) < rank_of(a->previous))
        return reject(a, "the lines of the export are not in the required order");
    if ((kind == EXPORT_STATE) != (a->previous == EXPORT_VIDEO))
        return reject(a, "a video and its state are not in two adjacent lines");
    return OK;
}

/* Applies a book or checks a video. Their lines have the same format as in other imports. */
static enum err apply_record(struct export_apply *a, struct str line)
{
    struct str why;
    if (!record_parse(a->records, line, &a->video, &why))
        return reject(a, "%.*s", (int)why.len, why.p);
    return a->video.kind == RECORD_BOOK ? apply_book(a, &a->video.book) : check_video(a, &a->video.video);
}

static enum err apply_kind(struct export_apply *a, const struct export_record *record, struct str line)
{
    switch (record->kind) {
    case EXPORT_AUTHOR: return apply_author(a, &record->author);
    case EXPORT_APP: return apply_app(a, &record->app);
    case EXPORT_KEY: return apply_key(a, &record->key);
    case EXPORT_BOOK:
    case EXPORT_VIDEO: return apply_record(a, line);
    case EXPORT_STATE: return apply_state(a, &record->state);
    case EXPORT_GAINS: return apply_gains(a, &record->gains);
    case EXPORT_EVENT: return apply_event(a, &record->event);
    case EXPORT_END: return apply_end(a, &record->end);
    case EXPORT_LINE_KINDS: break;
    }
    return ERR_INTERNAL;
}

static enum err apply_line(struct export_apply *a, struct str line)
{
    struct export_record record;
    struct str why;
    if (!export_record_parse(a->exports, line, &record, &why))
        return reject(a, "%.*s", (int)why.len, why.p);
    enum err err = check_order(a, record.kind);
    if (!err)
        err = apply_kind(a, &record, line);
    if (err || record.kind == EXPORT_END)
        return err;
    (void)crypto_hash_sha256_update(&a->hash, (const uint8_t *)line.p, line.len);
    (void)crypto_hash_sha256_update(&a->hash, (const uint8_t *)"\n", 1);
    a->summary.lines++;
    a->previous = record.kind;
    return OK;
}

enum err export_apply_line(struct export_apply *a, struct str line, struct str *reason)
{
    *reason = (struct str){NULL, 0};
    arena_reset(&a->arena);
    a->reason[0] = '\0';
    enum err err = apply_line(a, line);
    if (!a->reason[0])
        return err;
    *reason = str_from_cstr(a->reason);
    return OK;
}
