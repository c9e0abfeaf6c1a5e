"""The one table of metrics: what files, lists, comparisons and figures say is what it says; a metric of one's own is one entry."""

import csv
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

from program import GANGWAY, ROOT, ProgramTest

OWN = Path(os.environ["GANGWAY_OWN_METRIC"]).resolve()
sys.path.insert(0, str(ROOT / "analysis"))

from gangway import metrics  # noqa: E402
from gangway.drawing import names  # noqa: E402

TWO = """kind: experiment
version: 1
name: two
workload:
  kind: workload
  version: 1
  name: two
  clients:
    - {name: long, kernels: [{name: l, block_tasks: 80, block: [1], time: 10 ms}]}
    - {name: short, arrive: 1.5 ms, kernels: [{name: s, block_tasks: 8, block: [1], time: 1 ms}]}
device: {kind: device, version: 1, name: eight, layout: pool, m: 8}
mechanism: ideal
standalone: original
policies: [fcfs, srt]
services: true
"""
PUBLISHED = """published:
  - {figure: f, policy: fcfs, metric: ntt_spread, published: 8.5, class: tight}
  - {figure: f, policy: srt, client: long, metric: evictions_of_all, published: 1, class: tight}
"""


def rows(file):
    with open(file, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


class Table(ProgramTest):
    def listed(self):
        return json.loads(self.gangway("list", "metrics", "--json").stdout)

    def test_files_have_its_columns_in_its_order(self):
        self.gangway("run", self.file("e.yaml", TWO), "--set", "replications=2", "--out", "out")
        of = {"replications.csv": "summary.csv", "service_replications.csv": "services.csv"}
        keys = {"point", "policy", "client", "error", "replication", "permutation", "job"}
        for file in ("summary.csv", "clients.csv", "services.csv", "jobs.csv", *of):
            with open(self.folder / "out" / file, encoding="utf-8") as stream:
                columns = stream.readline().strip().split(",")
            mine = [entry for entry in self.listed() if entry["file"] == of.get(file, file)]
            self.assertEqual([name for name in columns if name not in keys and not name.endswith("_ci95")],
                             [entry["name"] for entry in mine if entry["always"]], file)
            self.assertEqual({name[:-5] for name in columns if name.endswith("_ci95")},
                             {entry["name"] for entry in mine if entry["interval"]} if file not in of else set(), file)

    def test_what_figures_read_is_the_programs(self):
        page = ROOT / "experiments" / "metrics" / "README.md"
        table = self.file("metrics.json", self.gangway("list", "metrics", "--json").stdout)
        done = subprocess.run([sys.executable, ROOT / "analysis" / "metrics.py", table, "--page", page], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_another_table_is_refused(self):
        changed = self.listed()
        changed[0]["label"] = "another"
        table = self.file("metrics.json", json.dumps(changed))
        done = subprocess.run([sys.executable, ROOT / "analysis" / "metrics.py", table, "--page", ROOT / "experiments/metrics/README.md"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("./dev metrics", done.stderr)

    def test_each_says_what_it_is(self):
        for entry in self.listed():
            with self.subTest(entry["name"]):
                self.assertRegex(entry["summary"], r"^[A-Z`0-9].*\.$")
                self.assertEqual(entry["unit"] == "ns", "_ns" in entry["name"])
                self.assertEqual(entry["unit"] == "text", entry["kind"] == "text")
                self.assertFalse(entry["ranked"] and entry["better"] == "neither")

    def test_labels_of_figures(self):
        self.assertEqual(names.metric("stp"), "STP (higher is better)")
        self.assertEqual(names.metric("makespan_ns"), "makespan (ms, lower is better)")
        self.assertEqual(names.metric("evictions"), "evictions per run")
        self.assertEqual(names.metric("evictions", "client"), "evictions per job")
        self.assertEqual(names.metric("of_another_version"), "of another version")
        self.assertEqual(metrics.ranked(), ("antt", "dntt", "stp"))

    def test_a_metric_that_there_is_not(self):
        published = "published:\n  - {figure: f, policy: fcfs, metric: ntt_spread, published: 1, class: tight}\n"
        self.assertIn("found 'ntt_spread'", self.refused("run", self.file("e.yaml", TWO + published), "--out", "out"))
        # Texts are no numbers to be compared with.
        self.assertIn("found 'starved'", self.refused("check", self.file("f.yaml", TWO + published.replace("ntt_spread", "starved"))))


class OwnMetric(ProgramTest):
    """tests/own_metric adds one of each level to the program, one entry each."""

    def own(self, *arguments):
        done = subprocess.run([OWN, *arguments], cwd=self.folder, capture_output=True, text=True, env={**os.environ, "GANGWAY_DATA": str(ROOT)})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_one_entry_is_all_it_takes(self):
        # fcfs: `long` 10 ms of 10 (NTT 1), `short` from 10 to 11 ms, 9.5 ms of 1 (NTT 9.5). srt: 11 of 10 and 1 of 1, one eviction.
        self.own("run", self.file("e.yaml", TWO + PUBLISHED), "--out", "out")
        out = self.folder / "out"
        self.assertEqual([row["ntt_spread"] for row in rows(out / "summary.csv")], ["8.5", "0.10000000000000009"])
        self.assertEqual([(row["policy"], row["client"], row["evictions_of_all"]) for row in rows(out / "clients.csv")],
                         [("fcfs", "long", "0"), ("fcfs", "short", "0"), ("srt", "long", "1"), ("srt", "short", "0")])
        self.assertEqual([row["age_ns"] for row in rows(out / "jobs.csv")], ["10000000", "9500000", "11000000", "1000000"])
        self.assertEqual([(row["metric"], row["measured"], row["verdict"]) for row in rows(out / "published.csv")],
                         [("ntt_spread", "8.5", "pass"), ("evictions_of_all", "1", "pass")])
        listed = {(entry["level"], entry["name"]): entry for entry in json.loads(self.own("list", "metrics", "--json"))}
        self.assertEqual(listed["point", "ntt_spread"]["label"], "spread of NTT")
        self.assertIn("age_ns", self.own("list", "metrics"))
        self.assertIn(("client", "evictions_of_all"), listed)
        # It ranks policies, is compared and tested, as it says of itself.
        compared = json.loads(self.own("compare", "out", "out", "--json"))
        self.assertEqual(compared["groups"][0]["ntt_spread"]["measured"], 8.5)
        self.assertEqual([ranking["predicted"] for ranking in compared["rankings"] if ranking["metric"] == "ntt_spread"], [["srt", "fcfs"]])
        self.assertIn("spread", self.own("compare", "out", "out", "--fail-above", "ntt_spread=0.01"))
        self.assertIn("ntt_spread", [row["metric"] for row in compared["differences"]["rows"]])

    def test_results_of_the_usual_metrics_are_the_same(self):
        file = self.file("e.yaml", TWO)
        self.own("run", file, "--out", "own")
        self.gangway("run", file, "--out", "usual")
        added = {"summary.csv": {"ntt_spread"}, "clients.csv": {"evictions_of_all"}, "services.csv": set(), "jobs.csv": {"age_ns"}}
        for table, more in added.items():
            own = [{key: value for key, value in row.items() if key not in more} for row in rows(self.folder / "own" / table)]
            self.assertEqual(own, rows(self.folder / "usual" / table))


if __name__ == "__main__":
    unittest.main()
