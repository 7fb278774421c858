"""python3 -m standin [--only tiktok,youtube,meta,pinterest] [--clock FILE] [--certificate FILE --key FILE]

Prints one line of JSON when all ports listen: {"origins": {host: URL}, "control": URL}. Ends when its standard input is closed.
"""
import argparse
import asyncio
import gc
import json
import ssl
import sys

from .control import Control
from .meta import Meta
from .pinterest import Pinterest
from .state import Clock
from .tiktok import TikTok
from .wire import Connection
from .youtube import YouTube

ALL = {"tiktok": TikTok, "youtube": YouTube, "meta": Meta, "pinterest": Pinterest}


async def serve(options):
    clock = Clock(options.clock)
    standins = [ALL[name](clock) for name in options.only.split(",")]
    context = None
    if options.certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.certificate, options.key)
    loop = asyncio.get_running_loop()
    origins = {}

    async def listen(handle, on_end, count_connection, tls, of_platform=True):
        server = await loop.create_server(lambda: Connection(handle, on_end, count_connection, of_platform), "127.0.0.1", 0, ssl=tls, backlog=1024)
        return f"{'https' if tls else 'http'}://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    for standin in standins:
        for host in standin.HOSTS:
            origins[host] = await listen(lambda request, of=standin, host=host: of.handle(host, request), standin.on_end, standin.count_connection, context)
    control = Control(standins, clock)
    address = await listen(control.handle, lambda *_: None, lambda _: None, None, False)
    print(json.dumps({"origins": origins, "control": address}), flush=True)
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()


def main():
    parser = argparse.ArgumentParser(prog="standin")
    parser.add_argument("--only", default=",".join(ALL))
    parser.add_argument("--clock")
    parser.add_argument("--certificate")
    parser.add_argument("--key")
    options = parser.parse_args()
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
    asyncio.run(serve(options))


if __name__ == "__main__":
    main()
