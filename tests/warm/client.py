"""Stands where a command names Python: what it runs begins in a fork of a warm process.

Arguments, folder, environment, limits and open files go to ``server.py``, which forks. This process
passes signals on, and ends as the fork ends.
"""

import json
import os
import resource
import signal
import socket
import sys


def main(path, program, *arguments):
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(path)
        limits = [resource.getrlimit(number) for number in range(resource.RLIMIT_RTTIME + 1)]
        how = json.dumps([program, arguments, os.getcwd(), dict(os.environ), limits]).encode()
        socket.send_fds(server, [len(how).to_bytes(8, "big")], [0, 1, 2])
        server.sendall(how)
        pid = int.from_bytes(server.recv(8), "big")
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: os.kill(pid, number))
        code = int.from_bytes(server.recv(8), "big", signed=True)
    if code < 0:
        if code != -signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
