/* Writes an export: one function per type of line. The members of a line are always in the same order. */
#include "import/author_export.h"

#include "base/json.h"
#include "base/number.h"

#include <sodium.h>

enum {
    FLUSH_BYTES = 64 * 1024,
    LINES_MAX = 2 * 1024 * 1024, /* room for FLUSH_BYTES and one line, which has at most 1 MiB */
};

struct export_writer {
    export_write_fn *write;
    void *ctx;
    struct export_summary *summary;
    crypto_hash_sha256_state hash;
    struct buf lines; /* lines that have not been written */
    struct uuid author_id;
    struct buf last_client_id; /* the app of the previous key */
};

static enum err flush(struct export_writer *w)
{
    const struct str lines = buf_str(&w->lines);
    if (w->lines.failed)
        return ERR_FULL;
    enum err err = w->write && lines.len ? w->write(w->ctx, lines) : OK;
    buf_reset(&w->lines, LINES_MAX);
    return err;
}

/* Begins a line of this type. Sets `*start` to the offset of the line in the buffer. */
static struct buf *begin_line(struct export_writer *w, struct str type, size_t *start)
{
    struct buf *b = &w->lines;
    *start = b->len;
    json_open(b, '{');
    JSON_STR(b, "type", type);
    return b;
}

static enum err end_line(struct export_writer *w, size_t start)
{
    struct buf *b = &w->lines;
    buf_append(b, STR("}\n"));
    if (b->failed)
        return ERR_FULL;
    (void)crypto_hash_sha256_update(&w->hash, (const uint8_t *)b->p + start, b->len - start);
    w->summary->lines++;
    return b->len >= FLUSH_BYTES ? flush(w) : OK;
}

static void json_hex(struct buf *b, const uint8_t *bytes, size_t count)
{
    char text[2 * EXPORT_DIGEST_LEN];
    hex_format(bytes, count, text);
    json_str(b, str_make(text, 2 * count));
}

/* ---- lines of the export ---- */

static enum err write_author(void *ctx, const struct author *author)
{
    struct export_writer *w = ctx;
    size_t start;
    struct buf *b = begin_line(w, STR("author"), &start);
    w->author_id = author->id;
    JSON_I64(b, "export", EXPORT_VERSION);
    JSON_UUID(b, "id", &author->id);
    JSON_STR(b, "name", author->name);
    JSON_BOOL(b, "plan_active", author->plan_active);
    JSON_TIME(b, "created_at", author->created_at);
    JSON_TIME_OR_NULL(b, "views_refreshed_at", author->views_refreshed_at != TIME_NONE,
                      author->views_refreshed_at);
    return end_line(w, start);
}

/* Writes the app of a key, unless it is also the app of the previous key. The keys of an app need not be
 * adjacent, so an app can have several equal lines; importing a line again changes nothing. */
static enum err write_app(struct export_writer *w, const struct archived_app *app)
{
    size_t start;
    if (w->last_client_id.len && str_eq(buf_str(&w->last_client_id), app->client_id))
        return OK;
    buf_reset(&w->last_client_id, LINES_MAX);
    buf_append(&w->last_client_id, app->client_id);
    struct buf *b = begin_line(w, STR("app"), &start);
    JSON_STR(b, "client_id", app->client_id);
    JSON_STR(b, "name", app->name);
    JSON_STR(b, "home_url", app->home_url);
    return end_line(w, start);
}

static enum err write_key(void *ctx, const struct archived_key *row)
{
    struct export_writer *w = ctx;
    const struct api_key *key = &row->key;
    size_t start;
    enum err err = row->app.client_id.p ? write_app(w, &row->app) : OK;
    if (err)
        return err;
    struct buf *b = begin_line(w, STR("key"), &start);
    JSON_UUID(b, "id", &key->id);
    JSON_STR(b, "name", key->name);
    JSON_KEY(b, "hash");
    json_hex(b, row->hash, sizeof row->hash);
    JSON_STR(b, "suffix", str_make(key->suffix, sizeof key->suffix));
    JSON_STR(b, "client_id", row->app.client_id);
    JSON_TIME(b, "created_at", key->created_at);
    JSON_TIME_OR_NULL(b, "last_used_at", key->last_used_at != TIME_NONE, key->last_used_at);
    JSON_TIME_OR_NULL(b, "revoked_at", key->revoked_at != TIME_NONE, key->revoked_at);
    w->summary->keys++;
    return end_line(w, start);
}

