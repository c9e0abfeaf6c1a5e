"""Programs under the daemon, on the stand-in driver: gangway serve and gangway exec as people use them."""

import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

GANGWAY = os.environ["GANGWAY"]
STANDIN = os.environ.get("GANGWAY_STANDIN", "")
CLIENT = os.environ.get("GANGWAY_LIVE_CLIENT", "")
POINTS = os.environ.get("GANGWAY_POINTS", "")  # folder of a look-alike that can die at named points
LIMIT = 120

# Every point of the protocol that this program passes (hw/live: GANGWAY_POINT).
NAMED = ["before-connect", "connected", "hello", "welcome", "before-inside", "inside", "waiting", "woken", "permitted",
         "submitted", "before-outside", "outside", "asked", "looked"]


class Daemon:
    def __init__(self, *options):
        self.folder = tempfile.mkdtemp()
        self.socket = self.folder + "/socket"
        self.log = self.folder + "/log.csv"
        self.process = subprocess.Popen([GANGWAY, "serve", "--socket", self.socket, "--log", self.log, *options],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.process.stdout.readline()  # it listens

    def environment(self, **more):
        return dict(os.environ, LD_LIBRARY_PATH=STANDIN, XDG_RUNTIME_DIR=self.folder, **more)

    def start(self, *command, options=(), **more):
        return subprocess.Popen([GANGWAY, "exec", "--socket", self.socket, *options, "--", *command],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment(**more))

    def run(self, *command, **more):
        return finish(self.start(*command, **more))

    def logged(self):
        with open(self.log) as lines:
            return lines.read().splitlines()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=LIMIT)
        steps = [line.split(",") for line in self.logged()][1:]
        shutil.rmtree(self.folder)
        return out, err, steps


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


class Wrong(unittest.TestCase):
    """Bad input: one line, the right exit code."""

    def check(self, code, text, *command, **more):
        result = subprocess.run([GANGWAY, *command], capture_output=True, text=True, **more)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn(text, result.stderr)

    def test_calls(self):
        self.check(2, "did you mean 'piv'", "serve", "--policy", "pivv")
        self.check(2, "needs ranges", "serve", "--policy", "pkm")
        self.check(2, "evicted", "serve", "--policy", "piv", "--param", "evictd=tail")
        self.check(2, "name=value", "serve", "--policy", "piv", "--param", "evicted")
        self.check(2, "drain-limit", "serve", "--policy", "piv", "--drain-limit", "7")
        self.check(2, "in-flight", "serve", "--policy", "piv", "--in-flight", "65")
        self.check(2, "PROGRAM", "exec")
        self.check(2, "--priority", "exec", "--priority", "high", "--", "true")
        self.check(2, "--weight", "exec", "--weight", "0", "--", "true")
        self.check(2, "found '5', expected", "exec", "--slo", "5", "--", "true")
        self.check(2, "found '-5 ms', expected", "exec", "--slo", "-5 ms", "--", "true")
        self.check(2, "found '1 ms', expected", "status", "--every", "1 ms")
        self.check(2, "--json", "status", "--json", "--prometheus")
        self.check(2, "sync, nvtx:NAME", "exec", "--jobs", "often", "--", "true")
        self.check(2, "a user of this machine", "serve", "--policy", "piv", "--allow-priority", "no-such-user=3")
        self.check(2, "--channels", "serve", "--policy", "timeslice", "--channels", "-1")
        self.check(2, "USER=N", "serve", "--policy", "piv", "--allow-priority", "root")
        self.check(2, "from 0 to 1000", "serve", "--policy", "piv", "--allow-priority", "root=1001")
        self.check(2, "a group of this machine", "serve", "--policy", "piv", "--group", "no-such-group", "--socket", "/tmp/no-such-socket")

    def test_programs(self):
        self.check(127, "not found", "exec", "--", "no-such-program")
        self.check(127, "not found", "exec", "--", "/no/such/program")
        self.check(126, "cannot be executed", "exec", "--", "/etc/passwd")
        self.check(126, "cannot be executed", "exec", "--", "/")

    def test_no_daemon(self):
        with tempfile.TemporaryDirectory() as folder:
            self.check(1, "gangway serve", "exec", "--socket", folder + "/socket", "--", "true")
            self.check(1, "gangway serve", "status", "--socket", folder + "/socket")

    def test_two_daemons(self):
        daemon = Daemon("--policy", "piv")
        try:
            self.check(1, "already", "serve", "--policy", "piv", "--socket", daemon.socket)
        finally:
            daemon.end()

    def test_a_dead_daemons_socket_is_taken_over(self):
        daemon = Daemon("--policy", "piv")
        daemon.process.kill()
        daemon.process.communicate()
        again = subprocess.Popen([GANGWAY, "serve", "--policy", "piv", "--socket", daemon.socket], stdout=subprocess.PIPE, text=True)
        self.assertIn("piv at", again.stdout.readline())
        again.terminate()
        again.communicate()
        shutil.rmtree(daemon.folder)


