/* Each upsert checks the whole line against the database before it writes, so a rejected line changes
 * nothing. A line without a change writes nothing, so importing a file again changes nothing. */
#include "import/upserts.h"

#include "base/check.h"
#include "rules/comparables.h"
#include "store/erase.h"

enum { ARENA_BLOCK = 32 * 1024 };

void upserts_init(struct upserts *e, struct store *store, const struct step_rules *rules, int64_t now_ms,
                  const struct actor *by)
{
    *e = (struct upserts){.store = store, .rules = *rules, .now = now_ms, .by = by};
    arena_init(&e->arena, ARENA_BLOCK);
}

void upserts_fini(struct upserts *e)
{
    arena_fini(&e->arena);
}

void upserts_begin(struct upserts *e)
{
    e->touched_author = 0;
    memset(e->comparisons, 0, sizeof e->comparisons);
}

/* Sets the reason for rejecting the line and returns ERR_INVALID, for which upserts_apply() returns OK: a
 * rejected line is not an error of the import. */
static enum err reject(struct str *out, struct str reason)
{
    *out = reason;
    return ERR_INVALID;
}

static bool set_text(struct str *to, const struct field *from, struct str null)
{
    if (from->given == GIVEN_NOT)
        return false;
    struct str value = from->given == GIVEN_NULL ? null : from->text;
    bool same = (to->p == NULL) == (value.p == NULL) && str_eq(*to, value);
    *to = value;
    return !same;
}

static bool set_time(int64_t *to, const struct field *from)
{
    if (from->given != GIVEN_VALUE || *to == from->time_ms)
        return false;
    *to = from->time_ms;
    return true;
}

static void count(struct upsert_counts *counts, bool created, bool changed)
{
    counts->created += created;
    counts->changed += !created && changed;
    counts->unchanged += !created && !changed;
}

static enum err touch_author(struct upserts *e, int64_t author_row)
{
    if (e->touched_author == author_row)
        return OK;
    e->touched_author = author_row;
    return store_touch_author(e->store, author_row, TIME_NONE);
}

/* Looks up the author of a book or video. An existing row must belong to the author that the line names. */
static enum err find_owner(struct upserts *e, const struct field *author_id, bool exists, int64_t *author_row,
                           struct str *reason)
{
    struct author author;
    if (author_id->given == GIVEN_NOT)
        return exists ? OK : reject(reason, STR("author_id is missing"));
    enum err err = store_find_author(e->store, &e->arena, &author_id->id, &author);
    if (err == ERR_NOT_FOUND)
        return reject(reason, STR("author_id is unknown"));
    if (err)
        return err;
    if (exists && author.row != *author_row)
        return reject(reason, STR("id belongs to another author"));
    *author_row = author.row;
    return OK;
}

/* ---- authors and books ---- */

static enum err apply_author(struct upserts *e, const struct author_record *record, struct str *reason)
{
    struct author author = {.id = record->id.id, .plan_active = true, .created_at = e->now};
    enum err err = store_find_author(e->store, &e->arena, &record->id.id, &author);
    bool created = err == ERR_NOT_FOUND, changed;
    if (err && !created)
        return err;
    if (created && record->name.given == GIVEN_NOT)
        return reject(reason, STR("name is missing"));
    bool is_erased = false;
    err = created ? store_find_tombstone(e->store, &author.id, &is_erased) : OK;
    if (err || is_erased)
        return err ? err
                   : reject(reason, STR("this author was erased (to create the author again, run viewtally "
                                        "author add --id)"));
    changed = set_text(&author.name, &record->name, STR(""));
    if (record->plan_active.given == GIVEN_VALUE && record->plan_active.flag != author.plan_active) {
        author.plan_active = record->plan_active.flag;
        changed = true;
    }
    count(&e->counts[RECORD_AUTHOR], created, changed);
    if (created)
        return store_insert_author(e->store, &author);
    return changed ? store_update_author(e->store, &author, e->now, e->by) : OK;
}

