/* Each upsert checks the whole line against the database before it writes, so a rejected line changes
 * nothing. A line without a change writes nothing, so importing a file again changes nothing. */
#include "import/upserts.h"

#include "base/check.h"
#include "rules/comparables.h"
#include "store/erase.h"

enum { ARENA_BLOCK = 32 * 1024 };

void upserts_init(struct upserts *u, struct store *store, const struct step_rules *rules, int64_t now_ms,
                  const struct actor *by)
{
    *u = (struct upserts){.store = store, .rules = *rules, .now = now_ms, .by = by};
    arena_init(&u->arena, ARENA_BLOCK);
}

void upserts_fini(struct upserts *u)
{
    arena_fini(&u->arena);
}

void upserts_begin(struct upserts *u)
{
    u->touched_author = 0;
    memset(u->comparisons, 0, sizeof u->comparisons);
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

static enum err touch_author(struct upserts *u, int64_t author_row)
{
    if (u->touched_author == author_row)
        return OK;
    u->touched_author = author_row;
    return store_touch_author(u->store, author_row, TIME_NONE);
}

/* Looks up the author of a book or video. An existing row must belong to the author that the line names. */
static enum err find_owner(struct upserts *u, const struct field *author_id, bool exists, int64_t *author_row,
                           struct str *reason)
{
    struct author author;
    if (author_id->given == GIVEN_NOT)
        return exists ? OK : reject(reason, STR("author_id is missing"));
    enum err err = store_find_author(u->store, &u->arena, &author_id->id, &author);
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

static enum err apply_author(struct upserts *u, const struct author_record *record, struct str *reason)
{
    struct author author = {.id = record->id.id, .plan_active = true, .created_at = u->now};
    enum err err = store_find_author(u->store, &u->arena, &record->id.id, &author);
    bool created = err == ERR_NOT_FOUND, changed;
    if (err && !created)
        return err;
    if (created && record->name.given == GIVEN_NOT)
        return reject(reason, STR("name is missing"));
    bool is_erased = false;
    err = created ? store_find_tombstone(u->store, &author.id, &is_erased) : OK;
    if (err || is_erased)
        return err ? err
                   : reject(reason, STR("this author was erased (to create the author again, run viewtally "
                                        "author add --id)"));
    changed = set_text(&author.name, &record->name, STR(""));
    if (record->plan_active.given == GIVEN_VALUE && record->plan_active.flag != author.plan_active) {
        author.plan_active = record->plan_active.flag;
        changed = true;
    }
    count(&u->counts[RECORD_AUTHOR], created, changed);
    if (created)
        return store_insert_author(u->store, &author);
    return changed ? store_update_author(u->store, &author, u->now, u->by) : OK;
}

static enum err apply_book(struct upserts *u, const struct book_record *record, struct str *reason)
{
    struct book old = {.id = record->id.id, .subtitle = STR(""), .created_at = u->now};
    enum err err = store_find_book(u->store, &u->arena, &record->id.id, &old);
    bool created = err == ERR_NOT_FOUND, changed;
    if (err && !created)
        return err;
    struct book book = old;
    err = find_owner(u, &record->author_id, !created, &book.author_row, reason);
    if (err)
        return err;
    if (created && record->title.given == GIVEN_NOT)
        return reject(reason, STR("title is missing"));
    changed = set_text(&book.title, &record->title, STR(""));
    changed = set_text(&book.subtitle, &record->subtitle, STR("")) || changed;
    changed = set_time(&book.created_at, &record->created_at) || changed;
    count(&u->counts[RECORD_BOOK], created, changed);
    if (!created && !changed)
        return OK;
    err = created ? store_insert_book(u->store, &book) : store_update_book(u->store, &old, &book);
    return err ? err : touch_author(u, book.author_row);
}

/* ---- videos ---- */

static enum err set_book(struct upserts *u, const struct field *book_id, struct video *video, bool *changed,
                         struct str *reason)
{
    struct book book = {0};
    if (book_id->given == GIVEN_NOT)
        return OK;
    if (book_id->given == GIVEN_VALUE) {
        enum err err = store_find_book(u->store, &u->arena, &book_id->id, &book);
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

static enum err reject_post(struct upserts *u, struct str *reason, size_t i, const char *problem)
{
    return reject(reason, arena_printf(&u->arena, "posts[%zu].%s", i, problem));
}

/* Checks that the post id is unused or belongs to this video. The row of a new video is 0. */
static enum err check_post_id(struct upserts *u, const struct video *video, const struct post_record *record,
                              size_t i, struct str *reason)
{
    struct post_owner owner;
    enum err err = store_find_post(u->store, record->platform.platform, record->post_id.text, &owner);
    if (err == ERR_NOT_FOUND)
        return OK;
    if (err)
        return err;
    return owner.video_row == video->row ? OK : reject_post(u, reason, i, "post_id belongs to another video");
}

/* Applies the i-th post of the line to `video`. */
static enum err set_post(struct upserts *u, const struct post_record *record, size_t i, struct video *video,
                         bool *changed, struct str *reason)
{
    struct post *post = find_post(video, record->platform.platform);
    if (!post && record->post_id.given == GIVEN_NOT)
        return reject_post(u, reason, i, "post_id is missing");
    if (!post && record->posted_at.given == GIVEN_NOT)
        return reject_post(u, reason, i, "posted_at is missing");
    if (record->post_id.given == GIVEN_VALUE) {
        enum err err = check_post_id(u, video, record, i, reason);
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

static enum err set_posts(struct upserts *u, const struct video_record *record, struct video *video,
                          bool *changed, struct str *reason)
{
    for (size_t i = 0; i < record->post_count; i++) {
        enum err err = set_post(u, &record->posts[i], i, video, changed, reason);
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
static enum err initial_comparison(struct upserts *u, int64_t author_row, struct viral_comparison *out)
{
    const size_t slot = (size_t)author_row % COMPARISONS_CACHED;
    if (u->comparisons[slot].author_row != author_row) {
        struct comparables base;
        enum err err = comparables_read(&base, u->store, &u->rules, author_row, u->now);
        if (err)
            return err;
        comparables_sort(&base);
        u->comparisons[slot].author_row = author_row;
        u->comparisons[slot].viral = comparables_compare(&base, &u->rules, NEW_VIDEO_ROW);
    }
    *out = u->comparisons[slot].viral;
    return OK;
}

/* Writes the keys of added posts and of posts with a new id. An upsert never removes a post. */
static enum err write_post_keys(struct upserts *u, struct video *old, const struct video *video)
{
    enum err err = OK;
    for (size_t i = 0; i < video->post_count && !err; i++) {
        const struct post *post = &video->posts[i], *was = find_post(old, post->platform);
        if (was && str_eq(was->post_id, post->post_id))
            continue;
        if (was)
            err = store_delete_post_key(u->store, was->platform, was->post_id);
        if (!err)
            err = store_put_post_key(u->store, post->platform, post->post_id, video->row);
    }
    return err;
}

static enum err create_video(struct upserts *u, struct video *video)
{
    enum err err = initial_comparison(u, video->author_row, &video->viral);
    return err ? err : store_insert_video(u->store, video);
}

static enum err find_video(struct upserts *u, const struct uuid *id, struct video *out)
{
    *out = (struct video){
        .id = *id,
        .posted_at = TIME_NONE,
        .first_reading_at = TIME_NONE,
        .updated_at = TIME_NONE,
        .went_viral_at = TIME_NONE,
    };
    return store_find_video(u->store, &u->arena, id, out);
}

static enum err apply_video(struct upserts *u, const struct video_record *record, struct str *reason)
{
    struct video old, video;
    enum err err = find_video(u, &record->id.id, &old);
    bool created = err == ERR_NOT_FOUND, changed = false;
    if (err && !created)
        return err;
    video = old;
    err = find_owner(u, &record->author_id, !created, &video.author_row, reason);
    if (err)
        return err;
    err = set_book(u, &record->book_id, &video, &changed, reason);
    if (err)
        return err;
    err = set_posts(u, record, &video, &changed, reason);
    if (err)
        return err;
    changed = set_text(&video.title, &record->title, (struct str){NULL, 0}) || changed;
    changed = set_text(&video.thumbnail_url, &record->thumbnail_url, (struct str){NULL, 0}) || changed;
    count(&u->counts[RECORD_VIDEO], created, changed);
    if (!created && !changed)
        return OK;
    err = created ? create_video(u, &video) : store_update_video(u->store, &old, &video);
    if (err)
        return err;
    err = write_post_keys(u, &old, &video);
    return err ? err : touch_author(u, video.author_row);
}

enum err upserts_apply(struct upserts *u, const struct record *record, struct str *reason)
{
    enum err err = ERR_INTERNAL;
    arena_reset(&u->arena);
    *reason = (struct str){NULL, 0};
    switch (record->kind) {
    case RECORD_AUTHOR: err = apply_author(u, &record->author, reason); break;
    case RECORD_BOOK: err = apply_book(u, &record->book, reason); break;
    case RECORD_VIDEO: err = apply_video(u, &record->video, reason); break;
    case RECORD_READING: CHECK(record->kind != RECORD_READING);
    }
    return reason->p ? OK : err;
}
