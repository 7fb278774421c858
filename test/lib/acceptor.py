"""Accepts connections in a thread."""
import contextlib
import socket
import threading


class Acceptor(threading.Thread):
    """Listens on 127.0.0.1:port and calls `on_connection` with each connection."""

    def __init__(self, on_connection):
        super().__init__(daemon=True)
        self._on_connection = on_connection
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.start()

    def run(self):
        with contextlib.suppress(OSError):      # close() was called
            while True:
                self._on_connection(self._listener.accept()[0])

    def close(self):
        """Stops accepting. Closing the socket alone would not wake the thread that blocks in accept(2). The thread
        could then call accept(2) again on the next listener, if its socket has got the same descriptor."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self.join()
        self._listener.close()
