/* The stylesheet and the one script, embedded from style.css and copy.js and served under addresses that
 * change with them. */
#ifndef VT_WEB_ASSETS_H
#define VT_WEB_ASSETS_H

enum { ASSET_VERSION_SIZE = 16 };

/* Of their texts; NUL-terminated. */
void assets_compute_versions(char style[ASSET_VERSION_SIZE], char script[ASSET_VERSION_SIZE]);

#endif
