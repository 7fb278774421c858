/* Creates invitations, for `author invite`, `author import` and `demo`. */
#ifndef VT_CLI_INVITE_LINK_H
#define VT_CLI_INVITE_LINK_H

#include "base/arena.h"
#include "cli/cli.h"
#include "store/store.h"

struct invite_link {
    struct str link;    /* contains the secret, which is shown once */
    int64_t expires_at; /* ms */
};

/* Inserts an invitation for the author in the caller's transaction. The author's earlier links become
 * invalid. `login` is normalized; if login.p is NULL, the author chooses a sign-in name. out->link is in the
 * arena. Returns ERR_EXISTS if another author has this sign-in name. */
MUST_USE enum err invite_link_insert(struct store *store, struct arena *arena, const struct config *config,
                                     int64_t author_row, struct str login, struct invite_link *out);

/* Returns ERR_EXISTS if another author has the sign-in name. Returns OK if login.p is NULL. */
MUST_USE enum err login_check_available(struct store *store, struct arena *arena, struct str login,
                                        int64_t author_row);

#endif
