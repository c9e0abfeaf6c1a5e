"""gangway status: what it says of clients, as a table, as JSON and for Prometheus."""

import fcntl
import json
import os
import signal
import subprocess
import time
import unittest

from live_daemon import CLIENT, GANGWAY, LIMIT, STANDIN, Daemon, finish


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
        self.assertEqual(self.ask(daemon).count("\n"), 1 + (status["processes_not_looked_at"] > 0))
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
        of_others = ("uses a GPU but is not a client of this daemon", "processes of others may use a GPU")
        table = [line for line in self.ask(daemon).splitlines() if not any(text in line for text in of_others)]
        self.assertEqual(len(table), 4)
        self.assertNotIn("\x1b", "".join(table))  # a name cannot clear the terminal
        for program in programs:
            program.terminate()
            self.assertEqual(finish(program)[0], -signal.SIGTERM)
        while (status := json.loads(self.ask(daemon, "--json")))["clients"] and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual((status["clients"], status["clients_so_far"]), ([], 2))
        daemon.end()


if __name__ == "__main__":
    unittest.main()
