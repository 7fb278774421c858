/* The servers of test/lib/http_peers.py, well and ill behaved, in a process of their own. */
#ifndef VT_TEST_HTTP_PEERS_H
#define VT_TEST_HTTP_PEERS_H

/* For a group of tests: its setup and teardown. */
int http_peers_start(void **state);
int http_peers_stop(void **state);

/* Fails the test when there is no such server. */
int http_peer_port(const char *name);

/* A file with the certificate that vouches for them. */
const char *http_peers_ca(void);

#endif
