/* Temporary files that replace standard input and output, for commands that need a whole file. The files are
 * in $TMPDIR, or else in the directory of the database. All functions print an error on failure and return
 * the exit status. */
#ifndef VT_CLI_STD_STREAM_H
#define VT_CLI_STD_STREAM_H

#include "base/file_target.h"
#include "cli/cli.h"

/* Creates an empty file with a new name, and writes its path to `path`. */
MUST_USE enum cli_exit std_stream_create_file(const struct cli *cli, char path[FILE_PATH_MAX]);

/* Creates an empty directory with a new name, and writes its path to `path`. */
MUST_USE enum cli_exit std_stream_create_directory(const struct cli *cli, char path[FILE_PATH_MAX]);

/* Copies the file `from` to the file `to`, which is created if it does not exist. */
MUST_USE enum cli_exit std_stream_copy_file(const char *from, const char *to);

/* Copies standard input to a new file, and writes its path to `path`. Standard input must not be a terminal
 * and not be empty. On error, no file is left. */
MUST_USE enum cli_exit std_stream_save_input(const struct cli *cli, char path[FILE_PATH_MAX]);

/* Deletes the file and writes its content to standard output. The file is deleted first, so that it does not
 * stay if the process is killed. */
MUST_USE enum cli_exit std_stream_print_file(const char *path);

#endif
