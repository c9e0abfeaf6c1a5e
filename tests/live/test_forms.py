"""Kernels that leave before their end, of programs that nobody changed: the stand-in carries their PTX out."""

import json
import os
import random
import signal
import subprocess
import time
import unittest
from pathlib import Path

import kill_points
from live_daemon import GANGWAY, LIMIT, LOOK, STANDIN, Daemon, finish

CLIENT = os.environ.get("GANGWAY_FORMS_CLIENT", "")
POINTS = os.environ.get("GANGWAY_POINTS", "")
PTX = Path(__file__).with_name("forms_kernels.ptx")
BOUNDED = Path(__file__).with_name("bounded_kernels.ptx")
WAITING = Path(__file__).with_name("waiting_kernels.ptx")
LONG = bool(os.environ.get("GANGWAY_LONG"))

# The stand-in's machine code is PTX.
ASSEMBLER = """#!/bin/sh
[ "$1" = --version ] && { echo "Cuda compilation tools, release 0.0, V0.0.1"; exit 0; }
while [ $# -gt 0 ]; do case "$1" in -o) out=$2; shift;; *.ptx) in=$1;; esac; shift; done
cp "$in" "$out"
"""


def tools(folder, prepared=True):
    """Environment of programs whose kernels are prepared by that assembler, in a cache of this folder."""
    assembler = Path(folder) / "ptxas"
    assembler.write_text(ASSEMBLER)
    assembler.chmod(0o755)
    more = {"GANGWAY_CACHE": str(Path(folder) / "cache"), "GANGWAY_PTXAS": str(assembler), "FORMS_PTX": str(PTX), "FORMS_WAITING_PTX": str(WAITING),
            "FORMS_BOUNDED_PTX": str(BOUNDED), "STANDIN_INTERPRET": "1", "STANDIN_CONNECTIONS": "8"}
    if prepared:
        subprocess.run([GANGWAY, "prepare", PTX, WAITING, BOUNDED], env=dict(os.environ, **more), check=True, capture_output=True)
    return more


