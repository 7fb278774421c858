/* The Lua scripts that Redis runs for us, in one list, so that whoever connects has them all. */
#ifndef VT_REDIS_SCRIPTS_H
#define VT_REDIS_SCRIPTS_H

enum redis_script { SCRIPT_TAKE, SCRIPT_NOTE_CURSORS, SCRIPT_READ_CURSORS };

/* For redis_new(). */
extern const char *const redis_scripts[];

#endif
