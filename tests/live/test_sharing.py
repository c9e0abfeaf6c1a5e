"""Programs that share a GPU: in turns, by priority, with limits, in groups."""

import shutil
import signal
import time
import unittest

from live_daemon import CLIENT, STANDIN, Daemon, finish, native


@unittest.skipUnless(STANDIN, "there is no stand-in driver")
class Channels(unittest.TestCase):
    """NEON's limits: C streams and contexts for each, and so many clients as can all have them."""

    def test_nobody_hoards_streams(self):
        self.assertEqual(native(CLIENT, "hoards", "50")[:2], (0, "hoards 50, then 0\n"))
        daemon = Daemon("--policy", "disengaged-timeslice", "--param", "channels=3")
        self.assertEqual(daemon.run(CLIENT, "hoards", "50"), (0, "hoards 3, then 701\n", ""))  # out of resources
        self.assertEqual(daemon.run(CLIENT, "hoards", "3"), (0, "hoards 3, then 0\n", ""))
        self.assertEqual(daemon.run(CLIENT, "jobs", "3")[:2], native(CLIENT, "jobs", "3")[:2])
        daemon.end()
        daemon = Daemon("--policy", "disengaged-timeslice")
        self.assertEqual(daemon.run(CLIENT, "hoards", "50"), (0, "hoards 50, then 0\n", ""))
        daemon.end()

    def test_a_group_does_not_hoard_more_than_a_client(self):
        daemon = Daemon("--policy", "disengaged-timeslice", "--param", "channels=7", "--channels", "7")
        programs = [daemon.start(CLIENT, "hoards", "7", options=["--group", "g"]) for _ in range(3)]
        had = [int(program.stdout.readline().split()[1].rstrip(",")) for program in programs]
        self.assertLessEqual(sum(had), 7 + 6)  # what is made while another one comes is one look late
        last = daemon.run(CLIENT, "hoards", "7", options=["--group", "g"])
        self.assertEqual(last[1], "hoards 0, then 701\n" if sum(had) >= 7 else last[1])
        self.assertEqual(daemon.run(CLIENT, "jobs", "3", options=["--group", "g"])[:2], native(CLIENT, "jobs", "3")[:2])
        for program in programs:
            finish(program)
        daemon.end()

    def test_clients_for_whom_nothing_is_left_are_refused(self):
        daemon = Daemon("--policy", "trap-per-request", "--param", "channels=8", "--channels", "16")
        first = [daemon.start(CLIENT, "hoards", "7") for _ in range(2)]
        for program in first:
            self.assertEqual(program.stdout.readline(), "hoards 7, then 0\n")
        code, out, _ = daemon.run(CLIENT, "jobs", "3")
        self.assertEqual((code, out.split(":")[1]), (3, " error 701\n"))
        for program in first:
            self.assertEqual(finish(program)[0], 0)
        self.assertEqual(daemon.run(CLIENT, "jobs", "3")[:2], native(CLIENT, "jobs", "3")[:2])  # now there is room
        daemon.end()


@unittest.skipUnless(STANDIN, "there is no stand-in driver")
class Groups(unittest.TestCase):
    def test_programs_of_a_group_take_turns_with_others_and_not_with_each_other(self):
        daemon = Daemon("--policy", "disengaged-timeslice", "--param", "slice=20 ms")
        programs = [daemon.start(CLIENT, "jobs", "1000000", options=["--name", name, *more])
                    for name, more in (("a", ["--group", "g"]), ("b", ["--group", "g"]), ("c", []))]
        end, seen = time.monotonic() + 60, set()
        while time.monotonic() < end and not {("open", "closed"), ("closed", "open")} <= seen:
            clients = {client["name"]: client for client in daemon.status()["clients"]}
            if len(clients) < 3:
                continue
            self.assertEqual([clients[name]["group"] for name in "abc"], ["g", "g", None])
            self.assertEqual(clients["a"]["access"], clients["b"]["access"])
            seen.add((clients["a"]["access"], clients["c"]["access"]))
            time.sleep(0.005)
        self.assertLessEqual({("open", "closed"), ("closed", "open")}, seen)
        self.assertNotIn(("open", "open"), seen)
        for program in programs:
            program.terminate()
            finish(program)
        while (clients := daemon.status()["clients"]) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(clients, [])
        daemon.end()


