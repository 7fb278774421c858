/* How authors sign in: login names and passwords, sessions, known devices, invitations. The rules of read.h
 * apply to functions with a `struct store_read`, and the rules of write.h to all other functions. A secret is
 * identified by its SHA-256. */
#ifndef VT_STORE_ACCOUNTS_H
#define VT_STORE_ACCOUNTS_H

#include "base/arena.h"
#include "store/audit.h"
#include "store/read.h"

enum { SECRET_HASH_LEN = 32, LOGIN_MAX_BYTES = 100, PASSWORD_TEXT_MAX = 128 };

/* The author that a page is shown to. The texts are in the arena that was passed to the function that found
 * the author. */
struct viewer {
    int64_t author_row; /* 0: nobody is signed in */
    struct uuid id;
    struct str name;
    bool plan_active;
    struct str login;    /* p == NULL: none */
    struct str password; /* the stored password hash; p == NULL: none */
};

struct session {
    struct viewer viewer;
    int64_t created_at, seen_at, expires_at;
};

struct invitation {
    struct viewer viewer;
    struct str login; /* the login name that the operator chose; p == NULL: the author chooses one */
    int64_t created_at, expires_at;
    int64_t used_at; /* TIME_NONE: not used yet */
};

/* Finds an author by login name. `name` must be normalized (login_normalize()). */
enum next store_find_login(struct store_read *read, struct arena *a, struct str name, struct viewer *out);
/* Finds an author by id. */
enum next store_find_viewer(struct store_read *read, struct arena *a, const struct uuid *id,
                            struct viewer *out);

/* Finds a session by the hash of its secret. */
enum next store_find_session(struct store_read *read, struct arena *a, const uint8_t hash[SECRET_HASH_LEN],
                             struct session *out);
/* Finds the author of a device by the hash of its secret. The read ends with ERR_NOT_FOUND if there is no
 * such device or if it has expired. */
enum next store_find_device(struct store_read *read, const uint8_t hash[SECRET_HASH_LEN], int64_t now,
                            int64_t *author_row);
/* Finds an invitation by the hash of its secret. */
enum next store_find_invitation(struct store_read *read, struct arena *a, const uint8_t hash[SECRET_HASH_LEN],
                                struct invitation *out);

/* Like store_find_login(), store_find_viewer() and store_find_invitation(), but the rules of write.h apply
 * instead of read.h, and store_get_viewer() finds the author by row. No transaction is needed. */
MUST_USE enum err store_get_login(struct store *s, struct arena *a, struct str name, struct viewer *out);
MUST_USE enum err store_get_viewer(struct store *s, struct arena *a, int64_t author_row, struct viewer *out);
MUST_USE enum err store_get_invitation(struct store *s, struct arena *a, const uint8_t hash[SECRET_HASH_LEN],
                                       struct invitation *out);

/* Sets an author's login name and password hash. If `password.p` is NULL, the author has no password. Returns
 * ERR_EXISTS if another author has this login name. */
MUST_USE enum err store_put_login(struct store *s, int64_t author_row, struct str name, struct str password,
                                  int64_t now);
/* Sets an author's login name. The password stays as it is. Returns ERR_EXISTS if another author has this
 * login name. */
MUST_USE enum err store_set_login_name(struct store *s, int64_t author_row, struct str name);
/* Sets the password hash of an author who has a login name. `now` is the time at which the password changed.
 * Pass TIME_NONE if the password is unchanged and only its hash is new. */
MUST_USE enum err store_set_password(struct store *s, int64_t author_row, struct str password, int64_t now);

struct new_session {
    uint8_t hash[SECRET_HASH_LEN];
    int64_t author_row;
    int64_t created_at, expires_at; /* by the expiry clock */
    int64_t signed_in_at;           /* by the wall clock */
};
/* Inserts a session. Records the sign-in by `by` in the audit log. */
MUST_USE enum err store_insert_session(struct store *s, const struct new_session *session,
                                       const struct actor *by);
/* Sets seen_at, the time of the last use of the session, to `now`, unless the stored time is newer. */
MUST_USE enum err store_touch_session(struct store *s, const uint8_t hash[SECRET_HASH_LEN], int64_t now);
/* Deletes a session. */
MUST_USE enum err store_delete_session(struct store *s, const uint8_t hash[SECRET_HASH_LEN]);
/* Deletes all sessions and devices of the author. */
MUST_USE enum err store_delete_sessions_and_devices(struct store *s, int64_t author_row);
/* Deletes expired sessions. */
MUST_USE enum err store_purge_sessions(struct store *s, int64_t now);

/* A device: a browser in which an author has signed in. */
struct device_record {
    uint8_t hash[SECRET_HASH_LEN];
    bool has_previous; /* the browser already has the device `previous`, which is deleted if it belongs to
                          this author */
    uint8_t previous[SECRET_HASH_LEN];
    int64_t author_row, now, expires_at;
    int64_t expired_before; /* devices that expired at or before this time are deleted */
};

/* Inserts the device and deletes all but the newest `max_devices` devices of its author. */
MUST_USE enum err store_put_device(struct store *s, const struct device_record *device, int max_devices);

/* Inserts an invitation and deletes the author's earlier ones. If `login.p` is NULL, the author chooses a
 * login name. */
MUST_USE enum err store_insert_invitation(struct store *s, const uint8_t hash[SECRET_HASH_LEN],
                                          int64_t author_row, struct str login, int64_t now,
                                          int64_t expires_at);
/* Sets `*has` to true if the author has an unused invitation that has not expired, and that was not created
 * more than EXPIRY_JUMP_MS in the future. */
MUST_USE enum err store_has_invitation(struct store *s, int64_t author_row, int64_t now, bool *has);
/* Deletes all invitations of the author. */
MUST_USE enum err store_delete_invitations_of(struct store *s, int64_t author_row);
/* Marks an invitation as used. Returns ERR_NOT_FOUND if it is unknown, already used, or expired. */
MUST_USE enum err store_mark_invitation_used(struct store *s, const uint8_t hash[SECRET_HASH_LEN],
                                             int64_t now);

#endif
