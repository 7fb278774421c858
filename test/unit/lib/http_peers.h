/* The servers of test/lib/http_peers.py, well- and ill-behaved, in a separate process. */
#ifndef VT_TEST_HTTP_PEERS_H
#define VT_TEST_HTTP_PEERS_H

/* Setup and teardown of a group of tests. */
int http_peers_start(void **state);
int http_peers_stop(void **state);

/* Fails the test if there is no such server. */
int http_peer_port(const char *name);

/* A file with the certificate authority of the servers. */
const char *http_peers_ca(void);

#endif
