/* The pages of the database that SQLite keeps, for every connection its own, instead of SQLite's own page
 * cache. What differs: to forget all pages costs nothing, whatever their number. SQLite does that at the
 * first read after another connection has committed, which here is the refresh, the last use of keys, another
 * process; with SQLite's cache each page went back to malloc() then, and the next reads took them from it
 * again. Memory is taken as pages come, up to `PRAGMA cache_size`, and kept until the connection is closed.
 *
 * A connection is used by one thread at a time, so nothing here is locked. */
#ifndef VT_STORE_PAGE_CACHE_H
#define VT_STORE_PAGE_CACHE_H

struct sqlite3_pcache_methods2;

/* For sqlite3_config(SQLITE_CONFIG_PCACHE2), https://sqlite.org/c3ref/pcache_methods2.html. */
extern const struct sqlite3_pcache_methods2 page_cache_methods;

#endif
