/* The stylesheet, embedded from style.css and served under an address that changes with it. */
#ifndef VT_SETTINGS_STYLE_H
#define VT_SETTINGS_STYLE_H

/* Of its text; NUL-terminated. */
void style_version(char out[16]);

#endif