static enum err apply_book(struct upserts *e, const struct book_record *record, struct str *reason)
{
    struct book old = {.id = record->id.id, .subtitle = STR(""), .created_at = e->now};
    enum err err = store_find_book(e->store, &e->arena, &record->id.id, &old);
    bool created = err == ERR_NOT_FOUND, changed;
    if (err && !created)
        return err;
    struct book book = old;
    err = find_owner(e, &record->author_id, !created, &book.author_row, reason);
    if (err)
        return err;
    if (created && record->title.given == GIVEN_NOT)
        return reject(reason, STR("title is missing"));
    changed = set_text(&book.title, &record->title, STR(""));
    changed = set_text(&book.subtitle, &record->subtitle, STR("")) || changed;
    changed = set_time(&book.created_at, &record->created_at) || changed;
    count(&e->counts[RECORD_BOOK], created, changed);
    if (!created && !changed)
        return OK;
    err = created ? store_insert_book(e->store, &book) : store_update_book(e->store, &old, &book);
    return err ? err : touch_author(e, book.author_row);
}

/* ---- videos ---- */

static enum err set_book(struct upserts *e, const struct field *book_id, struct video *video, bool *changed,
                         struct str *reason)
{
    struct book book = {0};
    if (book_id->given == GIVEN_NOT)
        return OK;
    if (book_id->given == GIVEN_VALUE) {
        enum err err = store_find_book(e->store, &e->arena, &book_id->id, &book);
        if (err == ERR_NOT_FOUND)
            return reject(reason, STR("book_id is unknown"));
        if (err)
            return err;
        if (book.author_row != video->author_row)
            return reject(reason, STR("book_id belongs to another author"));
    }
    *changed = *changed || video->book_row != book.row;
    video->book_row = book.row;
    return OK;
}

static struct post *find_post(struct video *video, enum platform platform)
{
    for (size_t i = 0; i < video->post_count; i++)
        if (video->posts[i].platform == platform)
            return &video->posts[i];
    return NULL;
}

/* Inserts a post so that the posts stay ordered by platform. */
static struct post *add_post(struct video *video, enum platform platform)
{
    size_t i = video->post_count++;
    CHECK(video->post_count <= PLATFORM_COUNT);
    for (; i > 0 && video->posts[i - 1].platform > platform; i--)
        video->posts[i] = video->posts[i - 1];
    video->posts[i] = (struct post){
        .platform = platform,
        .updated_at = TIME_NONE,
        .counts = {COUNT_NONE, COUNT_NONE, COUNT_NONE, COUNT_NONE, COUNT_NONE},
    };
    return &video->posts[i];
}

static enum err reject_post(struct upserts *e, struct str *reason, size_t i, const char *problem)
{
    return reject(reason, arena_printf(&e->arena, "posts[%zu].%s", i, problem));
}

/* Checks that the post id is unused or belongs to this video. The row of a new video is 0. */
static enum err check_post_id(struct upserts *e, const struct video *video, const struct post_record *record,
                              size_t i, struct str *reason)
{
    struct post_owner owner;
    enum err err = store_find_post(e->store, record->platform.platform, record->post_id.text, &owner);
    if (err == ERR_NOT_FOUND)
        return OK;
    if (err)
        return err;
    return owner.video_row == video->row ? OK : reject_post(e, reason, i, "post_id belongs to another video");
}

/* Applies the i-th post of the line to `video`. */
static enum err set_post(struct upserts *e, const struct post_record *record, size_t i, struct video *video,
                         bool *changed, struct str *reason)
{
    struct post *post = find_post(video, record->platform.platform);
    if (!post && record->post_id.given == GIVEN_NOT)
        return reject_post(e, reason, i, "post_id is missing");
    if (!post && record->posted_at.given == GIVEN_NOT)
        return reject_post(e, reason, i, "posted_at is missing");
    if (record->post_id.given == GIVEN_VALUE) {
        enum err err = check_post_id(e, video, record, i, reason);
        if (err)
            return err;
    }
    if (!post) {
        post = add_post(video, record->platform.platform);
        *changed = true;
    }
    *changed = set_text(&post->post_id, &record->post_id, STR("")) || *changed;
    *changed = set_text(&post->url, &record->url, (struct str){NULL, 0}) || *changed;
    *changed = set_time(&post->posted_at, &record->posted_at) || *changed;
    return OK;
}

