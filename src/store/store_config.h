/* The options to open the configured store, and checks of the configuration. */
#ifndef VT_STORE_STORE_CONFIG_H
#define VT_STORE_STORE_CONFIG_H

#include "config/config.h"
#include "store/store.h"

/* Returns the options for the configured store. Their strings belong to `c`. */
struct store_options store_options_from_config(const struct config *c, enum store_mode mode);

/* Checks a postgresql:// URL without connecting. */
MUST_USE enum err store_url_check(const char *url, struct error *error);

/* Checks the URL of a database server and reads the password file, without connecting. */
MUST_USE enum err store_server_check(const char *url, const char *password_file, struct error *error);

/* Checks what the configuration parser cannot check: that the password file of a database server can be
 * read. */
MUST_USE enum err store_config_check(const struct config *c, struct error *error);

/* Returns true if the store is a database file on this machine. Only such a store has a lock of the whole
 * database, and a write-ahead log and a disk that viewtally watches. Otherwise the store is a database
 * server, which takes care of these itself. */
bool store_config_is_file(const struct config *c);

/* Returns the path or the URL of the store, for messages. It contains no password. */
const char *store_config_name(const struct config *c);

#endif
