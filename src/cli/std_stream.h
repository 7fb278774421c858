/* Temporary files in place of standard input and output, for commands that need a whole file. They are in
 * $TMPDIR, or else in the directory of the database. */
#ifndef VT_CLI_STD_STREAM_H
#define VT_CLI_STD_STREAM_H

#include "base/file_target.h"
#include "cli/cli.h"

/* Creates an empty file with a new name. */
MUST_USE enum cli_exit std_stream_create_file(const struct cli *cli, char path[FILE_PATH_MAX]);

/* Creates an empty directory with a new name. */
MUST_USE enum cli_exit std_stream_create_directory(const struct cli *cli, char path[FILE_PATH_MAX]);

/* Copies the file `from` to the existing file `to`. */
MUST_USE enum cli_exit std_stream_copy_file(const char *from, const char *to);

/* Copies standard input to a new file. Standard input must not be a terminal and not be empty. On error, no
 * file is left. */
MUST_USE enum cli_exit std_stream_save_input(const struct cli *cli, char path[FILE_PATH_MAX]);

/* Deletes the file and writes its content to standard output. The file is deleted first, so that it does not
 * stay if the process is killed. */
MUST_USE enum cli_exit std_stream_print_file(const char *path);

#endif
