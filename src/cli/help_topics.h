/* The texts of `viewtally help TOPIC`, for subjects that concern all commands. */
#ifndef VT_CLI_HELP_TOPICS_H
#define VT_CLI_HELP_TOPICS_H

struct help_topic {
    const char *name;
    const char *summary; /* one line */
    const char *text;    /* text of the topic in the form of cli_action.description */
};

#define HELP_TOPICS_NAME "topics" /* `viewtally help topics` lists them, so no topic has this name */

extern const struct help_topic help_topics[]; /* the last one has a NULL name */

#endif
