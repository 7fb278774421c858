/* A VFS between SQLite and the file system that asks the test before each operation: the test can count, note
 * the order, fail it, or end the process there. Installed for the whole process; without a hook it does
 * nothing. */
#ifndef VT_TEST_SHIM_VFS_H
#define VT_TEST_SHIM_VFS_H

enum shim_op {
    SHIM_OPEN,
    SHIM_READ,
    SHIM_WRITE,
    SHIM_SYNC,
    SHIM_SYNCED, /* after a sync that succeeded; the answer is ignored */
    SHIM_TRUNCATE,
    SHIM_DELETE,
    SHIM_SHM_MAP,
    SHIM_SHM_LOCK,
    SHIM_SHM_BARRIER, /* the answer is ignored */
};
enum shim_file { SHIM_DB, SHIM_WAL, SHIM_JOURNAL, SHIM_OTHER };

/* 0: let it happen; else the SQLite code that it fails with. `path` may be NULL. */
typedef int (*shim_hook_fn)(void *ctx, enum shim_op op, enum shim_file file, const char *path);

void shim_install(void);
void shim_hook(shim_hook_fn fn, void *ctx); /* NULL: none */

#endif
