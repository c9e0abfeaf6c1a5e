"""One daemon for several GPUs: where programs go, what they see, and clients that move from one GPU to another, on the stand-in driver."""

import fcntl
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest

from live_daemon import CLIENT, GANGWAY, LIMIT, STANDIN, Daemon, LiveTest, finish, uuid
from memory_programs import CLIENT as MEMORY_CLIENT, MIB, helpers

UUID = [uuid(gpu) for gpu in range(4)]


class GpuPrograms(LiveTest):
    def daemon(self, *options, gpus=2, device=240, policy="fcfs", around=None, gpu="all"):
        driver = {"LD_LIBRARY_PATH": STANDIN, "STANDIN_DEVICES": str(gpus), "STANDIN_MEMORY": str(device * MIB)}
        # The daemon's driver has the machine's devices, as its programs' drivers have.
        self.machine = {**driver, **(around or {})}
        daemon = Daemon("--policy", policy, "--gpu", gpu, *options, around=self.machine)
        self.addCleanup(lambda: os.path.isdir(daemon.folder) and open(daemon.folder + "/stop", "w").close())
        return daemon

    def start(self, daemon, *command, options=(), **more):
        machine = {key: value for key, value in self.machine.items() if key not in ("LD_LIBRARY_PATH", "STANDIN_FAIL")}
        return daemon.start(*command, options=options, **{**machine, "STANDIN_LEDGER": daemon.folder + "/ledger", **more})

    def holds(self, daemon, number, mib, stop, options=()):
        program = self.start(daemon, MEMORY_CLIENT, "holds", str(number), "0", str(mib), stop, options=["--name", f"p{number}", *options])
        self.assertEqual(program.stdout.readline(), f"holds {mib}\n")
        return program

    def sees(self, daemon, *options):
        code, out, err = finish(self.start(daemon, "sh", "-c", "echo $CUDA_VISIBLE_DEVICES", options=options))
        self.assertEqual(code, 0, err)
        return out.strip()

    def clients(self, daemon):
        return {client["name"]: client for client in daemon.status()["clients"]}

    def places(self, daemon):
        return {name: client["gpu"] for name, client in self.clients(daemon).items()}

    def all_end_well(self, programs, text="jobs many\n"):
        for program in programs:
            code, out, err = finish(program)
            self.assertEqual((code, out), (0, text), err)

    def taken(self, daemon, gpu):
        """Of the device: how often there was no room, the most that was taken, its size; and what processes have now."""
        path = daemon.folder + "/ledger" + (f".{gpu}" if gpu else "")
        if not os.path.exists(path):
            return 0, 0, 0
        with open(path, "rb") as ledger:
            refused, most, _ = struct.unpack("QQQ", ledger.read(24))
            return refused, most, sum(bytes for _, bytes in struct.iter_unpack("QQ", ledger.read(256 * 16)))


