/* Reads heads from PostgreSQL. A head is the data that every request needs: the owner of its API key, with
 * the revisions of this author. The keys of one loop iteration share one statement. Heads have a link of
 * their own, so that long results of other reads do not delay them. */
#ifndef VT_STORE_PG_PG_HEADS_H
#define VT_STORE_PG_PG_HEADS_H

#include "store/pg/pg_links.h"
#include "store/read.h"

struct pg_heads;

/* Opens the link, which connects in the background. Reads are held until the link is up. */
MUST_USE enum err pg_heads_open(struct pg_heads **out, struct store *s, const struct store_options *options,
                                struct error *error);

/* Closes the link, then frees the struct on the loop. Does nothing if `heads` is NULL. Precondition: no read
 * is waiting. */
void pg_heads_close(struct pg_heads *heads);

struct pg_status pg_heads_get_status(const struct pg_heads *heads);
struct pg_counts pg_heads_get_counts(const struct pg_heads *heads);

/* See store_resolve_key() and store_find_changes(). pg_heads_find_changes() reads at most every 250 ms. */
enum next pg_heads_resolve(struct pg_heads *heads, struct store_read *read, const uint8_t hash[KEY_HASH_LEN],
                           struct key_owner *owner);
enum next pg_heads_find_changes(struct pg_heads *heads, struct store_read *read, struct list *waiting,
                                struct list *changed);

#endif
