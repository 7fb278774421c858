/* Texts kept in the pages of a file that is nowhere but in memory (memfd_create): a socket takes such pages
 * as they are (sendfile), where of other memory it takes a copy.
 *
 * A page that a socket still holds must not change (sendfile(2)). So no page is written twice: the pages of a
 * text that is dropped leave the file (FALLOC_FL_PUNCH_HOLE) and live for whoever still holds them, and what
 * is kept in their place later gets new ones. That holds for pages of the usual size: where the system makes
 * larger ones for such files, or does not tell, there is no page file. */
#ifndef VT_BASE_PAGE_FILE_H
#define VT_BASE_PAGE_FILE_H

#include "base/str.h"

struct page_file;

/* For up to `bytes` of texts at a time. NULL: the system has none to give. */
struct page_file *page_file_new(size_t bytes);
void page_file_free(struct page_file *f); /* nothing is read or sent any more; NULL is harmless */

/* What a text of so many bytes takes: whole pages. */
size_t page_file_room(size_t len);

/* A copy of the text, at the address it can be read at until page_file_drop(). p == NULL: there is no room.
 */
struct str page_file_keep(struct page_file *f, struct str text);
void page_file_drop(struct page_file *f, struct str kept);

/* Sends `part`, which lies in a kept text, to a socket that does not block. Returns how many bytes it took,
 * or -1 and errno. */
long page_file_send(const struct page_file *f, struct str part, int socket);

#endif
