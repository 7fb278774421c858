/* Turns at writing among the threads of this process: SQLite's own lock has no queue (who waits looks now and
 * then, and may be passed over for long), so the writer queue and a run of the refresh agree here first.
 * First come, first served. Other processes are not known here. */
#ifndef VT_STORE_TICKET_LOCK_H
#define VT_STORE_TICKET_LOCK_H

struct gate;

struct gate *gate_new(void);
void gate_free(struct gate *g); /* nobody may be inside or wait */

/* Waits for the turn. Not to be entered twice by one thread. */
void gate_enter(struct gate *g);
void gate_leave(struct gate *g);

/* How many wait now, for who watches. */
int gate_waiting(struct gate *g);

#endif
