"""A daemon and its programs, on the stand-in driver: gangway serve and gangway exec as people use them."""

import atexit
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import weakref

GANGWAY = os.environ["GANGWAY"]
STANDIN = os.environ.get("GANGWAY_STANDIN", "")
CLIENT = os.environ.get("GANGWAY_LIVE_CLIENT", "")
LIMIT = 300
# Who is started in the background may ignore SIGINT, and whatever he starts would, too.
signal.signal(signal.SIGINT, signal.default_int_handler)
# A machine of its own: other tests run daemons at the same time, whose claims of the same GPU would be noted.
MACHINE = os.environ["STANDIN_MACHINE"] = str(os.getpid())
LOOK = 0.05  # seconds between looks at what the daemon says: each look is a process


def is_on_this_machine(process):
    """Whether that process, given by its number, was started by these tests and is still there."""
    try:
        with open(f"/proc/{process}/environ", "rb") as variables:
            return f"STANDIN_MACHINE={MACHINE}".encode() in variables.read().split(b"\0")
    except OSError:
        return False


def uuid(gpu):
    return "GPU-67616e67-7761-7900-0000-00%s%02x" % (int(MACHINE).to_bytes(4, "little").hex(), gpu)


def claims():
    """Files of /dev/shm by which daemons of this machine claim its GPUs."""
    return glob.glob("/dev/shm/gangway-" + uuid(0)[:-2] + "*")


atexit.register(lambda: [os.remove(file) for file in claims()])


def kill_all(processes):
    for process in processes:
        if process.poll() is None:
            process.kill()
            process.communicate()


class Daemon:
    """Whatever it has started ends with it at the latest: a test that fails leaves nobody behind who takes others' time."""

    def __init__(self, *options, around=None, log=None):
        """`around`: of its environment, for daemons that use the driver. `log`: a file that end() cannot read."""
        self.started = []
        weakref.finalize(self, kill_all, self.started)
        self.folder = tempfile.mkdtemp()
        self.around = around
        self.socket = self.folder + "/socket"
        self.log = log or self.folder + "/log.csv"
        self.serve(*options)

    def serve(self, *options):
        self.process = subprocess.Popen([GANGWAY, "serve", "--socket", self.socket, "--log", self.log, *options],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **(self.around or {})})
        self.started.append(self.process)
        self.process.stdout.readline()  # it listens

    def environment(self, **more):
        return {**os.environ, "LD_LIBRARY_PATH": STANDIN, "XDG_RUNTIME_DIR": self.folder, **more}

    def start(self, *command, options=(), **more):
        program = subprocess.Popen([GANGWAY, "exec", "--socket", self.socket, *options, "--", *command],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment(**more))
        self.started.append(program)
        return program

    def run(self, *command, **more):
        return finish(self.start(*command, **more))

    def status(self):
        result = subprocess.run([GANGWAY, "status", "--json", "--socket", self.socket], capture_output=True, text=True, timeout=LIMIT)
        if result.returncode != 0:
            raise AssertionError(result.stderr)
        return json.loads(result.stdout)

    def logged(self):
        with open(self.log) as lines:
            return lines.read().splitlines()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=LIMIT)
        if self.around is None:  # on this machine's driver, which may be newer than the build
            others = r"note: the driver is of CUDA|note: process \d+ .* schedules GPU"
            err = "".join(line for line in err.splitlines(True) if not re.match(others, line))
        steps = [line.split(",") for line in self.logged()][1:]
        shutil.rmtree(self.folder)
        return out, err, steps


class LiveTest(unittest.TestCase):
    def until(self, condition, what):
        """What the condition returns once that holds."""
        end = time.monotonic() + LIMIT
        while not (found := condition()):
            self.assertLess(time.monotonic(), end, what)
            time.sleep(LOOK)
        return found


def finish(process):
    try:
        out, err = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"no end: {out} {err}")
    return process.returncode, out, err


def native(*command):
    result = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, LD_LIBRARY_PATH=STANDIN))
    return result.returncode, result.stdout, result.stderr
