"""What the five papers print: the lists hold against the experiments, faults in them are found, and experiments/papers.md counts what runs give."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
GANGWAY = Path(os.environ.get("GANGWAY", "build/release/gangway")).resolve()
PAPERS = ("frs", "effisha", "neon", "share-a-gpu", "yang-anderson")

sys.path.insert(0, str(ROOT / "analysis"))
from gangway.drawing.commands import printed  # noqa: E402  (the path comes first)


def check(*files):
    done = subprocess.run([GANGWAY, "check", *files], capture_output=True, text=True)
    return done.returncode, done.stderr


def entries(paper):
    """(experiment, entry) of all published values of a paper."""
    for file in sorted((ROOT / "experiments" / paper).glob("*.yaml")):
        for entry in yaml.safe_load(file.read_text(encoding="utf-8")).get("published") or []:
            yield file.stem, entry


class Lists(unittest.TestCase):
    def test_every_list_holds_against_its_experiments(self):
        self.assertEqual(check(*(ROOT / f"experiments/{paper}/printed.yaml" for paper in PAPERS)), (0, ""))

    def test_every_number_is_in_a_result_or_has_a_reason(self):
        for paper in PAPERS:
            statements = yaml.safe_load((ROOT / f"experiments/{paper}/printed.yaml").read_text(encoding="utf-8"))["statements"]
            compared = {entry["printed"] for _, entry in entries(paper) if "printed" in entry}
            for statement in statements:
                with self.subTest(paper=paper, id=statement["id"]):
                    self.assertEqual(statement["id"] in compared, "compared" in statement)
                    self.assertTrue("compared" in statement or "input" in statement or len(statement["reason"]) > 5)

    def test_what_is_printed_nowhere_is_open(self):
        for paper in PAPERS:
            for experiment, entry in entries(paper):
                self.assertTrue("printed" in entry or entry["class"] == "open", (paper, experiment, entry))


class Faults(unittest.TestCase):
    """Each in a copy of a paper's folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = Path(folder.name)
        for name in ("models", "workloads"):
            (root / name).symlink_to(ROOT / name)
        self.folder = root / "experiments/yang-anderson"
        shutil.copytree(ROOT / "experiments/yang-anderson", self.folder, ignore=shutil.ignore_patterns("*.png"))
        self.list = self.folder / "printed.yaml"

    def change(self, file, old, new):
        text = (self.folder / file).read_text(encoding="utf-8")
        self.assertEqual(text.count(old), 1, old)
        (self.folder / file).write_text(text.replace(old, new), encoding="utf-8")

    def refused(self, file, *parts):
        code, message = check(self.list)
        self.assertEqual(code, 2, message)
        self.assertEqual(message.count("\n"), 1, message)
        self.assertIn(f"/{file}:", message)
        for part in parts:
            self.assertIn(part, message)

    def test_the_copy_is_fine(self):
        self.assertEqual(check(self.list), (0, ""))

    def test_another_number_in_the_list(self):
        self.change("printed.yaml", "value: 3 ms", "value: 3.1 ms")
        self.refused("fig3.yaml", "key 'published.0': found 3000000, expected what growth has: 3100000")

    def test_another_number_in_an_entry(self):
        self.change("fig2.yaml", "published: 6 ms", "published: 5 ms")
        self.refused("fig2.yaml", "found 5000000, expected what example-1-k3 has: 6000000")

    def test_a_number_that_no_entry_has(self):
        self.change("printed.yaml", "value: 3 ms", "values: {last: 3 ms, first: 1.1 ms}")
        self.refused("printed.yaml", "found 1100000, which no entry for growth in fig3.yaml has")

    def test_a_number_printed_twice_and_compared_once(self):
        self.change("printed.yaml", "value: 3 ms", "values: {one: 3 ms, another: 3 ms}")
        self.refused("printed.yaml", "found 3000000, which no entry for growth in fig3.yaml has, or too few")

    def test_an_entry_of_nothing_that_is_printed(self):
        self.change("fig2.yaml", "printed: example-1-k3, ", "")
        self.refused("fig2.yaml", "class tight of nothing that is printed, expected printed, or class open")

    def test_an_unknown_statement(self):
        self.change("fig3.yaml", "printed: growth", "printed: grwoth")
        self.refused("fig3.yaml", "found printed 'grwoth', expected a statement in", "did you mean 'growth'?")

    def test_an_entry_that_the_list_does_not_know_of(self):
        self.change("fig3-tx1.yaml", "figure: fig3,", "figure: fig3, printed: growth,")
        self.refused("fig3-tx1.yaml", "growth, which is not said to be compared here")

    def test_an_experiment_without_an_entry(self):
        self.change("printed.yaml", "compared: [fig3]", "compared: [fig3, fig2]")
        self.refused("printed.yaml", "found no entry for growth in fig2.yaml")

    def test_a_statement_that_counts_twice_or_counts_and_is_open(self):
        self.change("fig3.yaml", "class: input", "class: tight")
        self.change("printed.yaml", "compared: [fig3]", "compared: [fig3, fig3-tx1]")
        self.change("fig3-tx1.yaml", "figure: fig3,", "figure: fig3, printed: growth,")
        self.refused("fig3-tx1.yaml", "growth as open, which counts in fig3.yaml")
        self.change("fig3-tx1.yaml", "class: open", "class: tight")
        self.refused("fig3.yaml", "growth as tight, which counts in fig3-tx1.yaml")  # files are read by name
        self.change("fig3-tx1.yaml", "class: tight", "class: input")
        self.assertEqual(check(self.list), (0, ""))

    def test_a_sentence_without_a_number_is_compared_with_1(self):
        text = (self.folder / "fig2.yaml").read_text(encoding="utf-8").replace("published: 17.2 ms, class: open", 'published: 17.2 ms, relation: ">", class: order')
        (self.folder / "fig2.yaml").write_text(text, encoding="utf-8")
        self.refused("fig2.yaml", "expected 1, because example-1-k5 has no number")

    def test_an_input_that_is_not_in_its_file(self):
        self.change("printed.yaml", "value: 32\n", "value: 33\n")
        self.refused("printed.yaml", "33, which is not in ../../models/devices/jetson-tx1.yaml")

    def test_an_input_whose_file_there_is_not(self):
        self.change("printed.yaml", "value: 32\n    input: [../../models/devices/jetson-tx1.yaml]", "value: 32\n    input: [jetson-tx2.yaml]")
        self.refused("printed.yaml", "'jetson-tx2.yaml', which does not exist")


