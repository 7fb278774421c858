/* The stylesheet and the script, embedded into the binary from style.css and copy.js. Their URLs contain a
 * hash of their content, so that browsers can cache them forever. */
#ifndef VT_WEB_ASSETS_H
#define VT_WEB_ASSETS_H

enum { ASSET_VERSION_SIZE = 16 };

/* Writes the content hashes of both files, NUL-terminated. The URL of a file contains the hash after
 * `?v=`. */
void assets_compute_versions(char style[ASSET_VERSION_SIZE], char script[ASSET_VERSION_SIZE]);

#endif
