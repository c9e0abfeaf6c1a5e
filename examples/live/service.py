"""A program that answers a line on its stdin with a line, and says "ready SECONDS ANSWER" first."""

import os
import select
import subprocess
import time


class Silent(Exception):
    """It ended, or did not answer in time."""


class Service:
    def __init__(self, name, command, errors, limit=120, **more):
        """`errors`: a file for its stderr. `limit`: seconds until it is ready."""
        self.name, self.errors, self.rest = name, errors, b""
        self.began = time.monotonic()
        with open(errors, "w") as to:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=to, **more)
        try:
            self.first = self.line(limit).split()[-1]  # its answer
        except Silent:
            self.end()
            raise
        self.ready = time.monotonic() - self.began  # seconds

    def line(self, limit):
        end = time.monotonic() + limit
        while b"\n" not in self.rest:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise Silent(f"{self.name}: nothing within {limit} s{self.complaint()}")
            part = os.read(self.process.stdout.fileno(), 4096)
            if not part:
                raise Silent(f"{self.name}: it ended with {self.process.wait()}{self.complaint()}")
            self.rest += part
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode()

    def complaint(self):
        with open(self.errors) as lines:
            last = lines.read().strip().splitlines()[-1:]
        return "".join(": " + line for line in last)

    def ask(self, limit=120):
        """Milliseconds until it answers, and the answer."""
        began = time.monotonic()
        try:
            self.process.stdin.write(b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Silent(f"{self.name}: it ended with {self.process.wait()}{self.complaint()}") from None
        answer = self.line(limit).split()[-1]
        return (time.monotonic() - began) * 1e3, answer

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