class Status(unittest.TestCase):
    def ask(self, daemon, *options):
        result = subprocess.run([GANGWAY, "status", "--socket", daemon.socket, *options], capture_output=True, text=True, timeout=LIMIT)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def test_nobody_is_there(self):
        daemon = Daemon("--policy", "edf")
        status = json.loads(self.ask(daemon, "--json"))
        self.assertEqual((status["kind"], status["version"], status["policy"], status["clients"]), ("status", 1, "edf", []))
        self.assertEqual((status["process"], status["clients_so_far"]), (daemon.process.pid, 0))
        self.assertEqual(self.ask(daemon).count("\n"), 1)
        daemon.end()

    @unittest.skipUnless(STANDIN, "there is no stand-in driver")
    def test_what_clients_do(self):
        daemon = Daemon("--policy", "stride")
        programs = [daemon.start(CLIENT, "jobs", "1000000", options=["--name", name, "--weight", weight, *more])
                    for name, weight, more in (("a\x1b[2J", "3", ["--slo", "5 ms"]), ("b", "0.5", ["--priority", "-2"]))]
        end = time.monotonic() + 30
        clients = []
        while time.monotonic() < end and (len(clients) < 2 or min(client["jobs"] for client in clients) < 5):
            time.sleep(0.05)
            clients = json.loads(self.ask(daemon, "--json"))["clients"]
        first, second = sorted(clients, key=lambda client: client["weight"], reverse=True)
        self.assertEqual((first["name"], first["weight"], first["slo_ns"], first["priority"]), ("a\x1b[2J", 3, 5_000_000, 0))
        self.assertEqual((second["name"], second["weight"], second["slo_ns"], second["priority"]), ("b", 0.5, None, -2))
        for client in clients:
            self.assertGreaterEqual(client["submissions"], client["jobs"] - 1)
            self.assertIn(client["access"], ("open", "closed", "closing"))
            self.assertTrue(os.path.exists(f"/proc/{client['process']}"))
        for client in clients:
            self.assertGreater(client["latency_ns"]["p99"], 400_000)  # 20 kernels of 20 us
            self.assertGreaterEqual(client["latency_ns"]["p99"], client["latency_ns"]["p50"])
            self.assertEqual(client["functions_not_known"], 0)
        # One line for each value, its kind and what it is; labels cannot end early.
        metrics = self.ask(daemon, "--prometheus").splitlines()
        values = {line.split(" ")[0]: float(line.rsplit(" ", 1)[1]) for line in metrics if not line.startswith("#")}
        self.assertEqual(len(values), len([line for line in metrics if not line.startswith("#")]))
        self.assertEqual(values["gangway_clients_total"], 2)
        b = f'{{name="b",process="{second["process"]}"}}'
        self.assertGreaterEqual(values["gangway_client_jobs_total" + b], second["jobs"])
        self.assertGreater(values["gangway_client_latency_seconds" + b[:-1] + ',quantile="0.99"}'], 400e-6)
        for line in metrics:
            self.assertRegex(line, r'^# (HELP|TYPE) gangway_[a-z_]+ .+$|^gangway_[a-z_]+(\{([a-z]+="([^"\\]|\\.)*",?)+\})? [0-9.e+-]+$')
        table = [line for line in self.ask(daemon).splitlines() if "is on a GPU and no client" not in line]
        self.assertEqual(len(table), 4)
        self.assertNotIn("\x1b", "".join(table))  # a name cannot clear the terminal
        for program in programs:
            program.terminate()
            self.assertEqual(finish(program)[0], -signal.SIGTERM)
        while (status := json.loads(self.ask(daemon, "--json")))["clients"] and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual((status["clients"], status["clients_so_far"]), ([], 2))
        daemon.end()