static enum err set_posts(struct upserts *e, const struct video_record *record, struct video *video,
                          bool *changed, struct str *reason)
{
    for (size_t i = 0; i < record->post_count; i++) {
        enum err err = set_post(e, &record->posts[i], i, video, changed, reason);
        if (err)
            return err;
    }
    video->posted_at = TIME_NONE;
    for (size_t i = 0; i < video->post_count; i++)
        if (i == 0 || video->posts[i].posted_at < video->posted_at)
            video->posted_at = video->posts[i].posted_at;
    return OK;
}

/* Returns the comparison of a new video with the author's videos that had readings before this import. */
static enum err initial_comparison(struct upserts *e, int64_t author_row, struct viral_comparison *out)
{
    const size_t slot = (size_t)author_row % COMPARISONS_CACHED;
    if (e->comparisons[slot].author_row != author_row) {
        struct comparables base;
        enum err err = comparables_read(&base, e->store, &e->rules, author_row, e->now);
        if (err)
            return err;
        comparables_sort(&base);
        e->comparisons[slot].author_row = author_row;
        e->comparisons[slot].viral = comparables_compare(&base, &e->rules, NEW_VIDEO_ROW);
    }
    *out = e->comparisons[slot].viral;
    return OK;
}

/* Writes the keys of added posts and of posts with a new id. An upsert never removes a post. */
static enum err write_post_keys(struct upserts *e, struct video *old, const struct video *video)
{
    enum err err = OK;
    for (size_t i = 0; i < video->post_count && !err; i++) {
        const struct post *post = &video->posts[i], *was = find_post(old, post->platform);
        if (was && str_eq(was->post_id, post->post_id))
            continue;
        if (was)
            err = store_delete_post_key(e->store, was->platform, was->post_id);
        if (!err)
            err = store_put_post_key(e->store, post->platform, post->post_id, video->row);
    }
    return err;
}

static enum err create_video(struct upserts *e, struct video *video)
{
    enum err err = initial_comparison(e, video->author_row, &video->viral);
    return err ? err : store_insert_video(e->store, video);
}

static enum err find_video(struct upserts *e, const struct uuid *id, struct video *out)
{
    *out = (struct video){
        .id = *id,
        .posted_at = TIME_NONE,
        .first_reading_at = TIME_NONE,
        .updated_at = TIME_NONE,
        .went_viral_at = TIME_NONE,
    };
    return store_find_video(e->store, &e->arena, id, out);
}

static enum err apply_video(struct upserts *e, const struct video_record *record, struct str *reason)
{
    struct video old, video;
    enum err err = find_video(e, &record->id.id, &old);
    bool created = err == ERR_NOT_FOUND, changed = false;
    if (err && !created)
        return err;
    video = old;
    err = find_owner(e, &record->author_id, !created, &video.author_row, reason);
    if (err)
        return err;
    err = set_book(e, &record->book_id, &video, &changed, reason);
    if (err)
        return err;
    err = set_posts(e, record, &video, &changed, reason);
    if (err)
        return err;
    changed = set_text(&video.title, &record->title, (struct str){NULL, 0}) || changed;
    changed = set_text(&video.thumbnail_url, &record->thumbnail_url, (struct str){NULL, 0}) || changed;
    count(&e->counts[RECORD_VIDEO], created, changed);
    if (!created && !changed)
        return OK;
    err = created ? create_video(e, &video) : store_update_video(e->store, &old, &video);
    if (err)
        return err;
    err = write_post_keys(e, &old, &video);
    return err ? err : touch_author(e, video.author_row);
}

enum err upserts_apply(struct upserts *e, const struct record *record, struct str *reason)
{
    enum err err = ERR_INTERNAL;
    arena_reset(&e->arena);
    *reason = (struct str){NULL, 0};
    switch (record->kind) {
    case RECORD_AUTHOR: err = apply_author(e, &record->author, reason); break;
    case RECORD_BOOK: err = apply_book(e, &record->book, reason); break;
    case RECORD_VIDEO: err = apply_video(e, &record->video, reason); break;
    case RECORD_READING: CHECK(record->kind != RECORD_READING);
    }
    return reason->p ? OK : err;
}
