/* Finds the files of an SQLite database. */
#include "store/database_files.h"

#include <libgen.h>
#include <stdio.h>
#include <sys/stat.h>

const char *const database_file_endings[DATABASE_FILES] = {"",        "-wal",  "-shm",     "-journal",
                                                           "-import", "-lock", "-migrate", "-key-lock"};

bool database_file_path(char out[DATABASE_FILE_PATH_MAX], const char *database, const char *ending)
{
    char resolved[DATABASE_PATH_MAX];
    if (!file_resolve_path(database, resolved))
        return false;
    (void)snprintf(out, DATABASE_FILE_PATH_MAX, "%s%s", resolved, ending);
    return true;
}

const char *database_directory(char out[DATABASE_FILE_PATH_MAX], const char *database)
{
    if (!database_file_path(out, database, ""))
        (void)snprintf(out, DATABASE_FILE_PATH_MAX, "%s", database);
    return dirname(out);
}

int64_t database_file_size(const char *database, const char *ending)
{
    char path[DATABASE_FILE_PATH_MAX];
    struct stat st;
    return database_file_path(path, database, ending) && stat(path, &st) == 0 ? st.st_size : 0;
}
