"""Accepts connections in a thread."""
import contextlib
import socket
import threading


class Acceptor(threading.Thread):
    """Listens on 127.0.0.1:port and calls `handle` with each connection."""

    def __init__(self, handle):
        super().__init__(daemon=True)
        self._handle = handle
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.start()

    def run(self):
        with contextlib.suppress(OSError):      # close() was called
            while True:
                self._handle(self._listener.accept()[0])

    def close(self):
        """Stops accepting. Closing the socket alone would not wake the thread in accept(2). After a restarted call, the thread would then
        accept connections of the next listener, which gets the same descriptor."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self.join()
        self._listener.close()
