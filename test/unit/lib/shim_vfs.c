/* A VFS that calls a hook before each operation. In memory, the file handle of the real VFS follows each
 * struct shim_handle. */
#include "lib/shim_vfs.h"

#include <sqlite3.h>
#include <stddef.h>

struct shim_handle {
    sqlite3_file base;
    enum shim_file kind;
    const char *path;
    sqlite3_file *real;
};

static sqlite3_vfs shim, *below;
static shim_hook_fn hook;
static void *hook_ctx;

void shim_hook(shim_hook_fn fn, void *ctx)
{
    hook = fn;
    hook_ctx = ctx;
}

static int call_hook(enum shim_op op, enum shim_file kind, const char *path)
{
    return hook ? hook(hook_ctx, op, kind, path) : SQLITE_OK;
}

#define HANDLE(file) ((struct shim_handle *)(void *)(file))
#define REAL(file)   (HANDLE(file)->real)
/* Calls the hook, then the real VFS unless the hook has returned an error. */
#define PASS(file, op, call)                                                                                 \
    do {                                                                                                     \
        int code = call_hook(op, HANDLE(file)->kind, HANDLE(file)->path);                                    \
        return code ? code : REAL(file)->pMethods->call;                                                     \
    } while (0)

static int shim_close(sqlite3_file *f)
{
    return REAL(f)->pMethods->xClose(REAL(f));
}

static int shim_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
    PASS(f, SHIM_READ, xRead(REAL(f), p, n, at));
}

static int shim_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    PASS(f, SHIM_WRITE, xWrite(REAL(f), p, n, at));
}

static int shim_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    PASS(f, SHIM_TRUNCATE, xTruncate(REAL(f), size));
}

static int shim_sync(sqlite3_file *f, int flags)
{
    int code = call_hook(SHIM_SYNC, HANDLE(f)->kind, HANDLE(f)->path);
    if (!code)
        code = REAL(f)->pMethods->xSync(REAL(f), flags);
    if (!code)
        (void)call_hook(SHIM_SYNCED, HANDLE(f)->kind, HANDLE(f)->path);
    return code;
}

static int shim_file_size(sqlite3_file *f, sqlite3_int64 *out)
{
    return REAL(f)->pMethods->xFileSize(REAL(f), out);
}

static int shim_lock(sqlite3_file *f, int level)
{
    return REAL(f)->pMethods->xLock(REAL(f), level);
}

static int shim_unlock(sqlite3_file *f, int level)
{
    return REAL(f)->pMethods->xUnlock(REAL(f), level);
}

static int shim_check_lock(sqlite3_file *f, int *out)
{
    return REAL(f)->pMethods->xCheckReservedLock(REAL(f), out);
}

static int shim_control(sqlite3_file *f, int op, void *arg)
{
    return REAL(f)->pMethods->xFileControl(REAL(f), op, arg);
}

static int shim_sector(sqlite3_file *f)
{
    return REAL(f)->pMethods->xSectorSize(REAL(f));
}

static int shim_device(sqlite3_file *f)
{
    return REAL(f)->pMethods->xDeviceCharacteristics(REAL(f));
}

static int shim_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out)
{
    PASS(f, SHIM_SHM_MAP, xShmMap(REAL(f), page, size, extend, out));
}

static int shim_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
    if (flags & SQLITE_SHM_UNLOCK)
        return REAL(f)->pMethods->xShmLock(REAL(f), offset, n, flags);
    PASS(f, SHIM_SHM_LOCK, xShmLock(REAL(f), offset, n, flags));
}

static void shim_shm_barrier(sqlite3_file *f)
{
    (void)call_hook(SHIM_SHM_BARRIER, HANDLE(f)->kind, HANDLE(f)->path);
    REAL(f)->pMethods->xShmBarrier(REAL(f));
}

static int shim_shm_unmap(sqlite3_file *f, int remove)
{
    return REAL(f)->pMethods->xShmUnmap(REAL(f), remove);
}

/* Version 2 of the interface has no memory-mapped reads. So SQLite calls xRead for every read, and the
 * hook is called, too. */
static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = shim_close,
    .xRead = shim_read,
    .xWrite = shim_write,
    .xTruncate = shim_truncate,
    .xSync = shim_sync,
    .xFileSize = shim_file_size,
    .xLock = shim_lock,
    .xUnlock = shim_unlock,
    .xCheckReservedLock = shim_check_lock,
    .xFileControl = shim_control,
    .xSectorSize = shim_sector,
    .xDeviceCharacteristics = shim_device,
    .xShmMap = shim_shm_map,
    .xShmLock = shim_shm_lock,
    .xShmBarrier = shim_shm_barrier,
    .xShmUnmap = shim_shm_unmap,
};

static enum shim_file kind_of(int flags)
{
    if (flags & SQLITE_OPEN_MAIN_DB)
        return SHIM_DB;
    if (flags & SQLITE_OPEN_WAL)
        return SHIM_WAL;
    return flags & SQLITE_OPEN_MAIN_JOURNAL ? SHIM_JOURNAL : SHIM_OTHER;
}

static int shim_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out_flags)
{
    struct shim_handle *h = HANDLE(f);
    (void)vfs;
    h->base.pMethods = NULL;
    h->kind = kind_of(flags);
    h->path = name;
    h->real = (sqlite3_file *)(void *)(h + 1);
    int code = call_hook(SHIM_OPEN, h->kind, name);
    if (!code)
        code = below->xOpen(below, name, h->real, flags, out_flags);
    if (!code)
        h->base.pMethods = &methods;
    return code;
}

static int shim_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    (void)vfs;
    int code = call_hook(SHIM_DELETE, SHIM_OTHER, name);
    return code ? code : below->xDelete(below, name, sync);
}

void shim_install(void)
{
    if (below)
        return;
    below = sqlite3_vfs_find(NULL);
    shim = *below;
    shim.zName = "shim";
    shim.szOsFile = (int)sizeof(struct shim_handle) + below->szOsFile;
    shim.xOpen = shim_open;
    shim.xDelete = shim_delete;
    sqlite3_vfs_register(&shim, 1);
}
