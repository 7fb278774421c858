/* Intrusive doubly linked list. A zeroed head is not valid: list_init() first. A link that is in no list
 * points at itself. */
#ifndef VT_BASE_LIST_H
#define VT_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next, *prev;
};

#define LIST_ENTRY(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

static inline void list_init(struct list *l)
{
    l->next = l->prev = l;
}

static inline bool list_is_empty(const struct list *l)
{
    return l->next == l;
}

/* Last place of `head`. The link must be in no list. */
static inline void list_add_last(struct list *head, struct list *link)
{
    link->prev = head->prev;
    link->next = head;
    head->prev->next = link;
    head->prev = link;
}

/* Out of whatever list it is in; harmless when in none. */
static inline void list_remove(struct list *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    list_init(link);
}

/* All links of `from`, in their order, to the last places of `head`; `from` is empty then. */
static inline void list_move_all(struct list *head, struct list *from)
{
    if (list_is_empty(from))
        return;
    from->next->prev = head->prev;
    head->prev->next = from->next;
    from->prev->next = head;
    head->prev = from->prev;
    list_init(from);
}

#endif
