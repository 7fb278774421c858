/* Names of writers. */
#include "store/pg/pg_writers.h"

#include "base/uuid.h"

#include <sodium.h>
#include <stdio.h>

void pg_writer_make_name(char name[PG_WRITER_MAX])
{
    uint8_t random[sizeof(struct uuid)];
    char text[UUID_TEXT_LEN];
    randombytes_buf(random, sizeof random);
    const struct uuid id = uuid_from_random(random);
    uuid_format(&id, text);
    (void)snprintf(name, PG_WRITER_MAX, "writer %.*s", UUID_TEXT_LEN, text);
}
