/* Sign-in of authors: logins, sessions, known devices, invitations. Functions that take a `struct store_read`
 * are reads as in read.h; the others follow write.h. Secrets are passed as their SHA-256. */
#ifndef VT_STORE_ACCOUNTS_H
#define VT_STORE_ACCOUNTS_H

#include "base/arena.h"
#include "store/read.h"

enum { SECRET_HASH_LEN = 32, LOGIN_MAX_BYTES = 100, PASSWORD_TEXT_MAX = 128 };

/* The signed-in author of a page. Texts are in the arena of the find function. */
struct viewer {
    int64_t author_row; /* 0: nobody */
    struct uuid id;
    struct str name;
    bool plan_active;
    struct str login;    /* p == NULL: none */
    struct str password; /* the stored hash; p == NULL: none */
};

struct session {
    struct viewer viewer;
    int64_t created_at, seen_at, expires_at;
};

struct invitation {
    struct viewer viewer;
    struct str login; /* chosen by the operator; p == NULL: the author chooses */
    int64_t expires_at;
    int64_t used_at; /* TIME_NONE: not yet */
};

/* By the folded login name, or by the author's id. */
enum next store_find_login(struct store_read *read, struct arena *a, struct str name, struct viewer *out);
enum next store_find_viewer(struct store_read *read, struct arena *a, const struct uuid *id,
                            struct viewer *out);

enum next store_find_session(struct store_read *read, struct arena *a, const uint8_t hash[SECRET_HASH_LEN],
                             struct session *out);
/* ERR_NOT_FOUND also if the device has expired. */
enum next store_find_device(struct store_read *read, const uint8_t hash[SECRET_HASH_LEN], int64_t now,
                            int64_t *author_row);
enum next store_find_invitation(struct store_read *read, struct arena *a, const uint8_t hash[SECRET_HASH_LEN],
                                struct invitation *out);

/* The same, with or without a transaction. */
MUST_USE enum err store_get_login(struct store *s, struct arena *a, struct str name, struct viewer *out);
MUST_USE enum err store_get_viewer(struct store *s, struct arena *a, int64_t author_row, struct viewer *out);
MUST_USE enum err store_get_invitation(struct store *s, struct arena *a, const uint8_t hash[SECRET_HASH_LEN],
                                       struct invitation *out);

/* Sets login name and password (p == NULL: none). ERR_EXISTS if another author has the name. */
MUST_USE enum err store_put_login(struct store *s, int64_t author_row, struct str name, struct str password,
                                  int64_t now);
/* Sets the name only. */
MUST_USE enum err store_set_login_name(struct store *s, int64_t author_row, struct str name);
/* Sets the password of an author who has a login. `now` TIME_NONE: the same password, hashed again. */
MUST_USE enum err store_set_password(struct store *s, int64_t author_row, struct str password, int64_t now);

MUST_USE enum err store_insert_session(struct store *s, const uint8_t hash[SECRET_HASH_LEN],
                                       int64_t author_row, int64_t now, int64_t expires_at);
/* Sets seen_at. */
MUST_USE enum err store_touch_session(struct store *s, const uint8_t hash[SECRET_HASH_LEN], int64_t now);
MUST_USE enum err store_delete_session(struct store *s, const uint8_t hash[SECRET_HASH_LEN]);
/* Deletes all sessions and devices of the author. */
MUST_USE enum err store_delete_sessions_of(struct store *s, int64_t author_row);
/* Deletes expired sessions. */
MUST_USE enum err store_purge_sessions(struct store *s, int64_t now);

/* A browser that has signed in. */
struct device_record {
    uint8_t hash[SECRET_HASH_LEN];
    bool has_previous; /* the browser's previous device, which is deleted if it is this author's */
    uint8_t previous[SECRET_HASH_LEN];
    int64_t author_row, now, expires_at;
    int64_t expired_before; /* devices that expired until then are deleted */
};

/* Inserts the device and deletes all but the newest `max_devices` of the author. */
MUST_USE enum err store_put_device(struct store *s, const struct device_record *device, int max_devices);

/* Replaces older invitations of the author. `login` p == NULL: the author chooses. */
MUST_USE enum err store_insert_invitation(struct store *s, const uint8_t hash[SECRET_HASH_LEN],
                                          int64_t author_row, struct str login, int64_t now,
                                          int64_t expires_at);
MUST_USE enum err store_delete_invitations_of(struct store *s, int64_t author_row);
/* ERR_NOT_FOUND: unknown, used, or expired. */
MUST_USE enum err store_use_invitation(struct store *s, const uint8_t hash[SECRET_HASH_LEN], int64_t now);

#endif