@unittest.skipUnless(STANDIN, "there is no stand-in driver")
class Together(unittest.TestCase):
    def together(self, *policy, commands, priorities=(0, 5)):
        daemon = Daemon(*policy)
        started = [daemon.start(*command, options=["--name", f"p{i}", "--priority", str(priorities[i])])
                   for i, command in enumerate(commands)]
        results = [finish(process) for process in started]
        out, err, steps = daemon.end()
        for (code, text, errors), command in zip(results, commands):
            self.assertEqual(code, 0, (command, text, errors, out))
        self.assertEqual(err, "")
        return [text for _, text, _ in results], steps

    def never_two_open(self, steps):
        opened = set()
        for _, step, client, _, value in steps:
            if step == "permitted":
                opened.add(client)
                self.assertEqual(len(opened), 1, (client, opened))
            elif step in ("drained", "exited"):
                opened.discard(client)

    def test_slices(self):
        _, steps = self.together("--policy", "disengaged-timeslice", "--param", "slice=4 ms",
                                 commands=[[CLIENT, "jobs", "40"], [CLIENT, "jobs", "40"]])
        self.never_two_open(steps)
        turns = [client for _, step, client, _, _ in steps if step == "permitted"]
        for client in ("0", "1"):
            self.assertGreater(turns.count(client), 2)

    def test_jobs_of_two_priorities(self):
        for options in ([], ["--in-flight", "2"]):
            _, steps = self.together("--policy", "piv", *options, commands=[[CLIENT, "jobs", "60"], [CLIENT, "jobs", "20"]])
            self.never_two_open(steps)

    def test_capture_during_revocation(self):
        for policy in (["disengaged-timeslice", "--param", "slice=2 ms"], ["piv", "--in-flight", "2"]):
            self.together("--policy", *policy, commands=[[CLIENT, "captures", "25"], [CLIENT, "jobs", "25"]])

    def test_captures_that_end_with_their_stream_or_context(self):
        daemon = Daemon("--policy", "piv")
        self.assertEqual(daemon.run(CLIENT, "abandons", "50"), (0, "abandons 50\n", ""))
        out, _, _ = daemon.end()
        self.assertIn("50 submissions in 50 jobs", out)

    def test_a_host_function_that_needs_the_gate(self):
        _, steps = self.together("--policy", "piv", "--drain-limit", "20 ms",
                                 commands=[[CLIENT, "callback", "6"], [CLIENT, "jobs", "60"]])
        _, steps = self.together("--policy", "disengaged-timeslice", "--param", "slice=5 ms", "--param", "limit=30 s",
                                 "--drain-limit", "20 ms", commands=[[CLIENT, "callback", "4"], [CLIENT, "jobs", "20"]])
        self.assertIn("returned", [s[1] for s in steps])

    def test_a_kernel_that_never_ends_costs_its_program_its_life_and_others_a_limit(self):
        # However short the limit on a drain: its jobs may have become uninterrupted by then.
        for policy in ("timeslice", "disengaged-timeslice", "disengaged-fair-queueing"):
            for behind in ("0", "40"):
                with self.subTest(policy=policy, behind=behind):
                    daemon = Daemon("--policy", policy, "--param", "limit=150 ms", "--drain-limit", "20 ms")
                    honest = daemon.start(CLIENT, "jobs", "60", options=["--name", "honest"])
                    endless = daemon.start(CLIENT, "endless", "2", behind, options=["--name", "endless"])
                    self.assertEqual(finish(honest)[:2], native(CLIENT, "jobs", "60")[:2])
                    more = [daemon.run(CLIENT, "jobs", "20") for _ in range(3)]  # it is there until somebody else wants the GPU
                    self.assertEqual([code for code, _, _ in more], [0, 0, 0])
                    code, _, err = finish(endless)
                    why = "because its work on the GPU exceeded the policy's limit while others waited\n"
                    self.assertEqual((code, err), (-signal.SIGKILL, f"gangway: the daemon killed {CLIENT}, {why}"))
                    totals = daemon.status()["totals"]
                    out, _, steps = daemon.end()
                    self.assertIn("): killed, " + why, out)
                    self.assertEqual([step[1] for step in steps].count("killed"), 1)
                    self.assertEqual((totals["killed"], totals["permits_returned"]), (1, [step[1] for step in steps].count("returned")))
                    self.assertGreater(totals["permits_returned"], 0)

    def test_the_daemons_death_leaves_programs_running(self):
        daemon = Daemon("--policy", "disengaged-timeslice", "--param", "slice=3 ms")
        started = [daemon.start(CLIENT, "jobs", "300"), daemon.start(CLIENT, "jobs", "300")]
        while not any(",drained," in line for line in daemon.logged()):
            time.sleep(0.02)
            daemon.process.poll()
            if all(process.poll() is not None for process in started):
                break
        daemon.process.kill()
        daemon.process.communicate()
        for process in started:
            code, out, err = finish(process)
            self.assertEqual((code, out.split()[:2]), (0, ["jobs", "300"]), err)
        shutil.rmtree(daemon.folder)


if __name__ == "__main__":
    unittest.main()
