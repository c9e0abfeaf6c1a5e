"""Clients that die or stop at any moment."""

import os
import random
import re
import signal
import subprocess
import time
import unittest
from pathlib import Path

from kill_points import ALL, INTERCEPTED, PROTOCOL, RETURNING
from live_daemon import CLIENT, LIMIT, LOOK, STANDIN, Daemon, finish, native

POINTS = os.environ.get("GANGWAY_POINTS", "")  # folder of a look-alike that can die at named points

HARDWARE = Path(__file__).resolve().parents[2] / "hw"


class Points(unittest.TestCase):
    def test_each_has_victims(self):
        sources = [path for path in HARDWARE.rglob("*") if path.suffix in (".cpp", ".hpp", ".cu", ".cuh")]
        self.assertEqual({name for path in sources for name in re.findall(r'GANGWAY_POINT\("([^"]*)"\)', path.read_text())}, ALL)


@unittest.skipUnless(POINTS, "there is no look-alike with points")
class Killed(unittest.TestCase):
    """A client that dies at any point of the protocol harms nobody else."""

    def links(self, folder):
        where = folder + "/points"
        os.mkdir(where)
        os.symlink(POINTS + "/libgangway-lookalike.so", where + "/libcuda.so.1")
        os.symlink(STANDIN + "/libcuda.so.1", where + "/libgangway-real-cuda.so.1")
        return where

    def victim(self, daemon, folder, point):
        environment = daemon.environment(GANGWAY_SOCKET=daemon.socket, GANGWAY_DIE_AT=point) | {"LD_LIBRARY_PATH": folder + ":" + STANDIN}
        return subprocess.Popen([CLIENT, "jobs", "100000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)

    def test_at_every_named_point(self):
        for policy in (["piv", "--in-flight", "2"], ["disengaged-timeslice", "--param", "slice=4 ms"],
                       ["timeslice", "--param", "slice=4 ms"]):
            daemon = Daemon("--policy", *policy, "--drain-limit", "30 ms")
            folder = self.links(daemon.folder)
            done = daemon.folder + "/done"
            other = daemon.start(CLIENT, "until", done, options=["--priority", "5"])
            for point in PROTOCOL + (INTERCEPTED if policy[0] == "timeslice" else ()):
                victim = self.victim(daemon, folder, point)
                code, out, err = finish(victim)
                self.assertEqual(code, -signal.SIGKILL, (policy, point, out, err))
                self.assertIsNone(other.poll(), point)
                self.assertIsNone(daemon.process.poll(), point)
            code, out, err = daemon.run(CLIENT, "jobs", "3")
            self.assertEqual((code, out), native(CLIENT, "jobs", "3")[:2])
            open(done, "w").close()
            self.assertEqual(finish(other)[:2], (0, "until: worked\n"))
            _, err, _ = daemon.end()
            self.assertEqual(err, "")

    def test_on_its_return_to_a_new_daemon(self):
        for policy in (["piv", "--in-flight", "2"], ["timeslice", "--param", "slice=4 ms"]):
            for held in (["--held"], []):
                with self.subTest(policy=policy[0], held=held):
                    options = ["--policy", *policy, "--drain-limit", "30 ms", *held]
                    daemon = Daemon(*options)
                    folder = self.links(daemon.folder)
                    done = daemon.folder + "/done"
                    other = daemon.start(CLIENT, "until", done, options=["--priority", "5"])
                    victims = [self.victim(daemon, folder, point) for point in RETURNING]
                    self.until(daemon, lambda jobs: len(jobs) == 1 + len(victims) and min(jobs) > 3)
                    daemon.process.kill()
                    daemon.process.communicate()
                    daemon.serve(*options)
                    for victim in victims:
                        code, out, err = finish(victim)
                        self.assertEqual(code, -signal.SIGKILL, (out, err))
                    [before] = self.until(daemon, lambda jobs: len(jobs) == 1)
                    self.until(daemon, lambda jobs: len(jobs) == 1 and jobs[0] > before + 3)  # the other is served
                    open(done, "w").close()
                    self.assertEqual(finish(other)[:2], (0, "until: worked\n"))
                    _, err, _ = daemon.end()
                    self.assertEqual(err, "")

    def until(self, daemon, holds):
        """How many jobs each client has had, once that holds."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            jobs = [client["jobs"] for client in daemon.status()["clients"]]
            if holds(jobs):
                return jobs
            time.sleep(LOOK)
        raise AssertionError(jobs)

    def test_a_stopped_client_holds_nobody_up(self):
        for policy in (["fcfs"], ["piv"], ["disengaged-timeslice", "--param", "slice=5 ms"], ["timeslice", "--param", "slice=5 ms"]):
            with self.subTest(policy=policy[0]):
                daemon = Daemon("--policy", *policy, "--drain-limit", "30 ms")
                # One that is stopped at a random moment of its work, again and again.
                victim = daemon.start(CLIENT, "jobs", "300", options=["--name", "victim"])
                end = time.monotonic() + 30
                while time.monotonic() < end:
                    clients = daemon.status()["clients"]
                    if clients and clients[0]["jobs"] > 3:
                        break
                    time.sleep(LOOK)
                for _ in range(5):
                    os.kill(clients[0]["process"], signal.SIGSTOP)
                    began = time.monotonic()
                    code, out, _ = daemon.run(CLIENT, "jobs", "3")
                    self.assertEqual((code, out), native(CLIENT, "jobs", "3")[:2])
                    self.assertLess(time.monotonic() - began, 10)
                    os.kill(clients[0]["process"], signal.SIGCONT)
                    time.sleep(0.05)
                self.assertEqual(finish(victim)[:2], native(CLIENT, "jobs", "300")[:2])  # and it goes on as if nothing had been
                daemon.end()

    def test_many_that_work_and_die(self):
        """32 clients at a time, each killed at a random point or soon after; GANGWAY_LONG: for ten minutes."""
        seconds = 600 if os.environ.get("GANGWAY_LONG") else 8
        rng = random.Random(1)
        daemon = Daemon("--policy", "piv", "--in-flight", "2", "--overlap", "--drain-limit", "30 ms")
        folder = self.links(daemon.folder)
        done = daemon.folder + "/done"
        files = len(os.listdir(f"/proc/{daemon.process.pid}/fd"))
        other = daemon.start(CLIENT, "until", done, options=["--priority", "5"])
        end, victims, deaths = time.monotonic() + seconds, [], 0
        longest, seen, since = 0.0, -1, time.monotonic()
        while time.monotonic() < end:
            while len(victims) < 32:
                point = {"GANGWAY_DIE_AT": rng.choice(PROTOCOL)} if rng.random() < 0.5 else {}
                victims.append((subprocess.Popen([CLIENT, "jobs", "100000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                                 env=daemon.environment(GANGWAY_SOCKET=daemon.socket, **point)
                                                 | {"LD_LIBRARY_PATH": folder + ":" + STANDIN}), time.monotonic() + rng.uniform(0.1, 2)))
            for victim, dies in victims:
                if time.monotonic() > dies:
                    victim.kill()
            over = [pair for pair in victims if pair[0].poll() is not None]
            deaths += len(over)
            victims = [pair for pair in victims if pair not in over]
            self.assertIsNone(daemon.process.poll())
            self.assertIsNone(other.poll())
            status = daemon.status()
            jobs = [client["jobs"] for client in status["clients"] if client["priority"] == 5]
            if jobs and jobs[0] != seen:
                seen, since = jobs[0], time.monotonic()
            longest = max(longest, time.monotonic() - since)
        for victim, _ in victims:
            victim.kill()
            victim.wait()
        self.assertGreater(deaths, 20)
        # The urgent one waits for one victim at most, until that has drained, its drain limit of 30 ms is over, or it is dead. The rest is for
        # machines of two cores, on which 32 programs start meanwhile.
        self.assertLess(longest, 2)
        open(done, "w").close()
        self.assertEqual(finish(other)[:2], (0, "until: worked\n"))
        while len(os.listdir(f"/proc/{daemon.process.pid}/fd")) > files and time.monotonic() < end + LIMIT:
            time.sleep(0.05)
        self.assertLessEqual(len(os.listdir(f"/proc/{daemon.process.pid}/fd")), files)
        _, err, _ = daemon.end()
        self.assertEqual(err, "")


if __name__ == "__main__":
    unittest.main()
