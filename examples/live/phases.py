"""Lets two programs take turns and then run together: a folder of files says who is ready and which phase it is."""

import os
import time


class Phases:
    """Programs `names`, in phases (name, seconds, who takes part)."""

    def __init__(self, folder, me, names, phases):
        self.folder, self.me, self.names, self.phases = folder, me, names, phases

    def ready(self):
        """Returns the time (perf_counter, which all processes of a machine share) at which the first phase begins."""
        open(os.path.join(self.folder, self.me + ".ready"), "w").close()
        while not all(os.path.exists(os.path.join(self.folder, name + ".ready")) for name in self.names):
            time.sleep(0.01)
        start = os.path.join(self.folder, "start")
        proposed = os.path.join(self.folder, self.me + ".start")
        with open(proposed, "w") as f:
            f.write(str(time.perf_counter() + 1))
        try:
            os.link(proposed, start)  # whoever is first
        except FileExistsError:
            pass
        while not os.path.exists(start):
            time.sleep(0.01)
        return float(open(start).read())

    def mine(self):
        """(name, begin, end) of the phases with me, waiting for each to begin."""
        at = self.ready()
        for name, seconds, who in self.phases:
            if self.me in who:
                while time.perf_counter() < at:
                    time.sleep(min(0.002, max(0, at - time.perf_counter())))
                yield name, at, at + seconds
            at += seconds + 0.5


def from_arguments(me, arguments):
    """FOLDER ALONE_SECONDS TOGETHER_SECONDS"""
    folder, alone, together = arguments[0], float(arguments[1]), float(arguments[2])
    names = ["serve", "train"]
    return Phases(folder, me, names, [("serve alone", alone, ["serve"]), ("train alone", alone, ["train"]),
                                      ("together", together, names)])
