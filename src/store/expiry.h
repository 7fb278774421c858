/* The stored floor of expiry (base/expiry.h), in the table meta. */
#ifndef VT_STORE_EXPIRY_H
#define VT_STORE_EXPIRY_H

#include "base/expiry.h"
#include "store/store.h"

/* A database that was never observed gives zeros. get: with or without a transaction; put: in one. */
MUST_USE enum err store_get_expiry(struct store *s, struct expiry_state *out);
MUST_USE enum err store_put_expiry(struct store *s, const struct expiry_state *state);

#endif
