/* The audit log: who did what to an author's account. Functions that create or revoke keys, change plans or
 * begin sessions write their entry themselves, in the same transaction, so they require a `struct actor`. The
 * rules of write.h apply. */
#ifndef VT_STORE_AUDIT_H
#define VT_STORE_AUDIT_H

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "store/read.h"

#include <stdint.h>

struct store;

enum {
    AUDIT_DAYS = 365, /* entries older than this are deleted */
    /* Maximum number of entries per author, UTC day and action, for sign-ins, new passwords, exports and
     * changes of webhooks. Further entries are not recorded. All other actions are always recorded. */
    AUDIT_REPEATS_A_DAY = 100
};

enum actor_kind { ACTOR_OPERATOR, ACTOR_AUTHOR, ACTOR_APP, ACTOR_KEY, ACTOR_REFRESH, ACTOR_KINDS };

/* Who makes a change. The struct contains its texts instead of pointing to them, so that it can be copied
 * into a job of the writer queue. */
struct actor {
    enum actor_kind kind;
    char name[96];    /* "": none */
    char address[64]; /* IP address of the client; "": none */
};

/* Creates an actor. Truncates a text that is too long, but not within a UTF-8 character. For a missing text
 * pass p == NULL. */
struct actor actor_make(enum actor_kind kind, struct str name, struct str address);

enum audit_action {
    AUDIT_KEY_CREATED,
    AUDIT_KEY_FIRST_USED,
    AUDIT_KEY_REVOKED,
    AUDIT_APP_CONNECTED,
    AUDIT_APP_DISCONNECTED,
    AUDIT_SIGNED_IN,
    AUDIT_PASSWORD_SET, /* by an invitation or on the account page */
    AUDIT_PLAN_CHANGED,
    AUDIT_VIDEO_REMOVED,
    AUDIT_BOOK_REMOVED,
    AUDIT_READING_CORRECTED,
    AUDIT_WEBHOOK_CREATED,
    AUDIT_WEBHOOK_PAUSED,
    AUDIT_WEBHOOK_RESUMED,
    AUDIT_WEBHOOK_SECRET_ROTATED,
    AUDIT_WEBHOOK_URL_CHANGED, /* the webhook of an app; its endpoints need new consent */
    AUDIT_WEBHOOK_DELETED,
    AUDIT_AUTHOR_EXPORTED,
    AUDIT_AUTHOR_IMPORTED,
    AUDIT_ACTIONS
};

/* Returns the name of the action in the database and in JSON, such as "key.created". Static. */
const char *audit_action_name(enum audit_action action);

struct audit_entry {
    struct uuid author;
    int64_t id, at;
    /* The stored names of an audit_action and an actor_kind. A newer release may have stored names that this
     * release does not have. */
    struct str action, actor;
    struct str actor_name, address, subject, details; /* p == NULL: none */
};

/* An entry to write. */
struct audit_note {
    int64_t author_row, at;
    enum audit_action action;
    struct str subject, details; /* p == NULL: none */
};
/* Writes an entry. Also deletes up to 100 entries, of any author, that are older than AUDIT_DAYS by the
 * expiry floor (base/expiry_floor.h). */
MUST_USE enum err store_insert_audit(struct store *s, const struct audit_note *note, const struct actor *by);

typedef bool (*store_audit_fn)(void *ctx, const struct audit_entry *entry);
/* Lists at most `limit` entries of an author whose time is `since` or later, newest first. */
MUST_USE enum err store_list_audit(struct store *s, int64_t author_row, int64_t since, int limit,
                                   store_audit_fn fn, void *ctx);
/* Like store_list_audit(), for the entries of all authors. */
MUST_USE enum err store_list_all_audit(struct store *s, int64_t since, int limit, store_audit_fn fn,
                                       void *ctx);
/* Like store_list_audit(), with the rules of read.h. */
enum next store_read_audit(struct store_read *read, int64_t author_row, int64_t since, int limit,
                           store_audit_fn fn, void *ctx);

#endif
