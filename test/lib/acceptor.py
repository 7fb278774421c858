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
        """Stops accepting. close(2) does not wake a thread in accept(2): its call, if it is restarted, would take connections from the
        next listener, which gets the same descriptor."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self.join()
        self._listener.close()