@unittest.skipUnless(STANDIN and CLIENT, "there is no stand-in driver")
class FormsTest(unittest.TestCase):
    def begin(self, *options, prepared=True):
        daemon = Daemon(*options)
        self.more = tools(daemon.folder, prepared)
        return daemon

    def native(self, *command):
        done = subprocess.run([CLIENT, *command], capture_output=True, text=True, env=dict(os.environ, LD_LIBRARY_PATH=STANDIN, **self.more))
        return done.returncode, done.stdout

    def client(self, daemon, name, limit=60):
        end = time.monotonic() + limit
        while time.monotonic() < end:
            found = [client for client in daemon.status()["clients"] if client["name"] == name]
            if found:
                return found[0]
            time.sleep(0.01)
        raise AssertionError(name + " does not come")

    def with_points(self, daemon, **more):
        """The environment of a program under the daemon whose look-alike has points at which it can die, and takes loops for grids as small as the
        stand-in's (GANGWAY_LOOPS_ABOVE)."""
        links = Path(daemon.folder) / "points"
        if not links.exists():
            links.mkdir()
            (links / "libcuda.so.1").symlink_to(POINTS + "/libgangway-lookalike.so")
            (links / "libgangway-real-cuda.so.1").symlink_to(STANDIN + "/libcuda.so.1")
        return daemon.environment(GANGWAY_SOCKET=daemon.socket, GANGWAY_FORMS="all", **self.more, **more) | {"LD_LIBRARY_PATH": f"{links}:{STANDIN}"}

    def dies_at(self, daemon, point, *command, **more):
        """How the client's `command`, which dies at that point, ends."""
        return finish(subprocess.Popen([CLIENT, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                       env=self.with_points(daemon, GANGWAY_DIE_AT=point, **more)))

    def harms_nobody(self, points, dies):
        """A client dies at each of the points, as `dies` has it, beside one that displaces it."""
        daemon = self.begin("--policy", "piv", "--forms", "all", "--drain-limit", "30 ms")
        done = daemon.folder + "/done"
        urgent = daemon.start(CLIENT, "urgent", done, options=["--name", "urgent", "--priority", "5"], **self.more)
        self.client(daemon, "urgent")
        for point in points:
            code, out, err = dies(daemon, point)
            self.assertEqual(code, -signal.SIGKILL, (point, out, err))
            self.assertIsNone(urgent.poll(), point)
            self.assertIsNone(daemon.process.poll(), point)
        open(done, "w").close()
        self.assertEqual(finish(urgent)[:2], (0, "urgent: worked\n"))
        _, err, _ = daemon.end()
        self.assertEqual(err, "")

    def beside_urgent(self, daemon, *command, least=1, priority=("--priority", "5"), program=False, **more):
        """The client's `command`, or a program, beside one that displaces it again and again: as often as it takes until the other came in time
        and it was displaced `least` times in all. What it prints, the same each time, and its last status, with the evictions of all."""
        command, evictions, before = command if program else (CLIENT, *command), 0, None
        for _ in range(30):
            result, seen, worked = self.once_beside_urgent(daemon, command, priority, more)
            self.assertEqual(result[:2], before or result[:2], result[2])
            before, evictions = result[:2], evictions + seen["evictions"]
            if worked and evictions >= least:
                break
        self.assertTrue(worked)
        self.assertGreaterEqual(evictions, least, (result, seen))
        return result, seen | {"evictions": evictions}

    def once_beside_urgent(self, daemon, command, priority, more):
        done, stays = daemon.folder + "/done", Path(daemon.folder) / "stays"
        Path(done).unlink(missing_ok=True)
        program = daemon.start(*command, options=["--name", "program"], **self.more | {"FORMS_STAYS": str(stays)})
        urgent = daemon.start(CLIENT, "urgent", done, options=["--name", "urgent", *priority], **self.more, **more)
        seen, limit = self.client(daemon, "program"), time.monotonic() + LIMIT
        while program.poll() is None and time.monotonic() < limit:
            last = stays.exists()
            seen = next((c for c in daemon.status()["clients"] if c["name"] == "program"), seen)
            if last:
                stays.unlink()
                break
            time.sleep(LOOK)
        result = finish(program)
        open(done, "w").close()
        said = finish(urgent)[:2]
        self.assertIn(said, ((0, "urgent: worked\n"), (0, "urgent: nothing\n")))
        return result, seen, said[1] == "urgent: worked\n"

    def check_policies(self, policies, *command, in_forms=0):
        for policy in policies:
            with self.subTest(policy=policy):
                daemon = self.begin("--policy", *policy, "--forms", "all")
                result, seen = self.beside_urgent(daemon, *command, least=0)
                self.assertEqual(result[:2], self.native(*command), result[2])
                self.assertGreaterEqual(seen["launches_in_forms"], in_forms)
                daemon.end()

    def check_killed_daemons(self, *policy, then=()):
        """Daemons are killed while kernels are partly done; a client that is held goes on under the next one, others at once. `then`: the next daemons'
        policies, in turns."""
        count = "300" if LONG else "150"
        for held in ([], ["--held"]):
            with self.subTest(held=held):
                daemon = self.begin("--policy", *policy, "--forms", "all", *held)
                done = daemon.folder + "/done"
                program = daemon.start(CLIENT, "riskiest", count, options=["--name", "program"], **self.more)
                urgent = daemon.start(CLIENT, "urgent", done, options=["--name", "urgent", "--priority", "5"], **self.more)
                restarts = 0
                while restarts < 4 and program.poll() is None:
                    seen = [c for c in daemon.status()["clients"] if c["name"] == "program" and c["evictions"] > 3 * restarts]
                    if not seen:
                        time.sleep(LOOK)
                        continue
                    daemon.process.send_signal(signal.SIGKILL)
                    daemon.process.communicate()
                    time.sleep(0.3)
                    daemon.serve("--policy", *(then[restarts % len(then)] if then else policy), "--forms", "all", *held)
                    restarts += 1
                result = finish(program)
                self.assertGreater(restarts, 1, result)
                self.assertEqual(result[:2], self.native("riskiest", count), result[2])
                open(done, "w").close()
                self.assertEqual(finish(urgent)[:2], (0, "urgent: worked\n"))
                daemon.end()


class Results(FormsTest):
    def test_the_riskiest_order_of_work_under_evictions(self):
        for policy in (["piv"], ["frs"]) if LONG else (["piv"],):
            with self.subTest(policy=policy[0]):
                daemon = self.begin("--policy", *policy, "--forms", "all")
                count = "400" if LONG else "60"
                result, seen = self.beside_urgent(daemon, "riskiest", count, least=20)
                self.assertEqual(result[:2], self.native("riskiest", count), result[2])
                self.assertEqual(seen["kernels_without_forms"], 0)
                daemon.end()

    def test_a_kernel_goes_on_from_where_it_left_though_orders_arrive_late(self):
        # What was asked for when the order was submitted must not be answered before the kernel has gone.
        daemon = self.begin("--policy", "piv", "--forms", "all")
        self.more["STANDIN_WRITE_US"] = "2000"
        result, _ = self.beside_urgent(daemon, "riskiest", "30", least=15)
        self.assertEqual(result[:2], self.native("riskiest", "30"), result[2])
        daemon.end()

    def test_copies_of_the_program_that_wait_for_a_kernel_do_not_hold_up_its_return(self):
        daemon = self.begin("--policy", "piv", "--forms", "all")
        self.more["STANDIN_COPY_QUEUES"] = "1"  # copies to the host stand behind each other, as on a GPU with few queues
        result, _ = self.beside_urgent(daemon, "riskiest", "60", least=20)
        self.assertEqual(result[:2], self.native("riskiest", "60"), result[2])
        daemon.end()

    def test_more_streams_at_once_than_a_context_has_connections(self):
        self.check_policies((["piv"], ["frs"], ["disengaged-timeslice", "--param", "slice=3 ms"]), "fans", "40", in_forms=1)

    def test_more_streams_than_connections_that_are_never_without_work(self):
        self.check_policies((["piv"], ["frs"]), "floods", "2000", in_forms=1)

    def test_kernels_that_wait_for_another_stream_of_their_program(self):
        # It finds all queues taken, and goes on all the same.
        daemon = self.begin("--policy", "piv", "--forms", "all")
        result, _ = self.beside_urgent(daemon, "told", "3", least=0)
        self.assertEqual(result[:2], self.native("told", "3"), result[2])
        daemon.end()

    def test_kernels_are_loaded_before_anything_waits(self):
        daemon = self.begin("--policy", "piv", "--forms", "all")
        self.more.update(FORMS_LIBRARY="1", STANDIN_LAZY="1")  # loading a kernel waits for held streams, as on a GPU
        result, _ = self.beside_urgent(daemon, "riskiest", "60", least=20)
        self.assertEqual(result[:2], self.native("riskiest", "60"), result[2])
        daemon.end()

    def test_passes_by_all_policies(self):
        policies = (["piv"], ["frs"], ["srt"], ["rr"], ["cfs"], ["dprr"], ["edf"], ["stride"], ["piv", "--overlap"], ["piv", "--in-flight", "4"],
                    ["disengaged-timeslice", "--param", "slice=3 ms"])
        self.check_policies(policies, "passes", "30" if LONG else "12")

    def test_all_kinds_of_launches(self):
        daemon = self.begin("--policy", "piv", "--forms", "all")
        result, seen = self.beside_urgent(daemon, "kinds", "60")
        self.assertEqual(result[:2], self.native("kinds", "60"), result[2])
        self.assertGreater(seen["launches_in_forms"], 30)
        daemon.end()

    def test_kernels_take_their_forms_though_modules_come_and_go(self):
        daemon = self.begin("--policy", "piv", "--forms", "all")
        result, seen = self.beside_urgent(daemon, "unloads", "60", least=0)
        self.assertEqual(result[:2], self.native("unloads", "60"), result[2])
        self.assertGreater(seen["launches_in_forms"], 40)  # all but the first, as the status was a little before the end
        daemon.end()

    def test_contexts_that_come_and_go(self):
        daemon = self.begin("--policy", "piv", "--forms", "all")
        result, seen = self.beside_urgent(daemon, "contexts", "40", least=0)
        self.assertEqual(result[:2], self.native("contexts", "40"), result[2])
        self.assertGreater(seen["launches_in_forms"], 100)
        daemon.end()

    def test_threads_and_streams_that_come_and_go(self):
        # More than there are control words: each is used again.
        count = "70000" if LONG else "300"
        daemon = self.begin("--policy", "piv", "--forms", "all")
        result, seen = self.beside_urgent(daemon, "threads", count, least=0)
        self.assertEqual(result[:2], (0, f"threads {count} right\n"), result[2])
        self.assertGreater(seen["launches_in_forms"], 60000 if LONG else 100)  # as the status was a little before the end
        daemon.end()

    def test_kernels_that_wait_for_their_program(self):
        # What it does next, the keeper would rather not allow while they are under way.
        self.check_policies((["piv"], ["frs"], ["disengaged-timeslice", "--param", "slice=3 ms"]), "releases", "3", in_forms=1)

    def test_contexts_that_are_reset(self):
        # Their events are no more, though the handle of the context, or of a library's kernel, comes again.
        for forms, library, *options in (("all", "", "piv"), ("all", "", "piv", "--in-flight", "4"), ("worth", "1", "piv", "--in-flight", "4"),
                                         ("none", "", "piv", "--in-flight", "4")):
            daemon = self.begin("--policy", *options, "--forms", forms)
            if library:
                self.more.update(FORMS_LIBRARY=library)
            count = "20" if LONG else "6"
            result, _ = self.beside_urgent(daemon, "resets", count, least=0)
            self.assertEqual(result[:2], self.native("resets", count), result[2])
            daemon.end()

    def test_a_kernel_whose_other_contexts_go(self):
        # What measured it in them is not used afterwards.
        daemon = self.begin("--policy", "piv", "--forms", "worth")
        self.more.update(FORMS_LIBRARY="1", STANDIN_END_US="5000")
        count = "400" if LONG else "100"
        result, _ = self.beside_urgent(daemon, "shares", count, least=0)
        self.assertEqual(result[:2], self.native("shares", count), result[2])
        daemon.end()

    def test_the_log_says_when_kernels_were_told_and_had_left_since_the_order(self):
        for command, least in ((["riskiest", "60"], 5), (["kinds", "60"], 0)):  # kinds overstays the drain limit
            with self.subTest(command=command):
                daemon = self.begin("--policy", "piv", "--forms", "all")
                _, seen = self.beside_urgent(daemon, *command, least=5)
                steps = [(row[1], int(row[0]), int(row[4])) for row in daemon.end()[2] if row[3] == "program"]
                told = [n for n, step in enumerate(steps) if step[0] == "told"]
                self.assertTrue(least <= len(told) <= seen["evictions"] + 2, (len(told), seen))
                for n in told:
                    (_, at, since), (left, left_at, left_since), (drained, _, drained_since) = steps[n:n + 3]
                    self.assertEqual((left, drained), ("left", "drained"))
                    self.assertTrue(0 <= since <= left_since <= drained_since, steps[n:n + 3])
                    self.assertEqual(left_at - at, left_since - since)
                    ordered = [when - after for what, when, after in steps[:n] if what == "closed"]
                    self.assertEqual(at - since, ordered[-1], steps[n - 3:n + 3])

    def test_what_a_program_asks_while_its_kernel_has_left(self):
        daemon = self.begin("--policy", "piv", "--forms", "all")
        result, _ = self.beside_urgent(daemon, "asks", "60")
        self.assertEqual(result[:2], self.native("asks", "60"), result[2])
        daemon.end()

    def test_a_program_says_its_own_priority(self):
        daemon = self.begin("--policy", "piv", "--forms", "all")
        _, displaced = self.beside_urgent(daemon, "passes", "40", least=5, priority=(), URGENT_PRIORITY="5")
        daemon.end()
        daemon = self.begin("--policy", "piv", "--forms", "all")
        _, seen = self.beside_urgent(daemon, "passes", "40", least=0, priority=(), URGENT_PRIORITY="-5")
        # A pause between its jobs can cost it the device all the same.
        self.assertLess(seen["evictions"], displaced["evictions"])
        daemon.end()

    def test_unprepared_programs_run_as_they_are(self):
        daemon = self.begin("--policy", "piv", "--forms", "all", prepared=False)
        result, seen = self.beside_urgent(daemon, "passes", "10", least=0)
        self.assertEqual(result[:2], self.native("passes", "10"), result[2])
        self.assertEqual((seen["launches_in_forms"], seen["evictions"]), (0, 0))
        daemon.end()

    def test_kernels_whose_blocks_are_set_to_form_clusters_take_no_form(self):
        for library in ("", "1"):
            for width in ("1", "2"):
                with self.subTest(library=library, width=width):
                    daemon = self.begin("--policy", "piv", "--forms", "all")
                    self.more.update({"FORMS_LIBRARY": library} if library else {})
                    result, seen = self.beside_urgent(daemon, "clusters", width, least=0)
                    self.assertEqual(result[:2], self.native("clusters", width), result[2])
                    self.assertGreater(seen["kernels_with_forms"], 0)
                    self.assertEqual(seen["launches_in_forms"] > 0, width == "1")
                    daemon.end()

    def test_launches_with_all_the_shared_memory_that_they_may_have(self):
        # A block of a form has 12 bytes more. 232448 is the most that a block can have.
        for library in ("", "1"):
            for bytes_, taken in (("49152", True), ("232436:232448", True), ("100000:100000", True), ("232448:232448", False)):
                with self.subTest(library=library, bytes=bytes_):
                    daemon = self.begin("--policy", "piv", "--forms", "all")
                    self.more.update({"FORMS_LIBRARY": library} if library else {})
                    result, seen = self.beside_urgent(daemon, "shared", bytes_, least=0)
                    self.assertEqual(result[:2], (0, f"shared {bytes_.split(':')[0]}\n"), result[2])
                    self.assertGreater(seen["kernels_with_forms"], 0)
                    self.assertEqual(seen["launches_in_forms"] > 0, taken)
                    daemon.end()

    def test_modules_that_the_driver_links(self):
        for how, library in (("data", ""), ("data", "1"), ("file", ""), ("two", ""), ("registers", "")):
            with self.subTest(how=how, library=library):
                daemon = self.begin("--policy", "piv", "--forms", "all")
                self.more.update({"FORMS_LINK": how} | ({"FORMS_LIBRARY": library} if library else {}))
                result, seen = self.beside_urgent(daemon, "passes", "10", least=0)
                self.assertEqual(result[:2], self.native("passes", "10"), result[2])
                self.assertEqual((seen["kernels_with_forms"] > 0, seen["launches_in_forms"] > 0), (how in ("data", "file"),) * 2)
                daemon.end()

    def test_only_launches_that_are_worth_it_take_a_form(self):
        daemon = self.begin("--policy", "piv", "--forms", "worth")
        result, seen = self.beside_urgent(daemon, "passes", "40", least=0)
        self.assertEqual(result[:2], self.native("passes", "40"), result[2])
        self.assertGreater(seen["launches_in_forms"], 10)  # 60 rounds of 64 blocks take the stand-in milliseconds
        daemon.end()
        daemon = self.begin("--policy", "piv", "--forms", "none")
        _, seen = self.beside_urgent(daemon, "passes", "10", least=0)
        self.assertEqual((seen["launches_in_forms"], seen["kernels_with_forms"]), (0, 0))
        daemon.end()


@unittest.skipIf("CUDA_DEVICE_MAX_CONNECTIONS" in os.environ, "the environment has queues")
class Mps(FormsTest):
    """A process under MPS has two queues unless it asks for more, and what waits in one holds up all that is behind it."""

    def begin(self, *options):
        daemon = super().begin(*options)
        self.more["STANDIN_MPS"] = "1"
        return daemon

    def test_a_program_asks_for_the_queues_that_forms_need(self):
        daemon = self.begin("--policy", "piv", "--forms", "all")
        result, seen = self.beside_urgent(daemon, "passes", "20")
        self.assertEqual(result[:2], self.native("passes", "20"), result[2])
        self.assertGreater(seen["launches_in_forms"], 0)
        daemon.end()

    @unittest.skipUnless(POINTS, "there is no look-alike with points")
    def test_without_them_no_launch_takes_a_form(self):
        daemon = self.begin("--policy", "piv", "--forms", "all")
        expected = self.native("passes", "100")
        self.more["STANDIN_CONNECTIONS"] = "2"
        program = subprocess.Popen([CLIENT, "passes", "100"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.with_points(daemon))
        seen, limit = {"submissions": 0}, time.monotonic() + LIMIT
        while program.poll() is None and time.monotonic() < limit:
            seen = next(iter(daemon.status()["clients"]), seen)
            time.sleep(LOOK)
        self.assertEqual(finish(program)[:2], expected)
        self.assertGreater(seen["submissions"], 50)
        self.assertGreater(seen["kernels_with_forms"], 0)
        self.assertEqual(seen["launches_in_forms"], 0)
        daemon.end()


@unittest.skipUnless(POINTS, "there is no look-alike with points")
class Loops(FormsTest):
    """Persistent blocks, of which some look at the host's order and the last one reports."""

    def test_what_loops_under_evictions_prints_the_same(self):
        # Under `worth` the length of blocks is known, so that some look before the last wave; then no other order reaches the device.
        for forms, more in (("all", {}), ("worth", {"STANDIN_MULTIPROCESSORS": "1", "GANGWAY_LOOKS_ALONE": "1"})):
            for command in (["riskiest", "60"], ["passes", "40"]):
                with self.subTest(forms=forms, command=command):
                    daemon = self.begin("--policy", "piv", "--forms", forms)
                    for _ in range(30):
                        done = Path(daemon.folder) / "done"
                        done.unlink(missing_ok=True)
                        urgent = daemon.start(CLIENT, "urgent", str(done), options=["--name", "urgent", "--priority", "5"], **self.more)
                        self.client(daemon, "urgent")
                        program = subprocess.Popen([CLIENT, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                                   env=self.with_points(daemon, GANGWAY_LOOPS_ABOVE="0", **more))
                        result = finish(program)
                        done.touch()
                        finish(urgent)
                        self.assertEqual(result[:2], self.native(*command), result[2])
                        evictions = sum(line.split(",")[1] == "left" for line in daemon.logged())
                        if evictions > 5:
                            break
                    self.assertGreater(evictions, 5)
                    daemon.end()


class Waiting(FormsTest):
    """A kernel whose blocks wait for the last one of its grid, which inspection does not see. All its blocks fit at once."""

    def begin(self, *options):
        daemon = super().begin(*options)
        self.more["STANDIN_RESIDENT"] = "48"
        forms = json.loads(subprocess.run([GANGWAY, "inspect", "--json", WAITING], env=dict(os.environ, **self.more), check=True, capture_output=True).stdout)
        self.assertIn("prologue", forms[0]["forms"])
        return daemon

    def test_it_ends_all_the_same_and_then_runs_as_it_is(self):
        for policy in (["piv"], ["piv", "--overlap"], ["frs"]):
            with self.subTest(policy=policy):
                daemon = self.begin("--policy", *policy, "--forms", "all")
                for _ in range(100):  # until an order comes while its first blocks have begun and its last has not
                    result, seen = self.beside_urgent(daemon, "awaits", "60", least=0)
                    self.assertEqual(result[:2], self.native("awaits", "60"), result[2])
                    if seen["kernels_that_wait"] != 0:
                        break
                self.assertEqual(seen["kernels_that_wait"], 1)
                out, _, steps = daemon.end()
                told = [line for line in out.splitlines() if "waits for later blocks" in line]
                # Once for each program in which it did.
                self.assertGreater(len(told), 0, out)
                self.assertEqual(len({line.split(":")[0] for line in told}), len(told), out)
                self.assertIn("the kernel await_last waits for later blocks of its grid", told[0])
                self.assertEqual([step[1] for step in steps if step[1].startswith("waits")], ["waits await_last"] * len(told))

    @unittest.skipUnless(POINTS, "there is no look-alike with points")
    def test_a_client_that_dies_when_the_rest_of_its_grid_is_launched_harms_nobody(self):
        def dies(daemon, point):
            for _ in range(100):  # as above
                end = self.dies_at(daemon, point, "awaits", "60")
                if end[0] != 0:
                    break
            return end

        self.harms_nobody(kill_points.WAITING, dies)


class Deaths(FormsTest):
    @unittest.skipUnless(POINTS, "there is no look-alike with points")
    def test_a_client_that_dies_at_any_point_of_an_eviction_harms_nobody(self):
        self.harms_nobody(kill_points.EVICTED, lambda daemon, point: self.dies_at(
            daemon, point, "riskiest", "100000", GANGWAY_LOOPS_ABOVE="0" if point == "last-block" else "1000"))

    def test_a_client_that_is_killed_while_it_is_evicted(self):
        daemon = self.begin("--policy", "piv", "--forms", "all")
        done = daemon.folder + "/done"
        urgent = daemon.start(CLIENT, "urgent", done, options=["--name", "urgent", "--priority", "5"], **self.more)
        rng = random.Random(3)
        for _ in range(60 if LONG else 15):
            victim = daemon.start(CLIENT, "riskiest", "100000", options=["--name", "victim"], **self.more)
            process = self.client(daemon, "victim")["process"]
            time.sleep(rng.uniform(0.1, 0.6))
            os.kill(process, signal.SIGKILL)
            self.assertNotEqual(finish(victim)[0], 0)
        self.assertIsNone(urgent.poll())
        open(done, "w").close()
        self.assertEqual(finish(urgent)[:2], (0, "urgent: worked\n"))
        daemon.end()

    def test_nothing_is_lost_with_a_daemon(self):
        self.check_killed_daemons("piv")


if __name__ == "__main__":
    unittest.main()
