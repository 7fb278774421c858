/* An intrusive doubly linked list. Initialize list heads and links with list_init(); a zeroed link is
 * invalid. A link that is in no list points to itself. */
#ifndef VT_BASE_LIST_H
#define VT_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next, *prev;
};

/* Returns the struct of `type` whose `member` is `*link`. */
#define LIST_ENTRY(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

static inline void list_init(struct list *l)
{
    l->next = l->prev = l;
}

static inline bool list_is_empty(const struct list *l)
{
    return l->next == l;
}

/* Appends the link to the list. Precondition: the link is in no list. */
static inline void list_add_last(struct list *head, struct list *link)
{
    link->prev = head->prev;
    link->next = head;
    head->prev->next = link;
    head->prev = link;
}

/* Removes the link from its list. Does nothing if the link is in no list. */
static inline void list_remove(struct list *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    list_init(link);
}

/* Appends all links of `from` to `head` in their order, and leaves `from` empty. */
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
