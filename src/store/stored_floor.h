/* The clock floor for expiry (base/expiry_floor.h), stored in the table meta. */
#ifndef VT_STORE_STORED_FLOOR_H
#define VT_STORE_STORED_FLOOR_H

#include "base/expiry_floor.h"
#include "store/store.h"

/* Reads the stored state of the expiry floor; all zero if it was never stored. Needs no transaction. */
MUST_USE enum err store_get_expiry_floor(struct store *s, struct expiry_state *out);
/* Stores the state of the expiry floor. Needs a transaction. */
MUST_USE enum err store_put_expiry_floor(struct store *s, const struct expiry_state *state);

#endif
