/* Output of secrets that are shown only once. If the output fails, nobody has seen the secret, so it must not
 * stay valid. */
#ifndef VT_CLI_SHOWN_SECRET_H
#define VT_CLI_SHOWN_SECRET_H

#include "base/buf.h"
#include "cli/database.h"

/* A secret that a command creates, for example an API key. The secret is stored on disk before it is shown.
 * So if somebody has seen the secret, it stays valid even after a crash. */
struct shown_secret {
    cli_work *create; /* inserts the secret */
    void (*append)(struct buf *out, const void *ctx);
    cli_work *undo;      /* revokes the secret; runs if it could not be shown */
    const char *undone;  /* what `undo` did, for the message: "the key was revoked" */
    const char *by_hand; /* what to do if `undo` fails: "revoke it with viewtally key revoke" */
};

/* Creates the secret in one transaction and writes it to standard output. If the output fails, undoes the
 * creation in a second transaction, prints the error and returns ERR_CANCELED. For other errors see
 * cli_transaction(). */
MUST_USE enum err shown_secret_create(struct cli *cli, const struct shown_secret *secret, void *ctx);

/* Writes `out`, which contains a secret that replaces an earlier one, to standard output. Then wipes and
 * frees `out`. Call it in the transaction, before the commit, and roll back if it returns false, because only
 * a rollback restores the earlier secret. Prints an error and returns false if standard output cannot be
 * written. Gives up when standard output has accepted nothing for five seconds, because the open transaction
 * keeps other processes from writing. */
MUST_USE bool shown_secret_print(struct buf *out);

#endif
