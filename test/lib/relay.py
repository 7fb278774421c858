"""A TCP relay that counts and cuts connections, to observe how a client or proxy uses them."""
import socket
import threading

from .acceptor import Acceptor


class Relay:
    """Listens on 127.0.0.1:port and forwards all data to `target` ("host:port")."""

    def __init__(self, target):
        host, _, port = target.rpartition(":")
        self._target = (host, int(port))
        self.accepted = 0           # connections
        self.closed_by_client = 0               # connections that the client has closed
        self.requests = []          # data from clients, one item per read
        self._open = set()
        self._lock = threading.Lock()
        self._acceptor = Acceptor(self._accept)
        self.port = self._acceptor.port
        self.address = f"127.0.0.1:{self.port}"

    def _accept(self, client):
        try:
            server = socket.create_connection(self._target)
        except OSError:
            client.close()
            return
        with self._lock:
            self.accepted += 1
            self._open |= {client, server}
        for source, sink, from_client in ((client, server, True), (server, client, False)):
            threading.Thread(target=self._forward, args=(source, sink, from_client), daemon=True).start()

    def _forward(self, source, sink, from_client):
        try:
            while True:
                data = source.recv(65536)
                if not data:
                    self.closed_by_client += from_client
                    break
                if from_client:
                    self.requests.append(data)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            self._cut({source, sink})
            return
        with self._lock:
            self._open.discard(source)

    def _cut(self, sockets):
        for sock in sockets:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut_all(self):
        """Shuts down every connection, as if the server restarted."""
        with self._lock:
            sockets, self._open = self._open, set()
        self._cut(sockets)

    def close(self):
        self._acceptor.close()
        self.cut_all()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
