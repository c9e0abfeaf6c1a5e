"""Experiments whose programs' kernels leave before their end, on the stand-in driver, which carries their PTX out."""

import csv
import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from live_daemon import GANGWAY, LIMIT, STANDIN, finish
from test_forms import CLIENT, tools

FILE = """kind: experiment
version: 1
name: forms
workload:
  kind: workload
  version: 1
  name: forms
  clients:
    - {{name: long, command: {{run: [{client}, passes, 1000000000], skip: 2}}, repeat: {{jobs: endless}}}}
    - {{name: urgent, command: {{run: [{client}, urgent, {done}], skip: 2}}, priority: 5, repeat: {{jobs: endless, period: 30 ms}}}}
device: h100
mechanism: ideal
grant: {{of: job, idle: 1 ms}}
policies: [{policies}]
horizon: {horizon}
"""


@unittest.skipUnless(STANDIN and CLIENT, "there is no stand-in driver")
class FormsWorld(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.more = tools(self.folder)

    def start(self, policies, *options, horizon="700 ms"):
        path = self.folder / "forms.yaml"
        path.write_text(FILE.format(client=CLIENT, done=self.folder / "done", policies=policies, horizon=horizon))
        environment = dict(os.environ, LD_LIBRARY_PATH=STANDIN, XDG_RUNTIME_DIR=str(self.folder), **self.more)
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        return subprocess.Popen([GANGWAY, "run", path, "--world", "live", "--out", self.folder / "out", *options], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env=environment)

    def seen(self, run):
        """What the session's daemon says of the long program, while it runs."""
        last = {}
        while run.poll() is None:
            for socket in self.folder.glob("gangway/run.*/socket"):
                status = subprocess.run([GANGWAY, "status", "--json", "--socket", socket], capture_output=True, text=True, timeout=LIMIT)
                if status.returncode == 0:
                    last = next((c for c in json.loads(status.stdout)["clients"] if c["name"] == "long"), last)
            time.sleep(0.05)
        code, _, err = finish(run)
        self.assertEqual((code, err), (0, ""))
        return last

    def rows(self, name):
        with open(self.folder / "out" / name) as lines:
            return list(csv.DictReader(lines))

    def test_each_policy_has_its_own_choice(self):
        plain = "{name: piv, label: plain, grant: {of: job, idle: 1 ms, forms: none}}"
        for policies, some in ((plain, False), ("passthrough, {name: passthrough, label: again}", False),
                               (plain + ", {name: piv, label: leaving, grant: {of: job, idle: 1 ms, forms: all}}", True)):
            with self.subTest(policies=policies):
                seen = self.seen(self.start(policies))
                self.assertEqual(seen["launches_in_forms"] > 0, some, seen)
                self.assertEqual(seen["kernels_with_forms"] > 0, some, seen)
                self.assertEqual({row["policy"] for row in self.rows("summary.csv")}, {p for p in ("plain", "leaving", "passthrough", "again") if p in policies})

    def test_the_trace_shows_when_kernels_left_and_went_on(self):
        policies = "{name: piv, label: leaving, grant: {of: job, idle: 1 ms, forms: all}}, {name: piv, label: plain, grant: {of: job, idle: 1 ms, forms: none}}"
        seen = self.seen(self.start(policies, "--trace", horizon="2 s"))
        rows = {(row["policy"], row["client"]): float(row["kernel_evictions"]) for row in self.rows("clients.csv")}
        self.assertEqual([rows["plain", "long"], rows["plain", "urgent"]], [0, 0])
        self.assertGreater(rows["leaving", "long"], 3)
        self.assertLessEqual(rows["leaving", "long"], seen["evictions"])
        for policy in ("leaving", "plain"):
            trace = json.loads(subprocess.run(["zcat", "-f", next((self.folder / "out/trace").glob(f"*{policy}*"))], capture_output=True).stdout)
            names = {e["pid"]: e["args"]["name"] for e in trace["traceEvents"] if e.get("name") == "process_name"}
            threads = {e["tid"]: e["args"]["name"] for e in trace["traceEvents"]
                       if e.get("name") == "thread_name" and names.get(e["pid"]) == "kernel states"}
            spans = sorted((e["ts"], e["ts"] + e["dur"], e["name"], e["args"]) for e in trace["traceEvents"]
                           if e.get("ph") == "X" and names.get(e["pid"]) == "kernel states" and threads[e["tid"]] == "long")
            if policy == "plain":
                self.assertEqual(spans, [])
                continue
            away = [(begin, end, args["kernels"]) for begin, end, name, args in spans if name == "READY"]
            self.assertEqual(sum(kernels for _, _, kernels in away), rows["leaving", "long"])
            for before, after in zip(spans, spans[1:]):
                self.assertLessEqual(before[1], after[0] + 1e-3)
                if after[2] == "READY":
                    self.assertEqual(before[2], "TOEVICT")
            # While its kernels are away, the other one has the device.
            urgent = sorted((e["ts"], e["ts"] + e["dur"]) for e in trace["traceEvents"] if e.get("ph") == "X" and e["name"] == "urgent")
            met = [any(begin < end and since < until for since, until in urgent) for begin, end, _ in away]
            self.assertGreater(sum(met), len(met) // 2)


if __name__ == "__main__":
    unittest.main()
