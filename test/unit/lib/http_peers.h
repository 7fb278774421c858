/* Runs the correct and faulty servers of test/lib/http_peers.py in a separate process. */
#ifndef VT_TEST_HTTP_PEERS_H
#define VT_TEST_HTTP_PEERS_H

/* Setup and teardown of a group of tests. */
int http_peers_start(void **state);
int http_peers_stop(void **state);

/* Returns the port of a server. Fails the test if there is no server with this name. */
int http_peer_port(const char *name);

/* Returns the path of a file with the certificate authority of the servers. */
const char *http_peers_ca(void);

#endif
