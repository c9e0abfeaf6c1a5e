"""A daemon that is killed under load, and one that follows it."""

import os
import signal
import time
import unittest

from live_daemon import CLIENT, LOOK, STANDIN, Daemon, LiveTest, finish

WHO = {"a": ["--priority", "0", "--weight", "1"], "b": ["--priority", "5", "--weight", "2"], "c": ["--priority", "2", "--group", "g"]}
FACTS = ("priority", "weight", "group")
POLICIES = (["disengaged-timeslice", "--param", "slice=4 ms"], ["timeslice", "--param", "slice=4 ms"], ["piv", "--in-flight", "2"],
            ["disengaged-fair-queueing"])


@unittest.skipUnless(STANDIN, "there is no stand-in driver")
class Restart(LiveTest):
    def clients(self, daemon, until, limit=60):
        end = time.monotonic() + limit
        while time.monotonic() < end:
            clients = {client["name"]: client for client in daemon.status()["clients"]}
            if set(clients) == set(WHO) and until(clients):
                return clients
            time.sleep(LOOK)
        raise AssertionError(clients)

    def kill(self, daemon):
        daemon.process.send_signal(signal.SIGKILL)
        daemon.process.communicate()

    def under_load(self, policy, more):
        """Three programs; the daemon is killed twice. Returns what each submitted in a second with a daemon, and in one without."""
        daemon = Daemon("--policy", *policy, *more)
        done = daemon.folder + "/done"
        programs = {name: daemon.start(CLIENT, "until", done, options=["--name", name, *who]) for name, who in WHO.items()}
        began, first = time.monotonic(), self.clients(daemon, lambda clients: all(c["jobs"] > 3 for c in clients.values()))
        with_daemon, without = [], []
        for times in (1, 2):
            time.sleep(0.5)
            before = self.clients(daemon, lambda clients: True)
            with_daemon.append(sum(c["submissions"] for c in before.values()) / (time.monotonic() - began))
            self.kill(daemon)
            time.sleep(1)
            self.assertEqual([program.poll() for program in programs.values()], [None] * 3)
            daemon.serve("--policy", *policy, *more)
            after = self.clients(daemon, lambda clients: True)
            without.append(sum(c["submissions"] for c in after.values()) - sum(c["submissions"] for c in before.values()))
            for name, client in after.items():
                self.assertEqual({k: client[k] for k in FACTS}, {k: first[name][k] for k in FACTS})
                self.assertEqual(client["process"], first[name]["process"])
                self.assertEqual(client["without_daemon"]["times"], times)
                self.assertGreater(client["without_daemon"]["ns"], times * 0.9e9)
            jobs = {name: client["jobs"] for name, client in after.items()}  # and it is served
            self.clients(daemon, lambda clients: all(c["jobs"] > jobs[name] + 2 for name, c in clients.items()))
        open(done, "w").close()
        for name, program in programs.items():
            code, out, err = finish(program)
            self.assertEqual((code, out), (0, "until: worked\n"), (name, err))
            self.assertEqual(len(err.splitlines()), 4, err)
        _, err, steps = daemon.end()
        self.assertEqual(err, "")
        return with_daemon, without, steps

    def test_open(self):
        for policy in POLICIES:
            with self.subTest(policy=policy[0]):
                _, without, _ = self.under_load(policy, [])
                self.assertGreater(min(without), 100)

    def test_held(self):
        for policy in POLICIES:
            with self.subTest(policy=policy[0]):
                with_daemon, without, steps = self.under_load(policy, ["--held"])
                for a_second, meanwhile in zip(with_daemon, without):  # what was on its way when it was killed, and what came back
                    self.assertLess(meanwhile, a_second / 2)
                opened = set()
                for _, step, client, *_ in steps:
                    if step == "permitted" and policy[0] != "disengaged-fair-queueing":
                        opened.add(client)
                        self.assertEqual(len(opened), 1)
                    elif step in ("drained", "exited"):
                        opened.discard(client)

    def test_one_that_does_not_answer_for_long(self):
        """Programs that it leaves without an answer go on, and it schedules them when it is back."""
        daemon = Daemon("--policy", "piv")
        go = daemon.folder + "/go"
        done = {name: f"{daemon.folder}/{name}-is-done" for name in ("stays", "ends")}
        wait = f"touch $0.waits; while [ ! -e {go} ]; do sleep 0.05; done; exec {CLIENT} until $0"
        programs = {name: daemon.start("sh", "-c", wait, file, options=["--name", name, "--priority", "5"]) for name, file in done.items()}
        self.until(lambda: all(os.path.exists(file + ".waits") for file in done.values()), "they wait")
        daemon.process.send_signal(signal.SIGSTOP)
        open(go, "w").close()
        for program in programs.values():
            self.assertIn("does not answer", program.stderr.readline())
        time.sleep(1)
        open(done["ends"], "w").close()  # their gates are open meanwhile
        began = time.monotonic()
        self.assertEqual(programs["ends"].stdout.readline(), "until: worked\n")
        self.assertLess(time.monotonic() - began, 3)
        daemon.process.send_signal(signal.SIGCONT)
        found = self.until(lambda: [client for client in daemon.status()["clients"] if client["jobs"] > 3], "it returns")
        self.assertEqual([(client["name"], client["priority"], client["without_daemon"]["times"]) for client in found], [("stays", 5, 1)])
        open(done["stays"], "w").close()
        code, out, err = finish(programs["stays"])
        self.assertEqual((code, out), (0, "until: worked\n"))
        self.assertIn("the daemon answers", err)
        self.assertEqual(finish(programs["ends"])[0], 0)
        daemon.end()


if __name__ == "__main__":
    unittest.main()
