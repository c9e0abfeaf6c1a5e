"""Programs whose memory leaves the GPU, on a device of the stand-in driver that they share."""

import os
import struct
import tempfile

from live_daemon import Daemon, LiveTest, finish

CLIENT = os.environ.get("GANGWAY_MEMORY_CLIENT", "")
POINTS = os.environ.get("GANGWAY_POINTS", "")
STANDIN = os.environ.get("GANGWAY_STANDIN", "")
MIB = 1 << 20
LONG = os.environ.get("GANGWAY_LONG", "") not in ("", "0")
STATE = "64" if LONG else "24"  # MiB of a program's state
HOLDS = f"holds {STATE}\n"


def holding(states):
    """MiB of a device with room for so many of these states: 64 are kept free, and of 64 the client takes 68."""
    return 64 + int(states * (68 if LONG else 24))


def helpers(daemon):
    """The processes that checkpoint for daemons: children of this one's, or those that outlive it."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/comm") as name, open(f"/proc/{process}/cmdline") as command:
                if name.read() == "gangway-helper\n" and daemon.socket in command.read().split("\0"):
                    found.append(int(process))
        except OSError:
            pass
    return found


class MemoryPrograms(LiveTest):
    memory = "managed"

    def daemon(self, policy, *options, device=160, around=None, **more):
        """A daemon, and a device of so many MiB whose memory its programs share."""
        daemon = Daemon("--policy", policy, "--memory", self.memory, *options, around=around)
        self.device = {"STANDIN_LEDGER": daemon.folder + "/ledger", "STANDIN_MEMORY": str(device * MIB), **more}
        return daemon

    def start(self, daemon, *command, options=(), **more):
        return daemon.start(CLIENT, *command, options=options, **{**self.device, **more})

    def refused(self, daemon):
        """Of the device: how often there was no room though Gangway had thought so, the most that was taken, its size."""
        with open(daemon.folder + "/ledger", "rb") as ledger:
            return struct.unpack("QQQ", ledger.read(24))

    def points_folder(self, daemon):
        folder = tempfile.mkdtemp(dir=daemon.folder)
        os.symlink(POINTS + "/libgangway-lookalike.so", folder + "/libcuda.so.1")
        os.symlink(STANDIN + "/libcuda.so.1", folder + "/libgangway-real-cuda.so.1")
        return folder

    def clients(self, daemon):
        return {client["name"]: client for client in daemon.status()["clients"]}

    def all_end_well(self, daemon, programs, *texts):
        for program, text in zip(programs, texts):
            code, out, err = finish(program)
            self.assertEqual((code, out), (0, text), err)
            self.assertEqual(err, "")
        refusals, most, size = self.refused(daemon)
        self.assertEqual(refusals, 0, (most, size))
        self.assertLessEqual(most, size)
