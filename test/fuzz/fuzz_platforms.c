/* Parses arbitrary platform responses. sample_play() checks that each has an outcome, and that each count
 * is unknown or from 0 to 2^53-1. An input is a sample as in test/data/platforms. */
#include "../unit/lib/sample.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct sample *s = malloc(sizeof *s);
    arena_init(&arena, 64 << 10);
    if (s && sample_parse(s, str_make((const char *)data, size)))
        sample_play(&arena, s);
    if (s)
        sample_fini(s);
    free(s);
    arena_fini(&arena);
    return 0;
}