@unittest.skipUnless(STANDIN and os.geteuid() == 0, "needs the stand-in driver, and to be root")
class Users(unittest.TestCase):
    def run_as_nobody(self, daemon, *options):
        os.chmod(daemon.folder, 0o755)
        home = daemon.folder + "/nobody"
        if not os.path.exists(home):
            os.mkdir(home, 0o700)
            os.chown(home, 65534, 65534)
        return subprocess.run([GANGWAY, "exec", "--socket", daemon.socket, *options, "--", CLIENT, "jobs", "2"], capture_output=True, text=True,
                              timeout=LIMIT, user=65534, group=65534, extra_groups=[], cwd="/",
                              env=dict(daemon.environment(), XDG_RUNTIME_DIR=home))

    def setUp(self):
        if subprocess.run(["test", "-x", GANGWAY], user=65534).returncode != 0:
            self.skipTest("other users cannot reach the program")

    def test_users_of_a_group_connect_with_the_priorities_that_they_may_give(self):
        daemon = Daemon("--policy", "piv", "--group", "nogroup", "--allow-priority", "nobody=3")
        result = self.run_as_nobody(daemon, "--priority", "3")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        result = self.run_as_nobody(daemon, "--priority", "4")
        self.assertEqual(result.returncode, 1)
        self.assertIn("this user's priorities go up to 3", result.stderr)
        daemon.end()

    def test_others_do_not(self):
        daemon = Daemon("--policy", "piv")
        result = self.run_as_nobody(daemon)
        self.assertEqual(result.returncode, 1)
        self.assertIn("no daemon at", result.stderr)
        daemon.end()
        daemon = Daemon("--policy", "piv", "--group", "nogroup")
        result = self.run_as_nobody(daemon, "--priority", "1")
        self.assertIn("only root and the daemon's owner raise a priority", result.stderr)
        daemon.end()


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
            clients = {client["name"]: client for client in json.loads(subprocess.run(
                [GANGWAY, "status", "--json", "--socket", daemon.socket], capture_output=True, text=True, check=True).stdout)["clients"]}
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
        while (clients := json.loads(subprocess.run([GANGWAY, "status", "--json", "--socket", daemon.socket], capture_output=True,
                                                    text=True, check=True).stdout)["clients"]) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(clients, [])
        daemon.end()


@unittest.skipUnless(STANDIN, "there is no stand-in driver")
class Programs(unittest.TestCase):
    def test_output_and_exit_code_are_the_programs(self):
        daemon = Daemon("--policy", "piv")
        for arguments in (["jobs", "5"], ["captures", "3"], ["callback", "1"], ["forks"], ["nonsense"]):
            self.assertEqual(daemon.run(CLIENT, *arguments)[:2], native(CLIENT, *arguments)[:2], arguments)
        code, out, err = daemon.run("sh", "-c", "echo $0 $1; echo oops >&2; exit 7", "--lr", "3")
        self.assertEqual((code, out), (7, "--lr 3\n"))
        self.assertEqual(err.splitlines()[0], "oops")
        self.assertIn("nothing of it was scheduled", err.splitlines()[1])
        self.assertEqual(daemon.run("sh", "-c", "kill -KILL $$")[0], -signal.SIGKILL)
        daemon.end()

    def test_a_daemon_for_each_gpu(self):
        daemon = Daemon("--policy", "piv")
        environment = daemon.environment(CUDA_VISIBLE_DEVICES="3,GPU-abc,7")
        second = subprocess.Popen([GANGWAY, "serve", "--policy", "fcfs", "--gpu", "1"], stdout=subprocess.PIPE, text=True, env=environment)
        self.assertEqual(second.stdout.readline(), f"fcfs at {daemon.folder}/gangway/socket-1\n")

        def run(*options):
            return subprocess.run([GANGWAY, "exec", *options, "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES"], capture_output=True, text=True,
                                  timeout=LIMIT, env=environment)
        self.assertEqual(run("--gpu", "1").stdout, "GPU-abc\n")
        self.assertIn("no daemon", run("--gpu", "2").stderr)
        self.assertEqual(run("--gpu", "2", "--socket", daemon.socket).stdout, "7\n")
        self.assertIn("no GPU 3 in CUDA_VISIBLE_DEVICES=3,GPU-abc,7", run("--gpu", "3", "--socket", daemon.socket).stderr)
        self.assertEqual(run("--socket", daemon.socket).stdout, "3,GPU-abc,7\n")
        second.terminate()
        second.communicate()
        daemon.end()

    def test_no_driver(self):
        daemon = Daemon("--policy", "piv")
        result = subprocess.run([GANGWAY, "exec", "--socket", daemon.socket, "--", "true"], capture_output=True, text=True,
                                env=dict(os.environ, LD_LIBRARY_PATH="", XDG_RUNTIME_DIR=daemon.folder))
        if result.returncode != 0:  # this machine may have one
            self.assertEqual(result.returncode, 1)
            self.assertIn("no CUDA driver", result.stderr)
            self.assertEqual(len(result.stderr.splitlines()), 1)
        daemon.end()

    def test_termination_reaches_the_program(self):
        daemon = Daemon("--policy", "piv")
        process = daemon.start("sh", "-c", "trap 'echo ended; exit 5' TERM; echo ready; while :; do sleep 0.05; done")
        self.assertEqual(process.stdout.readline(), "ready\n")
        process.send_signal(signal.SIGTERM)
        code, out, _ = finish(process)
        self.assertEqual((code, out), (5, "ended\n"))
        daemon.end()

    def test_a_look_alike_behind_a_look_alike(self):
        daemon = Daemon("--policy", "piv")
        code, out, _ = daemon.run(GANGWAY, "exec", "--socket", daemon.socket, "--", CLIENT, "jobs", "2")
        self.assertEqual((code, out), native(CLIENT, "jobs", "2")[:2])
        daemon.end()

    def test_preload(self):
        daemon = Daemon("--policy", "piv")
        code, out, _ = finish(daemon.start(CLIENT, "jobs", "2", options=["--preload"]))
        self.assertEqual((code, out), native(CLIENT, "jobs", "2")[:2])
        self.assertIn("submissions", daemon.end()[0])


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

    def test_a_host_function_that_needs_the_gate(self):
        _, steps = self.together("--policy", "piv", "--drain-limit", "20 ms",
                                 commands=[[CLIENT, "callback", "6"], [CLIENT, "jobs", "60"]])
        _, steps = self.together("--policy", "disengaged-timeslice", "--param", "slice=5 ms", "--param", "limit=30 s",
                                 "--drain-limit", "20 ms", commands=[[CLIENT, "callback", "4"], [CLIENT, "jobs", "20"]])
        self.assertIn("returned", [s[1] for s in steps])

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


