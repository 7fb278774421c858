/* Slows down who guesses: counts failed tries by some name (a client's address, an app) in this process's
 * memory. Each name may fail `burst` times at once; one failure is forgotten every `forget_ms`. Above that it
 * has to wait, whatever it brings. Bounded memory: when there is no room, whoever has failed least is
 * forgotten. It needs nothing that could be missing, so it never fails open. */
#ifndef VT_AUTH_GUESSES_H
#define VT_AUTH_GUESSES_H

#include "base/str.h"

#include <stdint.h>

struct guesses;

struct guesses *guesses_new(int burst, int64_t forget_ms);
void guesses_free(struct guesses *g);

/* 0: it may try; else how many ms it has to wait. `now_ms` is monotonic. */
int64_t guesses_wait_ms(const struct guesses *g, struct str name, int64_t now_ms);

void guesses_note_failure(struct guesses *g, struct str name, int64_t now_ms);

/* The name to count a client under: its address, of IPv6 only the first half, which one customer has whole.
 * A slice of `address`, or of `room` (40 bytes). */
struct str guesses_name_of_address(struct str address, char *room);

#endif