@unittest.skipUnless(STANDIN, "there is no stand-in driver")
class Placing(GpuPrograms):
    def test_a_program_sees_the_gpu_that_it_is_given(self):
        daemon = self.daemon("--place", "fixed", gpus=3, gpu="0,2")
        self.assertEqual([self.sees(daemon) for _ in range(3)], [UUID[0], UUID[2], UUID[0]])  # in turn
        self.assertEqual(self.sees(daemon, "--gpu", "2"), UUID[2])
        self.assertEqual(self.sees(daemon, "--gpu", "auto"), UUID[2])
        code, _, err = finish(self.start(daemon, "true", options=["--gpu", "1"]))
        self.assertEqual(code, 1)
        self.assertIn("GPU 1 is none of its own: 0, 2", err)
        daemon.end()

    def test_who_asks_for_two_gpus_has_one(self):
        daemon = self.daemon(gpus=2)
        # The second of its devices, however CUDA_VISIBLE_DEVICES was.
        for more in ({}, {"CUDA_VISIBLE_DEVICES": "0,1"}):
            out = finish(self.start(daemon, "sh", "-c", "echo $CUDA_VISIBLE_DEVICES", options=["--gpu", "1"], **more))[1]
            self.assertEqual(out.strip(), UUID[1])
        daemon.end()

    def test_programs_go_where_least_is_in_use(self):
        daemon = self.daemon(gpus=2)
        stop = daemon.folder + "/stop"
        programs = [self.holds(daemon, 0, 96, stop), self.holds(daemon, 1, 16, stop)]
        self.assertEqual(self.places(daemon), {"p0": 0, "p1": 1})
        # Both are in use all the time; the second has less memory taken.
        self.until(lambda: all(gpu["use"] > 0 for gpu in daemon.status()["gpus"]), "use is seen")
        status = daemon.status()
        self.assertEqual((status["place"], status["memory"]), ("least-loaded", None))
        self.assertEqual([gpu["uuid"] for gpu in status["gpus"]], UUID[:2])
        self.assertEqual([gpu["programs"] for gpu in status["gpus"]], [1, 1])
        open(stop, "w").close()
        self.all_end_well(programs)
        _, _, steps = daemon.end()
        self.assertEqual({step[5] for step in steps}, {"0", "1"})  # each line says where

    def test_memory_is_each_gpus_own(self):
        daemon = self.daemon("--memory", "checkpoint", "--param", "quantum=20 ms", policy="rr", device=320)
        stop = daemon.folder + "/stop"
        # Three states of 96 MiB do not fit one device of 320; two and one do.
        programs = [self.holds(daemon, n, 96, stop, ["--gpu", str(n % 2)]) for n in range(3)]
        self.until(lambda: all(gpu["memory"]["capacity"] for gpu in daemon.status()["gpus"]), "capacities")
        time.sleep(0.3)
        self.assertEqual([c["memory"]["saves"] for c in self.clients(daemon).values()], [0, 0, 0])
        self.assertEqual([gpu["resident"] // MIB for gpu in daemon.status()["gpus"]], [192, 96])
        for gpu in (0, 1):
            self.assertEqual(self.taken(daemon, gpu)[0], 0)
        open(stop, "w").close()
        self.all_end_well(programs)
        daemon.end()

    def test_policies_of_each_kind(self):
        """One object for all GPUs, and one for each; with jobs on both at the same time."""
        for policy, *parameters in (("fcfs", ), ("rr", "--param", "quantum=5 ms"), ("piv", ), ("timeslice", "--param", "slice=5 ms"),
                                    ("disengaged-timeslice", ), ("passthrough", )):
            with self.subTest(policy=policy):
                daemon = self.daemon(*parameters, policy=policy)
                stop = daemon.folder + "/stop"
                programs = [self.holds(daemon, n, 4, stop, ["--gpu", str(n % 2)]) for n in range(4)]
                before = {name: client["jobs"] for name, client in self.clients(daemon).items()}
                self.until(lambda: all(c["jobs"] > before[name] + 3 for name, c in self.clients(daemon).items()), "everybody's jobs go on")
                self.assertEqual(self.places(daemon), {"p0": 0, "p1": 1, "p2": 0, "p3": 1})
                open(stop, "w").close()
                self.all_end_well(programs)
                daemon.end()

    def test_owners_of_two_gpus_at_once(self):
        daemon = self.daemon(policy="fcfs")
        stop = daemon.folder + "/stop"
        programs = [self.start(daemon, CLIENT, "until", stop, options=["--gpu", str(gpu), "--jobs", "whole", "--name", f"w{gpu}"]) for gpu in (0, 1)]
        self.until(lambda: [c["access"] for c in daemon.status()["clients"]] == ["open", "open"], "both own their GPU")
        open(stop, "w").close()
        for program in programs:
            self.assertEqual(finish(program)[0], 0)
        daemon.end()

    def test_a_group_is_on_one_gpu(self):
        daemon = self.daemon("--place", "fixed")
        stop = daemon.folder + "/stop"
        programs = [self.holds(daemon, n, 4, stop, ["--group", "g"]) for n in range(2)]
        self.assertEqual(self.places(daemon), {"p0": 0, "p1": 0})
        code, _, err = finish(self.start(daemon, "true", options=["--group", "g", "--gpu", "1"]))
        self.assertEqual(code, 1)
        self.assertIn("the group g is on GPU 0", err)
        open(stop, "w").close()
        self.all_end_well(programs)
        daemon.end()

    def test_a_new_daemon_knows_where_they_are(self):
        daemon = self.daemon()
        stop = daemon.folder + "/stop"
        programs = [self.holds(daemon, n, 4, stop, ["--gpu", str(n)]) for n in range(2)]
        daemon.process.kill()
        daemon.process.communicate()
        daemon.serve("--policy", "fcfs", "--gpu", "1,0")
        self.until(lambda: self.places(daemon) == {"p0": 0, "p1": 1}, "they return")
        open(stop, "w").close()
        self.all_end_well(programs)
        daemon.end()

    def test_labels_for_prometheus(self):
        daemon = self.daemon()
        stop = daemon.folder + "/stop"
        program = self.holds(daemon, 0, 4, stop, ["--gpu", "1"])
        out = subprocess.run([GANGWAY, "status", "--prometheus", "--socket", daemon.socket], capture_output=True, text=True, timeout=LIMIT).stdout
        self.assertRegex(out, r'gangway_client_jobs_total\{name="p0",process="\d+",gpu="1"\} \d+')
        self.assertIn('gangway_gpu_programs{gpu="0"} 0\ngangway_gpu_programs{gpu="1"} 1\n', out)
        self.assertRegex(out, r'gangway_gpu_resident_bytes\{gpu="1"\} 0')  # memory is not counted
        self.assertIn("gangway_moves_total 0", out)
        table = subprocess.run([GANGWAY, "status", "--socket", daemon.socket], capture_output=True, text=True, timeout=LIMIT).stdout
        self.assertIn("GPU 1, Gangway stand-in: 1 programs", table)
        open(stop, "w").close()
        self.all_end_well([program])
        daemon.end()

    def test_one_socket_by_each_name(self):
        daemon = Daemon("--policy", "fcfs")  # elsewhere; its folder is the runtime folder
        environment = daemon.environment(STANDIN_DEVICES="2")
        several = subprocess.Popen([GANGWAY, "serve", "--policy", "fcfs", "--gpu", "0,1"], stdout=subprocess.PIPE, text=True, env=environment)
        self.assertEqual(several.stdout.readline(), f"fcfs at {daemon.folder}/gangway/socket, on the GPUs 0 1, least-loaded\n")
        result = subprocess.run([GANGWAY, "exec", "--gpu", "1", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES"], capture_output=True, text=True,
                                timeout=LIMIT, env=environment)
        self.assertEqual(result.stdout, UUID[1] + "\n")
        other = subprocess.run([GANGWAY, "serve", "--policy", "fcfs", "--gpu", "1"], capture_output=True, text=True, timeout=LIMIT, env=environment)
        self.assertEqual(other.returncode, 1)
        self.assertIn("a daemon listens at", other.stderr)
        several.terminate()
        several.communicate()
        self.assertEqual([name for name in os.listdir(daemon.folder + "/gangway") if name.startswith("socket") and not name.endswith(".lock")], [])
        daemon.end()

    def test_wrong_calls(self):
        environment = {**os.environ, "LD_LIBRARY_PATH": STANDIN, "STANDIN_DEVICES": "2"}
        for options, code, words in ((["--gpu", "0,2"], 2, "found '2', expected all, or different numbers from 0 to 1"),
                                     (["--gpu", "1,1"], 2, "GPU 1 a second time"), (["--gpu", "x"], 2, "gpu"), (["--gpu", "64"], 2, "gpu"),
                                     (["--gpu", "0", "--place", "fixed"], 2, "several: --gpu 0,1 or --gpu all"),
                                     (["--gpu", "0", "--move-window", "3 s"], 2, "several: --gpu 0,1 or --gpu all"),
                                     (["--gpu", "all", "--place", "migrate", "--memory", "managed"], 2, "--memory native or checkpoint"),
                                     (["--gpu", "all", "--place", "migrate", "--forms", "all"], 2, "--forms none"),
                                     (["--gpu", "all", "--place", "migrate", "--move-window", "0 s"], 2, "move-window")):
            with self.subTest(options=options):
                result = subprocess.run([GANGWAY, "serve", "--policy", "fcfs", "--socket", f"/tmp/gangway-none-{os.getpid()}", *options],
                                        capture_output=True, text=True, timeout=LIMIT, env=environment)
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertIn(words, result.stderr)
                self.assertEqual(result.stderr.count("\n"), 1)


@unittest.skipUnless(STANDIN, "there is no stand-in driver")
class Moving(GpuPrograms):
    WINDOW = ("--place", "migrate", "--move-window", "500 ms")

    def two_on_one(self, daemon, stop, mib=16):
        return [self.holds(daemon, n, mib, stop, ["--gpu", "0"]) for n in range(2)]

    def moved(self, daemon):
        return daemon.status()["moves"] == 1

    def test_one_of_two_goes_to_the_idle_gpu(self):
        daemon = self.daemon(*self.WINDOW, policy="rr")
        stop = daemon.folder + "/stop"
        programs = self.two_on_one(daemon, stop)
        self.until(lambda: self.moved(daemon), "a move")
        self.assertEqual(sorted(self.places(daemon).values()), [0, 1])
        self.assertEqual([gpu["programs"] for gpu in daemon.status()["gpus"]], [1, 1])
        self.assertEqual([self.taken(daemon, gpu)[2] // MIB for gpu in (0, 1)], [16, 16])
        # Both go on, and nobody goes back: it would gain nothing.
        before = {name: client["jobs"] for name, client in self.clients(daemon).items()}
        time.sleep(2)
        status = daemon.status()
        self.assertEqual((status["moves"], status["failed_moves"]), (1, 0))
        self.assertTrue(all(client["jobs"] > before[client["name"]] for client in status["clients"]))
        open(stop, "w").close()
        self.all_end_well(programs)
        out, _, steps = daemon.end()
        self.assertRegex(out, r"p\d \(\d+\): 0\.016 GiB moved from GPU 0 to GPU 1 in")
        self.assertEqual([step[1] for step in steps if step[1] in ("moves", "moved", "not moved")], ["moves", "moved"])

    def test_nobody_moves_where_nothing_is_gained(self):
        # Three that always work on two GPUs; and two on one of them, where the other has no room.
        daemon = self.daemon(*self.WINDOW, policy="rr")
        stop = daemon.folder + "/stop"
        programs = [self.holds(daemon, n, 4, stop, ["--gpu", str(n // 2)]) for n in range(3)]
        time.sleep(2)
        self.assertEqual((daemon.status()["moves"], self.places(daemon)), (0, {"p0": 0, "p1": 0, "p2": 1}))
        open(stop, "w").close()
        self.all_end_well(programs)
        daemon.end()

    def test_nobody_moves_without_being_asked_to(self):
        daemon = self.daemon("--place", "least-loaded", "--move-window", "500 ms", policy="rr")
        stop = daemon.folder + "/stop"
        programs = self.two_on_one(daemon, stop)
        time.sleep(1.5)
        self.assertEqual(self.places(daemon), {"p0": 0, "p1": 0})
        open(stop, "w").close()
        self.all_end_well(programs)
        daemon.end()

    def test_between_states_that_take_turns(self):
        # Two of 160 MiB do not fit one device of 240: they take turns until one moves. Each is right to the last word.
        daemon = self.daemon(*self.WINDOW, "--memory", "checkpoint", "--param", "quantum=50 ms", policy="rr")
        stop = daemon.folder + "/stop"
        programs = self.two_on_one(daemon, stop, 160)
        self.until(lambda: self.moved(daemon), "a move")
        self.assertEqual(sorted(self.places(daemon).values()), [0, 1])
        self.assertEqual([self.taken(daemon, gpu)[0] for gpu in (0, 1)], [0, 0])
        open(stop, "w").close()
        self.all_end_well(programs)
        daemon.end()

    def test_a_restore_that_fails_leaves_it_where_it_was(self):
        daemon = self.daemon(*self.WINDOW, policy="rr", around={"STANDIN_FAIL": "cuCheckpointProcessRestore:1:1:999"})
        stop = daemon.folder + "/stop"
        programs = self.two_on_one(daemon, stop)
        self.until(lambda: daemon.status()["failed_moves"] == 1, "a failure")
        self.assertEqual(self.places(daemon), {"p0": 0, "p1": 0})
        self.assertEqual(self.taken(daemon, 0)[2] // MIB, 32)
        self.until(lambda: self.moved(daemon), "another try")
        open(stop, "w").close()
        self.all_end_well(programs)
        out, _, _ = daemon.end()
        self.assertRegex(out, r"p\d \(\d+\): no move to GPU 1: the driver's error 999; it goes on on GPU 0")

    def test_nowhere_to_go_for_a_while(self):
        # Neither GPU takes it at first: it is in host memory, and comes back.
        daemon = self.daemon(*self.WINDOW, policy="rr", around={"STANDIN_FAIL": "cuCheckpointProcessRestore:1:3:999"})
        stop = daemon.folder + "/stop"
        programs = self.two_on_one(daemon, stop)
        self.until(lambda: daemon.status()["failed_moves"] == 1, "a failure")
        self.until(lambda: all(c["memory"]["state"] == "here" for c in daemon.status()["clients"]), "it is back")
        self.until(lambda: self.moved(daemon), "another try")
        open(stop, "w").close()
        self.all_end_well(programs)
        out, _, _ = daemon.end()
        self.assertIn("it is in host memory until GPU 0 takes it back", out)

    def test_pairs_of_all_gpus_where_one_is_refused(self):
        daemon = self.daemon(*self.WINDOW, policy="rr", around={"STANDIN_FAIL": "cuCheckpointProcessRestore:1:1:1"})
        stop = daemon.folder + "/stop"
        programs = self.two_on_one(daemon, stop)
        self.until(lambda: self.moved(daemon), "a move")
        self.assertEqual(daemon.status()["failed_moves"], 0)
        open(stop, "w").close()
        self.all_end_well(programs)
        daemon.end()

    def test_a_checkpoint_that_fails(self):
        daemon = self.daemon(*self.WINDOW, policy="rr", around={"STANDIN_FAIL": "cuCheckpointProcessCheckpoint:1:1:801"})
        stop = daemon.folder + "/stop"
        programs = self.two_on_one(daemon, stop)
        self.until(lambda: self.moved(daemon), "the other one moves")
        self.assertEqual(daemon.status()["failed_moves"], 1)
        open(stop, "w").close()
        self.all_end_well(programs)
        daemon.end()

    def killed_in_a_move(self, *victims):
        # 16 MiB at 16 MiB/s: a second out and a second in.
        daemon = self.daemon(*self.WINDOW, policy="rr")
        self.machine["STANDIN_CHECKPOINT_RATE"] = str(16 * MIB)
        stop = daemon.folder + "/stop"
        programs = self.two_on_one(daemon, stop)
        self.until(lambda: any(c["access"] == "moves" for c in daemon.status()["clients"]), "a move begins")
        time.sleep(0.5)
        return daemon, stop, programs

    def test_the_daemon_is_killed_in_a_move_and_nobody_follows(self):
        daemon, stop, programs = self.killed_in_a_move()
        daemon.process.kill()
        daemon.process.communicate()
        self.until(lambda: self.taken(daemon, 0)[2] // MIB == 16 and self.taken(daemon, 1)[2] // MIB == 16, "the move is carried through")
        open(stop, "w").close()
        self.all_end_well(programs)

    def test_the_daemon_is_killed_in_a_move_and_another_one_follows(self):
        daemon, stop, programs = self.killed_in_a_move()
        daemon.process.kill()
        daemon.process.communicate()
        daemon.serve("--policy", "rr", "--gpu", "all", "--place", "migrate", "--move-window", "60 s")

        # The earlier daemon's helper carries the move through, unless the new one's restore comes first.
        def as_it_is():
            places = list(self.places(daemon).values())
            return len(places) == 2 and [self.taken(daemon, gpu)[2] // MIB for gpu in (0, 1)] == [16 * places.count(0), 16 * places.count(1)]
        self.until(as_it_is, "they return, each where it is")
        before = {name: client["jobs"] for name, client in self.clients(daemon).items()}
        self.until(lambda: all(c["jobs"] > before[name] for name, c in self.clients(daemon).items()), "both go on")
        self.assertTrue(as_it_is())
        open(stop, "w").close()
        self.all_end_well(programs)
        daemon.end()

    def helper_killed_in_a_move(self, back):
        # The next helper finds no driver, for so long.
        drivers = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, drivers)
        os.symlink(STANDIN + "/libcuda.so.1", drivers + "/libcuda.so.1")
        daemon = self.daemon(*self.WINDOW, policy="rr", around={"LD_LIBRARY_PATH": drivers})
        self.machine["STANDIN_CHECKPOINT_RATE"] = str(16 * MIB)
        stop = daemon.folder + "/stop"
        programs = self.two_on_one(daemon, stop)
        self.until(lambda: any(c["access"] == "moves" for c in daemon.status()["clients"]), "a move begins")
        time.sleep(0.5)
        os.rename(drivers + "/libcuda.so.1", drivers + "/away")
        mover = next(c for c in daemon.status()["clients"] if c["access"] == "moves")
        for helper in helpers(daemon):
            os.kill(helper, signal.SIGKILL)
        if back:
            time.sleep(back)
            os.rename(drivers + "/away", drivers + "/libcuda.so.1")
        return daemon, stop, programs, mover

    def test_the_helper_is_killed_in_a_move_and_the_next_one_starts_late(self):
        daemon, stop, programs, mover = self.helper_killed_in_a_move(1.2)
        self.until(lambda: daemon.status()["moves"] + daemon.status()["failed_moves"] > 0, "the move ends")
        self.until(lambda: all(c["memory"]["state"] == "here" for c in daemon.status()["clients"]), "it is back")
        self.assertEqual((len(self.clients(daemon)), daemon.status()["checkpoints"]), (2, True))
        open(stop, "w").close()
        self.all_end_well(programs)
        daemon.end()

    def test_the_helper_is_killed_in_a_move_and_no_other_one_starts(self):
        daemon, stop, programs, mover = self.helper_killed_in_a_move(None)
        self.until(lambda: len(self.clients(daemon)) == 1, "the move ends")
        status = daemon.status()
        self.assertEqual((status["moves"], status["failed_moves"], status["checkpoints"]), (0, 1, False))
        number = int(mover["name"][1:])
        self.assertNotEqual(finish(programs[number])[0], 0)
        # The other one goes on, and nobody moves any more.
        before = status["clients"][0]["jobs"]
        self.until(lambda: daemon.status()["clients"][0]["jobs"] > before, "the other one goes on")
        more = self.start(daemon, MEMORY_CLIENT, "holds", "7", "20", "16", options=["--gpu", "0"])
        self.assertEqual(finish(more)[:2], (0, "holds 16\njobs 20\n"))
        open(stop, "w").close()
        self.all_end_well([programs[1 - number]])
        out, _, steps = daemon.end()
        self.assertRegex(out, r"checkpoints: no CUDA driver found: .*; no more checkpoints, so memory stays where it is\n")
        self.assertRegex(out, rf"{mover['name']} \({mover['process']}\): killed, because its state had left GPU 0 and nothing can bring it back\n")
        self.assertEqual([step[1] for step in steps if step[1] in ("moves", "moved", "not moved", "killed")], ["moves", "killed", "not moved"])

    def test_no_other_helper_touches_clients_beside_a_daemon_that_has_one(self):
        # Also where memory stays the driver's: an earlier daemon's helper would restore who is on its way.
        daemon = self.daemon(*self.WINDOW, policy="rr")
        with open(daemon.socket + ".restoring") as lock:
            with self.assertRaises(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            daemon.end()
            self.until(lambda: not helpers(daemon), "its helper ends")

    def test_clients_of_several_gpus_come_to_a_daemon_of_one(self):
        daemon = self.daemon("--held", gpus=2)
        stop = daemon.folder + "/stop"
        programs = [self.holds(daemon, n, 8, stop, ["--gpu", str(n)]) for n in range(2)]
        # One that schedules GPU 1 takes the client that is there, and no other one.
        daemon.process.kill()
        daemon.process.communicate()
        daemon.serve("--policy", "fcfs", "--gpu", "1")
        self.until(lambda: self.places(daemon) == {"p1": 1}, "one returns")
        time.sleep(0.5)
        self.assertEqual(self.places(daemon), {"p1": 1})
        # It is known where it is to one of both.
        daemon.process.kill()
        daemon.process.communicate()
        daemon.serve("--policy", "fcfs", "--gpu", "all")
        self.until(lambda: self.places(daemon).get("p1") == 1, "it returns")
        open(stop, "w").close()
        self.all_end_well(programs)
        daemon.end()

    def test_a_client_is_killed_in_its_move(self):
        daemon, stop, programs = self.killed_in_a_move()
        mover = next(c for c in daemon.status()["clients"] if c["access"] == "moves")
        os.kill(mover["process"], signal.SIGKILL)
        self.until(lambda: len(daemon.status()["clients"]) == 1, "it is gone")
        status = daemon.status()
        self.assertEqual((status["moves"], status["clients"][0]["gpu"]), (0, 0))
        open(stop, "w").close()
        self.all_end_well([p for n, p in enumerate(programs) if f"p{n}" != mover["name"]])
        daemon.end()


if __name__ == "__main__":
    unittest.main()