@unittest.skipUnless(POINTS, "there is no look-alike with points")
class Killed(unittest.TestCase):
    """A client that dies at any point of the protocol harms nobody else."""

    def links(self, folder):
        where = folder + "/points"
        os.mkdir(where)
        os.symlink(POINTS + "/libgangway-lookalike.so", where + "/libcuda.so.1")
        os.symlink(STANDIN + "/libcuda.so.1", where + "/libgangway-real-cuda.so.1")
        return where

    def test_at_every_named_point(self):
        for policy in (["piv", "--in-flight", "2"], ["disengaged-timeslice", "--param", "slice=4 ms"],
                       ["timeslice", "--param", "slice=4 ms"]):
            daemon = Daemon("--policy", *policy, "--drain-limit", "30 ms")
            folder = self.links(daemon.folder)
            done = daemon.folder + "/done"
            other = daemon.start(CLIENT, "until", done, options=["--priority", "5"])
            for point in NAMED + (["asks"] if policy[0] == "timeslice" else []):
                victim = subprocess.Popen([CLIENT, "jobs", "100000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                          env=daemon.environment(GANGWAY_SOCKET=daemon.socket, GANGWAY_DIE_AT=point)
                                          | {"LD_LIBRARY_PATH": folder + ":" + STANDIN})
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

    def test_a_stopped_client_holds_nobody_up(self):
        for policy in (["fcfs"], ["piv"], ["disengaged-timeslice", "--param", "slice=5 ms"], ["timeslice", "--param", "slice=5 ms"]):
            with self.subTest(policy=policy[0]):
                daemon = Daemon("--policy", *policy, "--drain-limit", "30 ms")
                # One that is stopped at a random moment of its work, again and again.
                victim = daemon.start(CLIENT, "jobs", "300", options=["--name", "victim"])
                end = time.monotonic() + 30
                while time.monotonic() < end:
                    clients = json.loads(subprocess.run([GANGWAY, "status", "--json", "--socket", daemon.socket], capture_output=True,
                                                        text=True, check=True).stdout)["clients"]
                    if clients and clients[0]["jobs"] > 3:
                        break
                    time.sleep(0.02)
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
                point = {"GANGWAY_DIE_AT": rng.choice(NAMED)} if rng.random() < 0.5 else {}
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
            status = json.loads(subprocess.run([GANGWAY, "status", "--json", "--socket", daemon.socket], capture_output=True, text=True,
                                               timeout=LIMIT, check=True).stdout)
            jobs = [client["jobs"] for client in status["clients"] if client["priority"] == 5]
            if jobs and jobs[0] != seen:
                seen, since = jobs[0], time.monotonic()
            longest = max(longest, time.monotonic() - since)
        for victim, _ in victims:
            victim.kill()
            victim.wait()
        self.assertGreater(deaths, 20)
        self.assertLess(longest, 10)  # the urgent one goes on, on a machine of two cores, too
        open(done, "w").close()
        self.assertEqual(finish(other)[:2], (0, "until: worked\n"))
        while len(os.listdir(f"/proc/{daemon.process.pid}/fd")) > files and time.monotonic() < end + LIMIT:
            time.sleep(0.05)
        self.assertLessEqual(len(os.listdir(f"/proc/{daemon.process.pid}/fd")), files)
        _, err, _ = daemon.end()
        self.assertEqual(err, "")


if __name__ == "__main__":
    unittest.main()
