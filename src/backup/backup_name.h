/* The names of scheduled backups: "viewtally-20261124T103000Z-1a2b3c4d.db", the UTC time of the start and the
 * first 32 bits of store_id(). The names sort by time. Because of the id, several databases can use one
 * directory without deleting each other's backups. */
#ifndef VT_BACKUP_BACKUP_NAME_H
#define VT_BACKUP_BACKUP_NAME_H

#include "base/str.h"

#include <stdint.h>

enum { BACKUP_NAME_MAX = 40 };

/* Returns the id in the names of the backups of a database: the first 32 bits of its store_id(). */
uint32_t backup_id_of(const uint8_t *store_id);

/* Writes the name of a backup that starts at `t_ms`. */
void backup_name_format(int64_t t_ms, uint32_t id, char out[BACKUP_NAME_MAX]);

/* Parses the file name of a backup. Returns false if it is not one. */
bool backup_name_parse(struct str name, int64_t *t_ms, uint32_t *id);

#endif
