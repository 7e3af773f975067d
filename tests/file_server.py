"""A server of one file, which knows ranges, breaks off, and errs."""

import http.server
import re
import threading
from contextlib import contextmanager


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        asked = self.headers.get("Range")
        server.asked.append(asked)
        fault = server.faults.pop(0) if server.faults else None
        if isinstance(fault, int):
            self.send_error(fault)
            return
        content = b"wrong" + server.content[5:] if fault == "wrong" else server.content
        start = 0
        if asked and fault != "no ranges":
            start = int(re.fullmatch(r"bytes=(\d+)-", asked)[1])
            if start >= len(content):
                self.send_error(416)
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        body = content[start:]
        self.wfile.write(body[: len(body) // 2] if fault == "drop" else body)
        self.close_connection = True

    def log_message(self, *arguments):
        pass


@contextmanager
def serving(content):
    """Serve ``content``; the list ``faults`` says what the next answers do, ``asked`` what came."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked, server.faults, server.content = [], [], content
    server.url = f"http://127.0.0.1:{server.server_address[1]}/sprot.dat.gz"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