static enum err write_book(void *ctx, const struct book *book)
{
    struct export_writer *w = ctx;
    size_t start;
    struct buf *b = begin_line(w, STR("book"), &start);
    JSON_UUID(b, "id", &book->id);
    JSON_UUID(b, "author_id", &w->author_id);
    JSON_STR(b, "title", book->title);
    JSON_STR(b, "subtitle", book->subtitle);
    JSON_TIME(b, "created_at", book->created_at);
    w->summary->books++;
    return end_line(w, start);
}

static void append_posts(struct buf *b, const struct video *video)
{
    JSON_KEY(b, "posts");
    json_open(b, '[');
    for (size_t i = 0; i < video->post_count; i++) {
        const struct post *post = &video->posts[i];
        json_open(b, '{');
        JSON_STR(b, "platform", platform_name(post->platform));
        JSON_STR(b, "post_id", post->post_id);
        JSON_STR(b, "url", post->url);
        JSON_TIME(b, "posted_at", post->posted_at);
        json_close(b, '}');
    }
    json_close(b, ']');
}

static enum err write_video_line(struct export_writer *w, const struct archived_video *row)
{
    const struct video *video = row->video;
    size_t start;
    struct buf *b = begin_line(w, STR("video"), &start);
    JSON_UUID(b, "id", &video->id);
    JSON_UUID(b, "author_id", &w->author_id);
    if (row->book_id)
        JSON_UUID(b, "book_id", row->book_id);
    else
        JSON_NULL(b, "book_id");
    JSON_STR(b, "title", video->title);
    JSON_STR(b, "thumbnail_url", video->thumbnail_url);
    append_posts(b, video);
    return end_line(w, start);
}

/* ---- the state of a video ---- */

static void append_post_states(struct buf *b, const struct archived_video *row)
{
    static const char *const names[COUNT_KINDS] = {"views", "likes", "comments", "shares", "saves"};
    JSON_KEY(b, "posts");
    json_open(b, '[');
    for (size_t i = 0; i < row->video->post_count; i++) {
        const struct post *post = &row->video->posts[i];
        json_open(b, '{');
        JSON_STR(b, "platform", platform_name(post->platform));
        JSON_TIME_OR_NULL(b, "views_updated_at", post->updated_at != TIME_NONE, post->updated_at);
        for (int k = 0; k < COUNT_KINDS; k++) {
            json_key(b, str_from_cstr(names[k]));
            if (post->counts[k] == COUNT_NONE)
                json_null(b);
            else
                json_i64(b, post->counts[k]);
        }
        if (row->posts[i].views_source)
            JSON_I64(b, "views_source", row->posts[i].views_source);
        if (row->posts[i].resolved_id.p)
            JSON_STR(b, "resolved_id", row->posts[i].resolved_id);
        json_close(b, '}');
    }
    json_close(b, ']');
}

static void append_milestones(struct buf *b, const struct video *video)
{
    JSON_KEY(b, "milestones");
    json_open(b, '[');
    for (size_t i = 0; i < video->milestone_count; i++) {
        json_open(b, '{');
        JSON_I64(b, "views", video->milestones[i].value);
        JSON_TIME(b, "reached_at", video->milestones[i].reached_at);
        json_close(b, '}');
    }
    json_close(b, ']');
}

static void append_days(struct buf *b, const struct archived_video *row)
{
    JSON_KEY(b, "days");
    json_open(b, '[');
    for (size_t i = 0; i < row->day_count; i++) {
        json_open(b, '{');
        JSON_DATE(b, "date", row->days[i].date);
        JSON_I64(b, "views", row->days[i].gained);
        json_close(b, '}');
    }
    json_close(b, ']');
}

static void append_viral(struct buf *b, const struct video *video)
{
    const bool is_viral = video->went_viral_at != TIME_NONE;
    JSON_I64(b, "threshold", video->viral.threshold);
    JSON_I64_OR_NULL(b, "author_median_views", video->viral.median != COUNT_NONE, video->viral.median);
    JSON_I64(b, "compared_videos", video->viral.compared);
    JSON_TIME_OR_NULL(b, "went_viral_at", is_viral, video->went_viral_at);
    JSON_I64_OR_NULL(b, "views_when_viral", is_viral, video->views_when_viral);
}

