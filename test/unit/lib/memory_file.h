/* The memory file (memfd) that this process has open. */
#ifndef VT_TEST_MEMORY_FILE_H
#define VT_TEST_MEMORY_FILE_H

/* Bytes of memory that it takes; -1: there is none. */
long memory_file_bytes(void);

#endif
