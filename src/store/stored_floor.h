/* The clock floor for expiry (base/expiry_floor.h), stored in the table meta. */
#ifndef VT_STORE_STORED_FLOOR_H
#define VT_STORE_STORED_FLOOR_H

#include "base/expiry_floor.h"
#include "store/store.h"

/* All zero if it was never stored. get works with or without a transaction; put needs one. */
MUST_USE enum err store_get_expiry(struct store *s, struct expiry_state *out);
MUST_USE enum err store_put_expiry(struct store *s, const struct expiry_state *state);

#endif
