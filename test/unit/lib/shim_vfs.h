/* A VFS between SQLite and the file system that calls a hook before each operation. The test can count and
 * order operations, make them fail, or end the process. It is installed for the whole process and has no
 * effect without a hook. */
#ifndef VT_TEST_SHIM_VFS_H
#define VT_TEST_SHIM_VFS_H

enum shim_op {
    SHIM_OPEN,
    SHIM_READ,
    SHIM_WRITE,
    SHIM_SYNC,
    SHIM_SYNCED, /* after a successful sync; the result is ignored */
    SHIM_TRUNCATE,
    SHIM_DELETE,
    SHIM_SHM_MAP,
    SHIM_SHM_LOCK,
    SHIM_SHM_BARRIER, /* the result is ignored */
};
enum shim_file { SHIM_DB, SHIM_WAL, SHIM_JOURNAL, SHIM_OTHER };

/* Returns 0 to proceed, or the SQLite code with which the operation fails. `path` may be NULL. */
typedef int (*shim_hook_fn)(void *ctx, enum shim_op op, enum shim_file file, const char *path);

void shim_install(void);
void shim_hook(shim_hook_fn fn, void *ctx); /* NULL: none */

#endif
