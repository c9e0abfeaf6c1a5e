"""A daemon that is killed, and one that moves memory otherwise and takes over its clients."""

import time
import unittest

from live_daemon import STANDIN, finish
from memory_programs import CLIENT, HOLDS, STATE, MemoryPrograms, holding

WAYS = ("native", "managed", "checkpoint")
LINE = "this daemon moves none"
RR = ("--policy", "rr", "--param", "quantum=20 ms")


@unittest.skipUnless(STANDIN, "there is no stand-in driver")
class OtherMemory(MemoryPrograms):
    def submissions(self, daemon):
        return {name: client["submissions"] for name, client in self.clients(daemon).items()}

    def followed(self, first, second):
        self.memory = first
        daemon = self.daemon("rr", "--param", "quantum=20 ms", device=holding(3.6 if first == "native" else 1.7), around={"LD_LIBRARY_PATH": STANDIN})
        stop = daemon.folder + "/stop"
        programs = [self.start(daemon, "holds", str(i), "0", STATE, stop, options=["--name", f"p{i}"]) for i in range(3)]
        for program in programs:
            self.assertEqual(program.stdout.readline(), HOLDS)
        if first != "native":
            self.until(lambda: any(client["memory"]["away"] for client in self.clients(daemon).values()), "a move")
        daemon.process.kill()
        daemon.process.communicate()
        time.sleep(0.05)
        daemon.serve(*RR, "--memory", second)
        self.until(lambda: len(self.clients(daemon)) == 3, "all return")
        before = self.submissions(daemon)
        # Whoever has no room beside those that stay goes on when they have ended.
        stays = first != "native" and second == "native"
        going = 2 if stays else 3
        self.until(lambda: sum(count > before[name] + 5 for name, count in self.submissions(daemon).items()) >= going, "they go on")
        if "native" not in (first, second):
            restores = {name: client["memory"]["restores"] for name, client in self.clients(daemon).items()}
            self.until(lambda: all(client["memory"]["restores"] > restores[name] + 1 for name, client in self.clients(daemon).items()), "moves go on")
        for client in self.clients(daemon).values():
            self.assertEqual(client["memory"]["failed"], 0 if second != "native" else client["memory"]["failed"])
            if stays:
                self.assertGreaterEqual(client["memory"]["cannot_move"], int(STATE) << 20)
        open(stop, "w").close()
        for program in programs:
            code, out, err = finish(program)
            self.assertEqual((code, out), (0, "jobs many\n"), err)
        said = daemon.end()[0]
        self.assertEqual(said.count(LINE), 3 if stays else 0, said)

    def test_every_change(self):
        for first in WAYS:
            for second in WAYS:
                if first != second:
                    with self.subTest(first=first, second=second):
                        self.followed(first, second)

    def test_a_program_that_comes_to_the_second_daemon_first(self):
        # Its exec was told by the first how its memory would move; it has none before the second is there.
        for first, second in (("managed", "checkpoint"), ("checkpoint", "managed")):
            with self.subTest(first=first, second=second):
                self.memory = first
                daemon = self.daemon("rr", "--param", "quantum=20 ms", device=holding(2.1), around={"LD_LIBRARY_PATH": STANDIN})
                stop, go = daemon.folder + "/stop", daemon.folder + "/go"
                late = daemon.start("/bin/sh", "-c", f'while [ ! -e {go} ]; do sleep 0.05; done; exec "$0" "$@"', CLIENT, "holds", "1", "0", STATE, stop,
                                    options=["--name", "late"], **self.device)
                time.sleep(0.3)
                daemon.process.kill()
                daemon.process.communicate()
                daemon.serve(*RR, "--memory", second)
                open(go, "w").close()
                self.assertEqual(late.stdout.readline(), HOLDS)
                other = self.start(daemon, "holds", "2", "20", "20", options=["--name", "other"])
                self.assertEqual(finish(other)[:2], (0, "holds 20\njobs 20\n"))
                open(stop, "w").close()
                code, out, err = finish(late)
                self.assertEqual((code, out), (0, "jobs many\n"), err)
                self.assertEqual(daemon.end()[0].count("it can leave only by checkpoints"), 1 if second == "managed" else 0)


if __name__ == "__main__":
    unittest.main()