bool export_is_corrected(const struct video *video)
{
    const bool is_viral = video->went_viral_at != TIME_NONE;
    return (is_viral && video->views_when_viral > video->views) ||
           (video->milestone_count && video->milestones[video->milestone_count - 1].value > video->views);
}

static enum err write_state(struct export_writer *w, const struct archived_video *row)
{
    const struct video *video = row->video;
    size_t start;
    struct buf *b = begin_line(w, STR("state"), &start);
    JSON_UUID(b, "video_id", &video->id);
    JSON_I64(b, "baseline", video->baseline);
    JSON_TIME_OR_NULL(b, "first_reading_at", video->first_reading_at != TIME_NONE, video->first_reading_at);
    JSON_TIME_OR_NULL(b, "views_updated_at", video->updated_at != TIME_NONE, video->updated_at);
    append_viral(b, video);
    if (video->baseline_pending)
        JSON_BOOL(b, "baseline_pending", true);
    if (export_is_corrected(video))
        JSON_BOOL(b, "corrected", true);
    append_post_states(b, row);
    append_milestones(b, video);
    append_days(b, row);
    return end_line(w, start);
}

static enum err write_video(void *ctx, const struct archived_video *row)
{
    struct export_writer *w = ctx;
    enum err err = write_video_line(w, row);
    w->summary->videos++;
    return err ? err : write_state(w, row);
}

/* ---- gains and events ---- */

static enum err write_gain(void *ctx, const struct author_day *gain)
{
    struct export_writer *w = ctx;
    size_t start;
    if (!gain->gained) /* a correction has reduced the gain to 0 */
        return OK;
    struct buf *b = begin_line(w, STR("gains"), &start);
    if (gain->day == DAY_BASELINE)
        JSON_NULL(b, "date");
    else
        JSON_DATE(b, "date", gain->day);
    JSON_STR(b, "platform", platform_name(gain->platform));
    JSON_I64(b, "views", gain->gained);
    return end_line(w, start);
}

static enum err write_event(void *ctx, const struct event *event, const struct uuid *video_id)
{
    struct export_writer *w = ctx;
    const bool is_viral = event->type == EVENT_WENT_VIRAL;
    size_t start;
    struct buf *b = begin_line(w, STR("event"), &start);
    JSON_KEY(b, "id");
    json_comma(b);
    buf_printf(b, "\"evt_%lld\"", (long long)event->id);
    JSON_UUID(b, "video_id", video_id);
    JSON_STR(b, "event", is_viral ? STR("video.went_viral") : STR("video.milestone_reached"));
    JSON_TIME(b, "occurred_at", event->occurred_at);
    if (is_viral) {
        JSON_I64(b, "views", event->value);
        JSON_I64(b, "threshold", event->threshold);
        JSON_I64_OR_NULL(b, "author_median_views", event->median != COUNT_NONE, event->median);
    } else {
        JSON_I64(b, "milestone", event->value);
    }
    w->summary->events++;
    return end_line(w, start);
}

static enum err write_end(struct export_writer *w)
{
    struct buf *b = &w->lines;
    (void)crypto_hash_sha256_final(&w->hash, w->summary->digest);
    json_open(b, '{');
    JSON_STR(b, "type", STR("end"));
    JSON_I64(b, "lines", w->summary->lines);
    JSON_KEY(b, "sha256");
    json_hex(b, w->summary->digest, sizeof w->summary->digest);
    buf_append(b, STR("}\n"));
    return flush(w);
}

enum err export_author(struct store *store, const struct uuid *author_id, export_write_fn *write, void *ctx,
                       struct export_summary *summary)
{
    struct export_writer w = {.write = write, .ctx = ctx, .summary = summary};
    const struct archive_reader reader = {.on_author = write_author,
                                          .on_key = write_key,
                                          .on_book = write_book,
                                          .on_video = write_video,
                                          .on_gain = write_gain,
                                          .on_event = write_event,
                                          .ctx = &w};
    *summary = (struct export_summary){0};
    buf_init(&w.lines, LINES_MAX);
    buf_init(&w.last_client_id, LINES_MAX);
    (void)crypto_hash_sha256_init(&w.hash);
    enum err err = store_read_archive(store, author_id, &reader);
    if (!err)
        err = write_end(&w);
    buf_fini(&w.lines);
    buf_fini(&w.last_client_id);
    return err;
}