class Page(unittest.TestCase):
    def rows(self):
        text = (ROOT / "experiments/papers.md").read_text(encoding="utf-8")
        return text.partition(printed.BEGIN)[2].partition(printed.END)[0].splitlines()

    def test_it_has_every_experiment_that_compares_printed_values(self):
        compared = {f"`{paper}/{experiment}.yaml`" for paper in PAPERS for experiment, _ in entries(paper)}
        self.assertEqual({row.split(" | ")[2] for row in self.rows()[2:-1]}, compared)

    def test_its_sums_are_sums(self):
        counts = [[int(cell or 0) for cell in row.split("|")[4:8]] for row in (row.replace(" ", "") for row in self.rows()[2:])]
        self.assertEqual(counts[-1], [sum(column) for column in zip(*counts[:-1])])

    def test_its_rows_are_what_runs_give(self):  # those of NEON take minutes: ./dev figures holds them
        expected = {row.split(" | ")[2]: row.split(" | ", 3)[1:] for row in self.rows()[2:-1]}
        with tempfile.TemporaryDirectory() as out:
            folders = []
            for paper, name in sorted({(paper, name) for paper in PAPERS if paper != "neon" for name, _ in entries(paper)}):
                folders.append(Path(out) / paper / name)
                subprocess.run([GANGWAY, "run", ROOT / f"experiments/{paper}/{name}.yaml", "--out", folders[-1]], check=True, capture_output=True)
            for row in printed.table(folders).splitlines()[2:-1]:
                with self.subTest(row.split(" | ")[2]):
                    self.assertEqual(row.split(" | ", 3)[1:], expected[row.split(" | ")[2]], "./dev printed makes the table anew")


if __name__ == "__main__":
    unittest.main()
