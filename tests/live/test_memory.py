"""Memory that leaves the GPU and comes back: programs whose memory does not fit together, on the stand-in driver."""

import os
import signal
import subprocess
import tempfile
import time
import unittest

import kill_points
from live_daemon import GANGWAY, STANDIN, finish
from memory_programs import CLIENT, HOLDS, LONG, MIB, STATE, MemoryPrograms, holding


def native(*command, **more):
    result = subprocess.run([CLIENT, *command], capture_output=True, text=True, env=dict(os.environ, LD_LIBRARY_PATH=STANDIN, **more))
    return result.returncode, result.stdout


@unittest.skipUnless(STANDIN, "there is no stand-in driver")
class Memory(MemoryPrograms):
    def test_three_states_on_a_device_that_holds_two(self):
        for policy in (["rr", "--param", "quantum=20 ms"], ["disengaged-timeslice", "--param", "slice=20 ms"], ["timeslice", "--param", "slice=20 ms"],
                       ["cfs"], ["fcfs"], ["microkernel-rr", "--param", "blocks=job", "--param", "slice=20 ms"],
                       ["microkernel-rr", "--param", "blocks=job", "--param", "slice=20 ms", "--param", "keep=while-room"]):
            with self.subTest(policy=policy[0]):
                daemon = self.daemon(*policy, device=holding(2.1))
                stop = daemon.folder + "/stop"
                programs = [self.start(daemon, "holds", str(i), "0", STATE, stop, options=["--name", f"p{i}"]) for i in range(3)]
                for program in programs:
                    self.assertEqual(program.stdout.readline(), HOLDS)
                self.until(lambda: all(client["memory"]["restores"] > 0 for client in self.clients(daemon).values()),
                           "all have gone and come back")
                status = daemon.status()
                table = subprocess.run([GANGWAY, "status", "--socket", daemon.socket], check=True, capture_output=True, text=True).stdout
                self.assertRegex(table, r"memory: 0\.\d GiB on the GPU of 0\.\d GiB, 0\.\d GiB away\n(.*\n)*name .* memory   GiB moves\n"
                                        r"(p\d .* (here|away|leaves|comes) +0\.\d +\d+\n){3}(p\d \(\d+\): .*\n)*$")  # on a busy machine some drain late
                memory = [client["memory"] for client in status["clients"]]
                self.assertLessEqual(sum(m["resident"] for m in memory), status["memory"]["capacity"])
                open(stop, "w").close()
                self.all_end_well(daemon, programs, *["jobs many\n"] * 3)
                daemon.end()

    def test_a_policy_that_orders_moves_has_one_state_prepared_ahead(self):
        # There is room for three of the four.
        daemon = self.daemon("microkernel-rr", "--param", "blocks=job", "--param", "slice=20 ms", device=holding(3.1))
        stop = daemon.folder + "/stop"
        programs = [self.start(daemon, "holds", str(i), "0", STATE, stop, options=["--name", f"p{i}"]) for i in range(4)]
        for program in programs:
            self.assertEqual(program.stdout.readline(), HOLDS)
        self.until(lambda: all(client["memory"]["restores"] > 2 for client in self.clients(daemon).values()), "all have come back")
        open(stop, "w").close()
        self.all_end_well(daemon, programs, *["jobs many\n"] * 4)
        coming, most = set(), 0
        for _, step, client, *_ in daemon.end()[2]:
            if step == "comes":
                coming.add(client)
            elif step == "came":
                coming.discard(client)
            most = max(most, len(coming))
        self.assertEqual(most, 1)

    def test_states_of_large_pieces_swap(self):
        # Neither's large piece fits beside the other's.
        daemon = self.daemon("rr", "--param", "quantum=20 ms", device=740)
        stop, calls = daemon.folder + "/stop", daemon.folder + "/calls"
        programs = []
        for i, log in enumerate([{"STANDIN_LOG": calls}, {}]):  # the second when the first has all it wants
            programs.append(self.start(daemon, "large", str(i), "0", "600", stop, options=["--name", f"p{i}"], **log))
            line = programs[i].stdout.readline()
            while i == 1 and line.startswith("no memory"):  # pinning took a busy machine longer than an ask waits
                finish(programs[i])
                programs[i] = self.start(daemon, "large", "1", "0", "600", stop, options=["--name", "p1"])
                line = programs[i].stdout.readline()
            self.assertEqual(line, "holds 600\n")
            if i == 0:  # nothing has moved
                table = subprocess.run([GANGWAY, "status", "--socket", daemon.socket], check=True, capture_output=True, text=True).stdout
                self.assertRegex(table, r"memory: 0\.6 GiB on the GPU of 0\.7 GiB, 0\.0 GiB away\n")
                self.assertRegex(table, r"p0 .* here +0\.6 +0\n$")
        self.until(lambda: all(client["memory"]["restores"] > 0 for client in self.clients(daemon).values()), "both have gone and come back")
        open(stop, "w").close()
        self.all_end_well(daemon, programs, *["jobs many\n"] * 2)
        with open(calls) as log:
            first = log.read().partition("cuMemUnmap")[0]  # until its state leaves for the first time
        # 596 MiB are one piece until they leave; and there are 4 MiB.
        self.assertEqual([first.count(call + "(") for call in ("cuMemCreate", "cuMemMap", "cuMemSetAccess")], [2, 2, 2])
        daemon.end()

    def test_a_turn_lasts_a_time_slice_unless_jobs_are_asked_for(self):
        for policy, options, whole in ((["rr", "--param", "quantum=20 ms"], [], True), (["rr", "--param", "quantum=20 ms"], ["--jobs", "sync"], False),
                                       (["fcfs"], [], False), (["disengaged-timeslice", "--param", "slice=20 ms"], [], False)):
            with self.subTest(policy=policy, options=options):
                daemon = self.daemon(*policy, device=holding(1.7))
                stop = daemon.folder + "/stop"
                programs = [self.start(daemon, "holds", str(i), "0", STATE, stop, options=["--name", f"p{i}", *options]) for i in range(3)]
                for program in programs:
                    self.assertEqual(program.stdout.readline(), HOLDS)
                self.until(lambda: all(client["memory"]["restores"] > 1 for client in self.clients(daemon).values()), "all have gone and come back")
                jobs = [client["jobs"] for client in daemon.status()["clients"]]
                self.assertEqual([count == 1 for count in jobs], [whole] * 3, jobs)
                open(stop, "w").close()
                self.all_end_well(daemon, programs, *["jobs many\n"] * 3)
                self.assertEqual("each program is one job" in daemon.end()[1], policy[0] == "rr")

    def said_of_slices(self, quantum, count=2):
        # All fit: what is said does not depend on that.
        daemon = self.daemon("rr", "--param", f"quantum={quantum}", device=holding(3.6))
        stop = daemon.folder + "/stop"
        programs = [self.start(daemon, "holds", str(i), "0", STATE, stop) for i in range(count)]
        for program in programs:
            self.assertEqual(program.stdout.readline(), HOLDS)
        time.sleep(0.3)
        states = sum(client["memory"]["resident"] for client in daemon.status()["clients"])
        open(stop, "w").close()
        self.all_end_well(daemon, programs, *["jobs many\n"] * count)
        return [line for line in daemon.end()[0].splitlines() if "slice" in line], states

    def test_a_slice_as_long_as_equation_1_asks_for_is_too_short(self):
        lines, states = self.said_of_slices("90 s")
        self.assertEqual(lines, [])
        bound = int(states * 1e9 / 45e9)  # ns, at the bus's speed both ways
        self.assertEqual(self.said_of_slices(f"{bound + 1} ns")[0], [])
        lines, _ = self.said_of_slices(f"{bound} ns")
        words = f"the slice of {bound / 1e6:.3f} ms under rr is not longer than the {bound / 1e6:.3f} ms that the two largest memories take to go and come"
        self.assertEqual(lines[-1], words + ", so moves are not hidden")
        # Of one alone nothing ever moves.
        self.assertEqual(self.said_of_slices("1 us", 1)[0], [])

    def test_random_allocations_under_moves(self):
        steps = 20000 if LONG else 150
        daemon = self.daemon("rr", "--param", "quantum=5 ms", "--linger", "200 us")
        programs = [self.start(daemon, "random", str(seed), str(steps), "40") for seed in range(3)]
        self.all_end_well(daemon, programs, *[f"random {steps}\n"] * 3)
        daemon.end()

    def test_what_pytorch_allocates_under_moves(self):
        # Recorded on a GPU. No two fit together; in moves each is away most of the time.
        rounds = 20 if LONG else 1
        daemon = self.daemon("rr", "--param", "quantum=800 ms", "--linger", "200 ms", device=450)
        programs, answers = [], []
        for mode, name in (("replays", "plain"), ("replays", "expandable"), ("replays-blocks", "collected")):
            path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "allocations", name + ".txt")
            programs.append(self.start(daemon, mode, "1", str(rounds), "1", path))
            with open(path) as file:
                answers.append(f"replayed {rounds * sum(not line.startswith('#') for line in file)}\n")
        self.all_end_well(daemon, programs, *answers)
        came = [client for _, step, client, *_ in daemon.end()[2] if step == "came"]
        self.assertEqual(len(set(came)), 3)
        self.assertGreater(len(came), 3)

    def test_memory_that_goes_with_its_context(self):
        daemon = self.daemon("rr")
        self.all_end_well(daemon, [self.start(daemon, "resets", "0", "8", "60")], "resets 8\n")
        daemon.end()

    def goes_away(self, daemon, *command, state=STATE):
        """A program whose state has left, the one that needs the room, and the files for which these two wait."""
        go, stop = daemon.folder + "/go", daemon.folder + "/stop"
        program = self.start(daemon, *command, state, go, options=["--name", "away"])
        self.assertEqual(program.stdout.readline(), f"holds {state}\n")
        other = self.start(daemon, "holds", "1", "0", state, stop, options=["--name", "other"])
        self.assertEqual(other.stdout.readline(), f"holds {state}\n")
        self.until(lambda: self.clients(daemon)["away"]["memory"]["state"] == "away", "it leaves")
        return program, other, go, stop

    def test_addresses_that_are_looked_up_while_the_memory_is_away(self):
        for way in ("copy", "memset", "word", "copy node", "memset node"):
            with self.subTest(way=way):
                daemon = self.daemon("rr", "--param", "quantum=20 ms", device=holding(1.4))
                number = ("copy", "memset", "word", "copy node", "memset node").index(way)
                program, other, go, stop = self.goes_away(daemon, "captures", "1", str(number))
                open(go, "w").close()
                code, out, err = finish(program)
                self.assertEqual((code, out, err), (0, "captured 3030303\n", ""))
                open(stop, "w").close()
                self.all_end_well(daemon, [other], "jobs many\n")
                daemon.end()

    def test_a_context_that_a_fault_has_ended(self):
        daemon = self.daemon("rr")
        answers = "synchronize 700\nallocate 700 700 700\nfree 700 700\ninfo 700\n"
        self.assertEqual(native("faults", "0", "1", "1"), (0, answers))
        self.all_end_well(daemon, [self.start(daemon, "faults", "0", "1", "1")], answers)
        daemon.end()

    def test_a_free_waits_for_the_memory_s_context(self):
        answers = "".join(f"{kind}, {context} context: 0 0\n" for kind in ("plain", "pooled") for context in ("own", "another"))
        self.assertEqual(native("frees-elsewhere", "0", "1", "1"), (0, answers))
        daemon = self.daemon("rr")
        self.all_end_well(daemon, [self.start(daemon, "frees-elsewhere", "0", "1", "1")], answers)
        daemon.end()

    def test_memory_in_the_order_of_another_context_s_stream(self):
        answers = "".join(f"{context} context: 0 0 0, 0\n" for context in ("own", "another", "no"))
        self.assertEqual(native("ordered-elsewhere", "0", "1", "1"), (0, answers))
        daemon = self.daemon("rr")
        self.all_end_well(daemon, [self.start(daemon, "ordered-elsewhere", "0", "1", "1")], answers)
        daemon.end()

    def as_natively(self, mode, answers, **more):
        self.assertEqual(native(mode, "0", "1", "1", STANDIN_MEMORY=str(160 * MIB)), (0, answers))
        daemon = self.daemon("rr")
        self.all_end_well(daemon, [self.start(daemon, mode, "0", "1", "1", **more)], answers)
        daemon.end()

    def test_allocations_are_nothing_that_the_program_has_mapped(self):
        self.as_natively("maps-allocations", "retain 1, access 1, unmap 1, free 0\n" * 2
                         + f"1 descriptions 0\n200 descriptions 1\n{1 << 40} descriptions 1\n")

    def test_attributes_of_allocations(self):
        self.as_natively("attributes", "before 0, set 0, after 1, other 0\nnumbers differ: 1 1\nanew 0, 1\n")

    def test_pools_of_all_kinds(self):
        answers = "none 1\n" + "".join(f"{kind} 0\n{kind} {2 if kind == 'limited' else 0}\n" for kind in ("plain", "limited", "managed", "host"))
        with tempfile.TemporaryDirectory() as folder:
            self.as_natively("pools", answers, STANDIN_LOG=folder + "/calls")
            with open(folder + "/calls") as log:
                calls = log.read()
        # None, and two of each kind that does not move.
        self.assertEqual(calls.count("cuMemAllocFromPoolAsync("), 5)

    def test_arrays_that_take_less_than_their_size(self):
        # The stand-in has no arrays, and says so. Where there is no room for one, it is not asked.
        answers = "sparse 801\ndeferred 801\nendless 801\ncompressed 801\nlevels 801\ntoo large 801\n"
        self.assertEqual(native("arrays", "0", "1", "1", STANDIN_MEMORY=str(160 * MIB)), (0, answers))
        daemon = self.daemon("rr")
        self.all_end_well(daemon, [self.start(daemon, "arrays", "0", "1", "1")], answers.replace("too large 801", "too large 2"))
        daemon.end()

    def test_memory_that_outlives_the_latest_context(self):
        for when in ("before it leaves", "while it is away"):
            with self.subTest(when=when):
                daemon = self.daemon("rr", "--param", "quantum=20 ms")
                number = ("before it leaves", "while it is away").index(when)
                program, other, go, stop = self.goes_away(daemon, "outlives", "1", str(number), state="64")
                open(go, "w").close()
                self.all_end_well(daemon, [program], "found 5\n")
                open(stop, "w").close()
                self.all_end_well(daemon, [other], "jobs many\n")
                self.assertNotIn("failed", [step for _, step, *_ in daemon.end()[2]])

    def test_one_that_cannot_leave_keeps_nobody_waiting(self):
        # It is stopped by a signal, or a fault has ended its context: who asks for the room hears that there is none.
        for what in ("stopped", "faulted"):
            with self.subTest(what=what):
                daemon = self.daemon("rr", "--param", "quantum=20 ms", device=holding(1.4))
                stop = daemon.folder + "/stop"
                fault = {"STANDIN_FAIL": "cuMemcpyDtoHAsync_v2:1:1000000:700:gangway-memory"} if what == "faulted" else {}
                first = self.start(daemon, "captures", "1", "0", STATE, stop, options=["--name", "first"], **fault)
                self.assertEqual(first.stdout.readline(), HOLDS)
                process = self.clients(daemon)["first"]["process"]
                if what == "stopped":
                    os.kill(process, signal.SIGSTOP)
                begun = time.monotonic()
                for _ in range(2):
                    code, out, err = finish(self.start(daemon, "holds", "2", "1", STATE))
                    self.assertEqual((code, err), (6, ""), out)
                    self.assertTrue(out.startswith("no memory at"), out)
                self.assertLess(time.monotonic() - begun, 20)
                os.kill(process, signal.SIGCONT)
                open(stop, "w").close()
                self.all_end_well(daemon, [first], "captured 3030303\n")
                self.assertLess(len([step for _, step, *_ in daemon.end()[2] if step == "failed"]), 100)

    def test_memory_freed_in_a_streams_order(self):
        daemon = self.daemon("rr", "--capacity", "200 MiB", device=300)
        stop = daemon.folder + "/stop"
        program = self.start(daemon, "ordered", "1", "1", "1", stop)
        # 3 MiB and 4 bytes are counted as 512 more; they are freed, but held until the stream has come so far.
        large, small = 3 * MIB + 512, MIB
        for line in ("in the same stream: at once, 3145216", "in another: elsewhere", "in a new one: elsewhere",
                     f"used {small}, most {large}; held {large + small}, most {large + small}",
                     f"used 0, most {large}; held 0, most {large + small}"):
            self.assertEqual(program.stdout.readline().strip(), line)

        def movable():
            return next(iter(self.clients(daemon).values()))["memory"]["resident"]

        for number, line, least, most in ((1, "keeps nothing", 0, 70), (2, "keeps all", 100, 140), (3, "trimmed", 0, 30), (4, "destroyed", 0, 30), (5, "bounded", 70, 110)):
            self.assertEqual(program.stdout.readline().strip(), line)
            self.assertTrue(least * MIB <= movable() <= most * MIB, (line, movable()))
            open(f"{stop}.{number}", "w").close()
        self.all_end_well(daemon, [program], "")
        daemon.end()

    def test_memory_that_comes_and_goes_in_a_streams_order(self):
        """Two that do not fit together, and free memory while their state is under way."""
        daemon = self.daemon("rr", "--param", "quantum=5 ms", "--linger", "200 us", "--capacity", "120 MiB", device=300)
        programs = [self.start(daemon, "churns", str(seed), "40", "60") for seed in range(2)]
        self.all_end_well(daemon, programs, *["churns 40\n"] * 2)
        daemon.end()

    def test_a_program_alone_gets_all_and_no_more(self):
        alone = int(native("takes", "1", "1", "1", STANDIN_MEMORY=str(120 * MIB))[1].split()[1])
        daemon = self.daemon("rr", "--capacity", "120 MiB", device=200)
        code, out, err = finish(self.start(daemon, "takes", "1", "1", "1"))
        self.assertEqual((code, err), (0, ""))
        self.assertGreaterEqual(int(out.split()[1]), alone - 2)
        self.assertLessEqual(self.refused(daemon)[1], 122 * MIB)
        # What another one holds counts, if it cannot leave.
        stays = self.start(daemon, "holds", "1", "0", "40", daemon.folder + "/stop", options=["--memory", "native"])
        self.assertEqual(stays.stdout.readline(), "holds 40\n")
        code, out, err = finish(self.start(daemon, "takes", "1", "1", "1"))
        self.assertEqual((code, err), (0, ""))
        open(daemon.folder + "/stop", "w").close()
        self.assertEqual(finish(stays)[0], 0)
        daemon.end()

    def test_killed_in_the_middle_of_a_move(self):
        for point in kill_points.MOVED:
            with self.subTest(point=point):
                daemon = self.daemon("rr", "--param", "quantum=10 ms", device=holding(1.4))
                points = {"GANGWAY_LIVE_POINTS": "1"}
                stop = daemon.folder + "/stop"
                honest = [self.start(daemon, "holds", "1", "0", STATE, stop, options=["--name", "honest"])]
                self.assertEqual(honest[0].stdout.readline(), HOLDS)
                folder = self.points_folder(daemon)
                dies = subprocess.Popen([GANGWAY, "exec", "--socket", daemon.socket, "--name", "dies", "--", "/usr/bin/env",
                                         f"LD_LIBRARY_PATH={folder}", f"GANGWAY_DIE_AT={point}", CLIENT, "holds", "2", "1000000", STATE],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=daemon.environment(**self.device, **points))
                code, _, err = finish(dies)
                self.assertEqual(code, -signal.SIGKILL, err)
                more = self.start(daemon, "holds", "3", "30", STATE)
                self.assertEqual(more.stdout.readline(), HOLDS)
                open(stop, "w").close()
                self.all_end_well(daemon, [*honest, more], "jobs many\n", "jobs 30\n")
                daemon.end()

    def test_the_daemon_is_killed_in_the_middle_of_moves(self):
        for held in (["--held"], []):
            with self.subTest(held=held):
                daemon = self.daemon("rr", "--param", "quantum=10 ms", *held, device=holding(1.4))
                stop = daemon.folder + "/stop"
                programs = [self.start(daemon, "holds", str(i), "0", STATE, stop, options=["--name", f"p{i}"]) for i in range(3)]
                for program in programs:
                    self.assertEqual(program.stdout.readline(), HOLDS)
                for _ in range(4):
                    self.until(lambda: any(client["memory"]["state"] in ("leaves", "comes", "away") for client in self.clients(daemon).values()),
                               "a move")
                    daemon.process.kill()
                    daemon.process.communicate()
                    time.sleep(0.05)
                    daemon.serve("--policy", "rr", "--param", "quantum=10 ms", "--memory", "managed", *held)
                    self.until(lambda: len(self.clients(daemon)) == 3, "all return")
                    before = {name: client["memory"]["restores"] for name, client in self.clients(daemon).items()}
                    self.until(lambda: all(client["memory"]["restores"] > before[name] for name, client in self.clients(daemon).items()),
                               "moves go on")
                open(stop, "w").close()
                for program in programs:
                    code, out, err = finish(program)
                    self.assertEqual((code, out), (0, "jobs many\n"), err)
                daemon.end()

    def read_only(self, daemon, what, stop, *options):
        programs = [self.start(daemon, what, str(i), "0", "64", stop, options=["--name", f"p{i}", "--read-only", "40 MiB", *options]) for i in range(2)]
        for program in programs:
            self.assertEqual(program.stdout.readline(), "holds 60\n")
        return programs

    def test_what_no_kernel_writes_is_not_copied_again(self):
        for check in ([], ["--check-read-only"]):
            with self.subTest(check=check):
                daemon = self.daemon("rr", "--param", "quantum=20 ms")
                stop = daemon.folder + "/stop"
                programs = self.read_only(daemon, "reads", stop, *check)
                self.until(lambda: all(client["memory"]["saves"] > 8 for client in self.clients(daemon).values()), "moves")
                for client in self.clients(daemon).values():
                    memory = client["memory"]
                    self.assertEqual((memory["read_only"], memory["read_only_but_written"]), (40 * MIB, 0))
                    # Every save copies the rest, and these 40 MiB the first time and after they were set.
                    times = (memory["saved"] - memory["saves"] * 22 * MIB) / (40 * MIB)
                    self.assertLess(times, memory["saves"] * 0.75, memory)
                    self.assertGreaterEqual(memory["spared"], 40 * MIB)
                open(stop, "w").close()
                self.all_end_well(daemon, programs, *["jobs many\n"] * 2)
                daemon.end()

    def test_words_that_operations_write_are_not_lost(self):
        daemon = self.daemon("rr", "--param", "quantum=20 ms")
        programs = self.read_only(daemon, "words", daemon.folder + "/stop")
        self.until(lambda: all(client["memory"]["saves"] > 8 for client in self.clients(daemon).values()), "moves")
        open(daemon.folder + "/stop", "w").close()
        self.all_end_well(daemon, programs, *["jobs many\n"] * 2)
        daemon.end()

    def test_a_wrong_declaration_is_found(self):
        daemon = self.daemon("rr", "--param", "quantum=20 ms")
        stop = daemon.folder + "/stop"
        programs = self.read_only(daemon, "spoils", stop, "--check-read-only")
        self.until(lambda: all(client["memory"]["read_only_but_written"] == 40 * MIB for client in self.clients(daemon).values()), "a look")
        before = {name: client["memory"]["saves"] for name, client in self.clients(daemon).items()}
        self.until(lambda: all(client["memory"]["saves"] > before[name] + 3 for name, client in self.clients(daemon).items()), "moves go on")
        open(stop, "w").close()
        for program in programs:
            code, out, err = finish(program)
            self.assertEqual((code, out), (0, "jobs many\n"), err)
            self.assertRegex(err, r"^gangway: process \d+: memory that was declared read-only was written by a kernel\n$")
        daemon.end()

    def test_nobody_looks_at_a_wrong_declaration(self):
        # What a kernel has written is lost then: the words are meant.
        daemon = self.daemon("rr", "--param", "quantum=20 ms")
        programs = self.read_only(daemon, "spoils", daemon.folder + "/stop")
        self.until(lambda: any(program.poll() is not None for program in programs), "a loss")  # then the other one has the device alone
        open(daemon.folder + "/stop", "w").close()
        self.assertIn(4, [finish(program)[0] for program in programs])
        daemon.end()

    def test_no_host_memory(self):
        # Nobody can leave: who does not fit hears that there is no memory, and the others go on.
        for limit in ({"options": ["--host-memory", "8 MiB"]}, {"device": {"STANDIN_HOST_MEMORY": str(8 * MIB)}}):
            with self.subTest(limit=limit):
                daemon = self.daemon("rr", "--param", "quantum=10 ms", *limit.get("options", []), device=holding(2.6), **limit.get("device", {}))
                stop = daemon.folder + "/stop"
                first = [self.start(daemon, "holds", str(i), "0", STATE, stop) for i in range(2)]
                for program in first:
                    self.assertEqual(program.stdout.readline(), HOLDS)
                code, out, err = finish(self.start(daemon, "holds", "7", "10", STATE))
                self.assertEqual((code, err), (6, ""), out)
                self.assertTrue(out.startswith("no memory at"), out)
                open(stop, "w").close()
                self.all_end_well(daemon, first, "jobs many\n", "jobs many\n")
                daemon.end()

    def test_a_copy_that_fails(self):
        # Of the thread that moves the memory alone: the program itself meets no error, and its state moves again later.
        for call, error in (("cuMemcpyDtoHAsync_v2:2:3", 719), ("cuMemcpyHtoDAsync_v2:2:3", 719), ("cuMemCreate:2:3", 999), ("cuMemUnmap:2:3", 1)):
            with self.subTest(call=call):
                daemon = self.daemon("rr", "--param", "quantum=10 ms", device=holding(1.4))
                stop = daemon.folder + "/stop"
                programs = [self.start(daemon, "holds", "1", "0", STATE, stop, options=["--name", "fails"], STANDIN_FAIL=f"{call}:{error}:gangway-memory"),
                            *[self.start(daemon, "holds", str(i), "0", STATE, stop, options=["--name", f"p{i}"]) for i in range(2)]]
                for program in programs:
                    self.assertEqual(program.stdout.readline(), HOLDS)
                self.until(lambda: self.clients(daemon)["fails"]["memory"]["failed"] > 0, "a failure")
                memory = {name: client["memory"] for name, client in self.clients(daemon).items()}
                self.assertEqual(memory["fails"]["last_error"], error)
                self.until(lambda: all(client["memory"]["restores"] > memory[name]["restores"] + 1 for name, client in self.clients(daemon).items()),
                           "moves go on")
                open(stop, "w").close()
                self.all_end_well(daemon, programs, *["jobs many\n"] * 3)
                daemon.end()


if __name__ == "__main__":
    unittest.main()
