/* The texts of the topics. A topic describes what applies to every command; docs/ has the details. */
#include "cli/help_topics.h"

#include "cli/cli.h"

#include <stddef.h>

const struct help_topic help_topics[] = {
    {"configuration", "where settings come from, and which one wins",
     "The configuration file is the first of: the FILE of --config FILE; $VIEWTALLY_CONFIG; "
     "./config.ini; " CLI_SYSTEM_CONFIG
     ". Without any of them, all keys have their defaults. The environment overrides individual "
     "keys (viewtally help environment).\n\n"
     "A file has sections and keys:\n\n"
     "  [server]\n"
     "  listen = 127.0.0.1:8080\n"
     "  base_url = https://api.example.com/v1\n\n"
     "viewtally check-config prints the file that is used and the effective value of every key, or all "
     "mistakes with FILE:LINE. viewtally check-config --example prints every key with its default and "
     "meaning. "
     "A running server reads the file again on SIGHUP; keys that need a restart keep their values."},
    {"environment", "variables that viewtally reads",
     "VIEWTALLY_CONFIG names the configuration file.\n\n"
     "VIEWTALLY_<SECTION>_<KEY> overrides a key of the file: VIEWTALLY_STORE_PATH is [store] path. An "
     "unknown "
     "key of a known section is an error; the variables that Kubernetes sets for services, such as "
     "VIEWTALLY_REDIS_SERVICE_HOST, are ignored.\n\n"
     "VIEWTALLY_<SECTION>_<KEY>_FILE names a file that contains the value, for keys that are secret: "
     "VIEWTALLY_REDIS_PASSWORD_FILE=/run/secrets/redis. So the secret is not in the environment, which other "
     "programs of the same user can read.\n\n"
     "Standard error shows a progress bar during imports if it is a terminal. Colors are never used."},
    {"exit-status", "what the exit status of a command means",
     "  0  done\n"
     "  1  partly done, or the input was bad: a line of an import was rejected, no such author\n"
     "  2  wrong usage or configuration\n"
     "  3  failure of the database, a file, the network or standard output\n\n"
     "viewtally COMMAND --help describes when the command exits with 1. A command that exits with 2 has "
     "changed no data of authors, with these exceptions: it may have applied short migrations; serve may "
     "have "
     "created the database (--create) or completed an interrupted import; platform test and platform probe "
     "may have refreshed tokens, and platform probe --record may have written its files; secrets rotate may "
     "be incomplete (run it again). Results are on standard output, messages on standard error. With --json "
     "the result "
     "is one JSON value."},
    {"files", "which files viewtally uses",
     "  [store] path            the database (SQLite)\n"
     "  PATH-wal, PATH-shm      its write-ahead log: part of the database while it is open\n"
     "  PATH-lock, PATH-import  empty, as is PATH-migrate; locks between processes, never delete them\n"
     "  [secrets] key_file      the key that encrypts platform tokens and webhook secrets: back it up apart\n"
     "                          from the database\n"
     "  [refresh] spool_dir     input files; applied ones are moved to done/, files with bad lines to bad/\n"
     "  [log] access            the access log, reopened on SIGHUP\n\n"
     "Only viewtally migrate, demo, serve --create, import --create, restore and move create a database. "
     "Migrations and viewtally restore can leave copies of the old database beside it (PATH.schema-N, "
     "PATH.before-TIME). Copy a database with viewtally backup, not with cp: a plain copy lacks what is "
     "still in the write-ahead log. Paths in the "
     "configuration are relative to the working directory, so use absolute ones."},
    {"output", "how to use the output in scripts",
     "Lists are tables with headings; use --json to process them. Times are in UTC. Text that was stored by "
     "others is escaped on a terminal, so that a name cannot move the cursor.\n\n"
     "  viewtally author list --json | jq -r '.[] | select(.plan_active | not) | .id'\n\n"
     "Keys, app secrets and sign-in links are shown once, because only their hash is stored. If standard "
     "output "
     "cannot be written, the key is revoked or the change is rolled back, and the exit status is 3."},
    {NULL, NULL, NULL},
};
