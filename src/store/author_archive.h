/* Reads all data of an author for an export, and inserts events with the ids that they have in an export.
 * (The functions of write.h issue new ids.) The rules of write.h apply. */
#ifndef VT_STORE_AUTHOR_ARCHIVE_H
#define VT_STORE_AUTHOR_ARCHIVE_H

#include "store/author_days.h"
#include "store/write.h"

/* The app that a key was issued to. */
struct archived_app {
    struct str client_id, name; /* client_id.p == NULL: the key belongs to no app */
    struct str home_url;        /* p == NULL: none */
};

struct archived_key {
    struct api_key key;
    uint8_t hash[KEY_HASH_LEN];
    struct archived_app app;
};

/* The data about a post that come from its platform (struct platform_post). */
struct archived_post {
    struct str resolved_id; /* p == NULL: none */
    int views_source;
};

struct archived_video {
    const struct video *video;
    const struct uuid *book_id;  /* NULL: none */
    const struct day_gain *days; /* all days with a gain, ascending */
    size_t day_count;
    struct archived_post posts[PLATFORM_COUNT]; /* parallel to video->posts */
};

/* Reads an author in one snapshot. Calls on_author once, and then the other functions in this order: keys by
 * (created_at, row), books by (created_at, id) descending, videos by row, gains of platforms by (day,
 * platform), events by id. If a function returns an error, the read ends and returns it. The functions must
 * not call the store. Returns ERR_NOT_FOUND if there is no such author. Can be called inside or outside of a
 * transaction. */
struct archive_reader {
    enum err (*on_author)(void *ctx, const struct author *author);
    enum err (*on_key)(void *ctx, const struct archived_key *key);
    enum err (*on_book)(void *ctx, const struct book *book);
    enum err (*on_video)(void *ctx, const struct archived_video *video);
    enum err (*on_gain)(void *ctx, const struct author_day *gain);
    enum err (*on_event)(void *ctx, const struct event *event, const struct uuid *video_id);
    void *ctx;
};
MUST_USE enum err store_read_archive(struct store *s, const struct uuid *author_id,
                                     const struct archive_reader *reader);

/* Inserts an event with the id event->id, and sets the author's last_event_id. All ids that are issued later
 * are higher. Precondition: event->id is higher than the id of every other event of the author. */
MUST_USE enum err store_restore_event(struct store *s, const struct event *event);

/* Finds the lowest event id that this author shares with another author. Returns ERR_NOT_FOUND if all ids
 * differ. They always differ unless an export was imported, because a database never issues an id twice. The
 * index of the events begins with the author, so this function runs one query for each other author. The
 * query reads the events of that author that are in the range of this author's ids. */
MUST_USE enum err store_find_shared_event_id(struct store *s, int64_t author_row, int64_t *id);

#endif
