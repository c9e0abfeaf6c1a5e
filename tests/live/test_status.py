"""gangway status: what it says of clients, as a table, as JSON and for Prometheus."""

import fcntl
import json
import os
import re
import signal
import subprocess
import time
import unittest

from live_daemon import CLIENT, GANGWAY, LIMIT, STANDIN, Daemon, LiveTest, finish


class Status(LiveTest):
    def ask(self, daemon, *options):
        result = subprocess.run([GANGWAY, "status", "--socket", daemon.socket, *options], capture_output=True, text=True, timeout=LIMIT)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def table(self, daemon):
        """Without what depends on who else is on this machine's GPUs."""
        lines = self.ask(daemon).splitlines()
        return [line for line in lines if not re.match(r"process \d+ uses a GPU but|\d+ processes of others may use a GPU", line)]

    def metrics(self, daemon):
        lines = [line for line in self.ask(daemon, "--prometheus").splitlines() if not line.startswith("#")]
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines}

    def client(self, daemon, name):
        return next((client for client in daemon.status()["clients"] if client["name"] == name), None)

    def test_nobody_is_there(self):
        daemon = Daemon("--policy", "edf")
        status = json.loads(self.ask(daemon, "--json"))
        self.assertEqual((status["kind"], status["version"], status["policy"], status["clients"]), ("status", 1, "edf", []))
        self.assertEqual((status["process"], status["clients_so_far"]), (daemon.process.pid, 0))
        self.assertEqual(status["totals"], {"jobs": 0, "submissions": 0, "killed": 0, "permits_returned": 0})
        if not os.path.exists("/dev/nvidia-uvm"):  # then nobody can be on a GPU
            self.assertEqual((status["others"], status["processes_not_looked_at"]), ([], 0))
        self.assertEqual(len(self.table(daemon)), 1)
        daemon.end()

    @unittest.skipUnless(STANDIN, "there is no stand-in driver")
    def test_a_daemon_that_nobody_listens_to(self):
        """Its lines fill a pipe that is not read."""
        daemon = Daemon("--policy", "fcfs")
        fcntl.fcntl(daemon.process.stdout, fcntl.F_SETPIPE_SZ, 4096)
        for _ in range(60):
            self.assertEqual(daemon.run(CLIENT, "jobs", "1", options=["--name", "x" * 60])[0], 0)
        self.assertEqual(daemon.status()["clients_so_far"], 60)
        out, err, _ = daemon.end()
        self.assertLess(len(out), 4097)
        self.assertEqual(err, "")

    @unittest.skipUnless(STANDIN, "there is no stand-in driver")
    def test_a_daemon_whose_output_has_no_reader(self):
        """As behind `| head -1`."""
        daemon = Daemon("--policy", "fcfs")
        daemon.process.stdout.close()
        for _ in range(2):
            self.assertEqual(daemon.run(CLIENT, "jobs", "1")[0], 0)
        self.assertEqual(daemon.status()["clients_so_far"], 2)
        socket = daemon.socket
        _, err, _ = daemon.end()
        self.assertEqual((daemon.process.returncode, err, os.path.exists(socket)), (0, "", False))

    @unittest.skipUnless(STANDIN, "there is no stand-in driver")
    def test_a_log_that_cannot_be_written(self):
        daemon = Daemon("--policy", "fcfs", log="/dev/full")
        for _ in range(2):
            self.assertEqual(daemon.run(CLIENT, "jobs", "1")[0], 0)
        daemon.process.send_signal(signal.SIGTERM)
        _, err = daemon.process.communicate(timeout=LIMIT)
        self.assertEqual((daemon.process.returncode, err), (1, "error: the log ends early: No space left on device\n"))

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
        b = f'{{name="b",process="{second["process"]}",gpu="0"}}'
        self.assertGreaterEqual(values["gangway_client_jobs_total" + b], second["jobs"])
        self.assertGreater(values["gangway_client_latency_seconds" + b[:-1] + ',quantile="0.99"}'], 400e-6)
        for line in metrics:
            self.assertRegex(line, r'^# (HELP|TYPE) gangway_[a-z_]+ .+$|^gangway_[a-z_]+(\{([a-z]+="([^"\\]|\\.)*",?)+\})? [0-9.e+-]+$')
        self.assertIn(values["gangway_client_whole_jobs_only" + b], (0, 1))
        self.assertEqual(values["gangway_client_without_daemon_total" + b], 0)
        self.assertEqual(len([key for key in values if key.startswith("gangway_client_access" + b[:-1] + ",access=")]), 1)
        # Both have waited for decisions by then.
        self.until(lambda: all(c["decision_to_submission_ns"]["p99"] for c in daemon.status()["clients"]), "decisions")
        self.assertGreater(self.metrics(daemon)["gangway_client_decision_seconds" + b[:-1] + ',quantile="0.99"}'], 0)
        table = self.table(daemon)
        self.assertEqual(len(table), 4)
        self.assertNotIn("\x1b", "".join(table))  # a name cannot clear the terminal
        self.assertLessEqual(max(len(line) for line in table), 120)
        for column in ("prio", "weight", "slo", "access", "use", "jobs", "p99", "decided"):
            self.assertIn(column, table[1].split())
        for program in programs:
            program.terminate()
            self.assertEqual(finish(program)[0], -signal.SIGTERM)
        while (status := json.loads(self.ask(daemon, "--json")))["clients"] and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual((status["clients"], status["clients_so_far"]), ([], 2))
        daemon.end()

    @unittest.skipUnless(STANDIN, "there is no stand-in driver")
    def test_use(self):
        """Also of who has just come, and of who does not wait for its work."""
        daemon = Daemon("--policy", "passthrough")
        stop = daemon.folder + "/stop"
        self.assertIsNone(self.client(daemon, "rests"))
        programs = [daemon.start(CLIENT, "until", stop, options=["--name", "rests"]),
                    daemon.start(CLIENT, "loop", "1", "1000", "1", "hang", options=["--name", "forgets"])]
        self.until(lambda: len(daemon.status()["clients"]) == 2, "clients")
        time.sleep(2)
        programs.append(daemon.start(CLIENT, "jobs", "1000000", options=["--name", "works"]))
        self.until(lambda: self.client(daemon, "works"), "a client")
        time.sleep(1)
        status = daemon.status()
        use = {client["name"]: client["use"] for client in status["clients"]}
        self.assertGreater(use["works"], 0.5)
        self.assertLess(use["rests"], 0.4)
        self.assertLess(use["forgets"], 0.1)
        self.assertGreater(status["gpus"][0]["use"], 0.1)
        self.assertLess(status["gpus"][0]["use"], 0.9)  # it was idle for most of the time
        self.assertEqual(status["use_window_ns"], 10_000_000_000)
        self.assertRegex(self.table(daemon)[0], r", GPU in use \d+ % of the latest 10 s;")
        metrics = self.metrics(daemon)
        self.assertGreater(metrics['gangway_gpu_use{gpu="0"}'], 0.1)
        self.assertGreater(metrics[f'gangway_client_use{{name="works",process="{self.client(daemon, "works")["process"]}",gpu="0"}}'], 0.5)
        for program in programs:
            program.terminate()
            finish(program)
        daemon.end()

    @unittest.skipUnless(STANDIN, "there is no stand-in driver")
    def test_totals_of_those_who_have_gone(self):
        daemon = Daemon("--policy", "fcfs")
        for _ in range(2):
            self.assertEqual(daemon.run(CLIENT, "jobs", "3")[0], 0)
        self.until(lambda: not daemon.status()["clients"], "they are gone")
        # A job is a memset, forty kernels and a copy.
        self.assertEqual(daemon.status()["totals"], {"jobs": 6, "submissions": 2 * 3 * 42, "killed": 0, "permits_returned": 0})
        metrics = self.metrics(daemon)
        totals = [metrics[f"gangway_{key}_total"] for key in ("clients", "jobs", "submissions", "killed", "permits_returned")]
        self.assertEqual(totals, [2, 6, 252, 0, 0])
        self.assertIn("; so far 2 clients, 6 jobs, 252 submissions", self.table(daemon)[0])
        daemon.end()

    @unittest.skipUnless(STANDIN, "there is no stand-in driver")
    def test_who_was_without_a_daemon(self):
        daemon = Daemon("--policy", "fcfs")
        stop = daemon.folder + "/stop"
        program = daemon.start(CLIENT, "until", stop, options=["--name", "it"])
        self.until(lambda: self.client(daemon, "it"), "a client")
        self.assertEqual(len(self.table(daemon)), 3)
        daemon.process.kill()
        daemon.process.communicate()
        daemon.serve("--policy", "fcfs")
        client = self.until(lambda: self.client(daemon, "it"), "it returns")
        self.assertRegex(self.table(daemon)[-1], rf"^it \({client['process']}\): was without a daemon 1 time, for [0-9.]+ m?s in all$")
        open(stop, "w").close()
        self.assertEqual(finish(program)[0], 0)
        daemon.end()


if __name__ == "__main__":
    unittest.main()
