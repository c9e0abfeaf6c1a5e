"""gangway run --points and gangway merge: parts of a sweep, joined into what one run writes."""

import contextlib
import fcntl
import hashlib
import itertools
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import unittest

from program import SLOW, SMALL, TINY, ProgramTest, contents, finished_groups, manifest, table
from test_study import STUDY

# Published values of several points, services, jobs, policies that differ from point to point.
SWEPT = SMALL.replace("sweep:\n", """services: true
sweep:
  policies: [[sjf, rr], [sjf, rr, fcfs]]
""") + """published:
  - {figure: one, policy: sjf, metric: antt, published: 1.95, class: tight, point: 3}
  - {figure: ratio, policy: rr, metric: antt, published: 1, class: order, relation: ">", point: 2, relative_to_point: 1}
  - {figure: mean, policy: sjf, metric: stp, published: 5, class: moderate, point: 0, over: {to: 3, take: mean}}
"""
POINTS = 4
FAILING = TINY.replace("[fcfs]", "[fcfs, sjf]") + """horizon: 1 ms
sweep:
  workload.clients.A.kernels.k.time: [100 us, 5 ms, 200 us]
"""
STORE = "parts/results.sqlite"


class Parts(ProgramTest):
    TEXT, MORE, CODE = SWEPT, (), 0

    def setUp(self):
        super().setUp()
        self.experiment = self.file("e.yaml", self.TEXT)

    def whole(self):
        self.gangway("run", self.experiment, "--out", "whole", *self.MORE, code=self.CODE)
        return contents(self.folder / "whole")

    def part(self, points, out=None, *more, code=0):
        out = out or f"points-{points}"
        self.gangway("run", self.experiment, "--points", points, "--out", out, *self.MORE, *more, code=code)
        return out

    def merge(self, *parts, out="merged", code=0):
        return self.gangway("merge", *parts, "--out", out, code=code)

    def seal(self, store):
        """The hash that PartsHash makes of what is there now."""
        content = hashlib.sha256()
        with contextlib.closing(sqlite3.connect(store)) as parts, parts:
            rows = parts.execute("SELECT number, point, name, rows, error, events, jobs FROM parts ORDER BY number").fetchall()
            for number, point, name, row, error, events, jobs in rows:
                content.update(f"part {number} {point} {events} {jobs} {len(name)} {len(row)} {len(error)}\n{name}{row}{error}".encode())
                for (text,) in parts.execute("SELECT text FROM texts WHERE number = ? ORDER BY piece", [number]):
                    text = text if isinstance(text, bytes) else text.encode()
                    content.update(b"text %d\n" % len(text) + text)
            parts.execute("UPDATE said SET text = ? WHERE name = 'content'", [content.hexdigest()])

    def refused_merge(self, *parts, out="merged", code=2):
        message = self.refused("merge", *parts, "--out", out, code=code)
        self.assertFalse((self.folder / out / "manifest.json").exists())
        return message


class Joined(Parts):
    MORE = ("--trace",)

    def test_the_smallest_case_by_hand(self):
        """Two points of one job each, which takes 10 us and 20 us alone."""
        self.experiment = self.file("two.yaml", TINY + "jobs: true\nsweep: {workload.clients.A.kernels.k.time: [10 us, 20 us]}\n")
        self.merge(self.part("1"), self.part("0"))
        jobs = table(self.folder / "merged/jobs.csv")
        self.assertEqual([(row["point"], row["standalone_ns"], row["response_ns"]) for row in jobs],
                         [("0", "10000", "10000"), ("1", "20000", "20000")])
        self.assertEqual([row["antt"] for row in table(self.folder / "merged/summary.csv")], ["1", "1"])

    def test_any_split_in_any_order_gives_the_bytes_of_one_run(self):
        whole = self.whole()
        self.assertEqual(len([name for name in whole if name.startswith("trace/")]), 10)
        self.assertEqual(len(table(self.folder / "whole/published.csv")), 3)
        splits = [["0-3"], ["0-1", "2-3"], ["3", "0,2", "1"], ["0", "1", "2", "3"], ["0-2", "1-3"], ["1-3", "0-3", "2"]]
        for split in splits:
            for points in split:
                if not (self.folder / f"points-{points}").exists():
                    self.part(points)
        for number, split in enumerate(splits):
            for order in {tuple(split), tuple(reversed(split))}:
                with self.subTest(order=order):
                    out = f"merged-{number}-{order[0]}"
                    self.merge(*(f"points-{points}" for points in order), out=out)
                    self.assert_same_files(contents(self.folder / out), whole)
        self.check_manifest("merged-1-0-1", "whole")
        done = self.gangway("run", self.experiment, "--out", "merged-1-0-1", *self.MORE)
        self.assertEqual((done.stdout, done.stderr), ("merged-1-0-1 already holds these results\n", ""))
        self.gangway("compare", "whole", "merged-1-0-1")

    def check_manifest(self, merged, whole):
        ours, theirs = manifest(self.folder / merged), manifest(self.folder / whole)
        self.assertEqual(ours.pop("merged_parts"), 2)
        for name in ("command", "start", "end", "seconds", "threads", "events_per_second", "jobs_per_second"):
            self.assertIn(name, ours)
            ours.pop(name), theirs.pop(name)
        self.assertEqual(ours, theirs)

    def test_a_second_merge_finds_the_results(self):
        parts = [self.part("0-1"), self.part("2-3")]
        first = self.merge(*parts)
        self.assertIn("published values: ", first.stdout)
        before = contents(self.folder / "merged", manifest=True)
        self.assertEqual(self.merge(*parts).stdout, "merged already holds these results\n")
        self.assert_same_files(contents(self.folder / "merged", manifest=True), before)

    def test_the_file_of_a_part_is_enough_but_for_timelines(self):
        whole = self.whole()
        for points in ("0-1", "2-3"):
            shutil.copy(self.folder / self.part(points) / STORE, self.folder / f"{points}.part")
        self.merge("0-1.part", "2-3.part")
        self.assert_same_files(contents(self.folder / "merged"), {name: whole[name] for name in whole if not name.startswith("trace/")})
        self.gangway("run", self.experiment, "--out", "merged", *self.MORE)
        self.assert_same_files(contents(self.folder / "merged"), whole)

    def test_a_run_that_was_cut_off_takes_parts(self):
        self.experiment = self.file("slow.yaml", SLOW.replace("permutations: 20", "permutations: 6"))
        self.MORE = ()
        whole = self.whole()
        process = self.start_and_wait_for_groups(self.folder / "merged", 3, "run", self.experiment)
        self.end(process, signal.SIGINT, 130)
        self.merge(self.part("1-5"))
        self.assert_same_files(contents(self.folder / "merged"), whole)


class RandomSplits(Parts):
    TEXT = SMALL.replace("[0.5 ms, 1 ms]", "{from: 0.1 ms, to: 1.2 ms, step: 0.1 ms}").replace("permutations: 3", "permutations: 1")

    def test_overlapping_parts_of_random_points(self):
        whole, random_points = self.whole(), random.Random(7)
        for attempt in range(6):
            left, parts = set(range(12)), []
            while left:
                points = sorted(random_points.sample(range(12), random_points.randint(1, 6)))
                left -= set(points)
                parts.append(self.part(",".join(map(str, points)), f"part-{attempt}-{len(parts)}"))
            random_points.shuffle(parts)
            with self.subTest(attempt=attempt, parts=len(parts)):
                self.merge(*parts, out=f"merged-{attempt}")
                self.assert_same_files(contents(self.folder / f"merged-{attempt}"), whole)


class Files(Parts):
    """Whole files are swept, and data files are named."""
    TEXT = """kind: experiment
version: 1
name: files
mechanism: flag-copy
policies: [sjf, rr]
workload: frs-table1
sweep:
  device: [titan-x-pascal, h200]
  workload:
    - frs-table1
    - {label: read, value: {kind: workload, version: 1, name: read, clients: [
        {name: A, repeat: {arrivals: {file: times.csv, unit: ms}}, kernels: [{name: k, block_tasks: 8, time: 10 us}]}]}}
"""

    def test_swept_devices_and_workloads(self):
        self.file("times.csv", "at\n0\n1\n1.5\n")
        whole = self.whole()
        parts = [self.part("0,3"), self.part("1-2")]
        self.merge(*parts)
        self.assert_same_files(contents(self.folder / "merged"), whole)
        self.file("times.csv", "at\n0\n1\n1.6\n")
        message = self.refused_merge(*parts, out="late")
        self.assertIn("times.csv", message)


class Studies(Parts):
    TEXT = STUDY

    def test_a_study(self):
        whole = self.whole()
        self.merge(self.part("1"), self.part("0"))
        self.assert_same_files(contents(self.folder / "merged"), whole)
        ours, theirs = manifest(self.folder / "merged"), manifest(self.folder / "whole")
        self.assertEqual([ours[key] for key in ("jobs", "events", "files")], [theirs[key] for key in ("jobs", "events", "files")])
        self.assertIn("already", self.gangway("run", self.experiment, "--out", "merged").stdout)

    def test_a_study_and_an_experiment(self):
        study = self.part("0")
        self.experiment = self.file("other.yaml", SWEPT)
        self.assertIn("another configuration", self.refused_merge(study, self.part("1")))


class Folders(Parts):
    """What a part's folder is to the other commands."""

    def test_a_part_is_found_and_kept_apart(self):
        out = self.part("1-2")
        self.assertEqual(sorted(contents(self.folder / out, manifest=True)), ["manifest.json", "parts/key", STORE])
        self.assertEqual(manifest(self.folder / out)["points"], "1-2")
        before = contents(self.folder / out, manifest=True)
        self.assertIn("already", self.gangway("run", self.experiment, "--points", "2,1", "--out", out).stdout)
        for points in ("1", "1-3"):
            message = self.refused("run", self.experiment, "--points", points, "--out", out)
            self.assertEqual(message, f"error: {out}: key '--out': found a part, of the points 1-2, expected an empty folder, or --force")
        self.refused("run", self.experiment, "--out", out)
        self.assertIn("found a part of results, of the points 1-2, expected all of them", self.refused("compare", out, out))
        self.refused("trace", out)
        self.assert_same_files(contents(self.folder / out, manifest=True), before)
        self.part("0", out, "--force")
        self.assertEqual(manifest(self.folder / out)["points"], "0")
        self.gangway("run", self.experiment, "--out", out, "--force")
        self.assertIn("found results of all points", self.refused("run", self.experiment, "--points", "1", "--out", out))
        self.assertFalse((self.folder / out / "parts").exists())

    def test_points_that_are_none(self):
        for points, found in (("4", "point 4"), ("0-4", "point 4"), ("2-1", "'2-1'"), ("x", "'x'"), ("1,", "''")):
            message = self.refused("run", self.experiment, "--points", points, "--out", "part")
            self.assertIn(f"--points: key '--points': found {found}, expected ", message)
        self.assertIn("--points: found nothing, expected a value", self.refused("run", self.experiment, "--points", "", "--out", "part"))
        self.assertFalse((self.folder / "part").exists())

    def test_a_part_that_is_damaged_is_made_anew(self):
        whole, other = self.whole(), self.part("0-1")
        out = self.part("2-3")
        store = self.folder / out / STORE
        for damage in (store.unlink, lambda: store.write_bytes(b"no database"), lambda: store.write_bytes(store.read_bytes()[:5000]),
                       lambda: self.change(store)):
            damage()
            self.refused_merge(other, out)
            done = self.gangway("run", self.experiment, "--points", "2-3", "--out", out)
            self.assertEqual(done.stderr, f"note: {out}: {STORE} is missing or has changed, so it is made again\n")
        self.merge(other, out)
        self.assert_same_files(contents(self.folder / "merged"), whole)

    def change(self, store):
        with contextlib.closing(sqlite3.connect(store)) as parts, parts:
            parts.execute("DELETE FROM parts WHERE number = (SELECT max(number) FROM parts)")

    def test_an_interrupted_part_goes_on(self):
        self.experiment = self.file("slow.yaml", SLOW.replace("permutations: 20", "permutations: 6"))
        whole = self.whole()
        process = self.start_and_wait_for_groups(self.folder / "part", 2, "run", self.experiment, "--points", "1-5")
        self.end(process, signal.SIGINT, 130)
        self.assertLess(finished_groups(self.folder / "part"), 10)
        message = self.refused_merge("part", self.part("0"))
        self.assertEqual(message, "error: part: found a run that is not finished, expected a part that `gangway run --points` finished")
        self.part("1-5", "part")
        self.assertTrue(manifest(self.folder / "part")["resumed"])
        self.merge("part", "points-0")
        self.assert_same_files(contents(self.folder / "merged"), whole)


class Refused(Parts):
    """What does not belong together, or is not all there."""

    def test_missing_points(self):
        message = self.refused_merge(self.part("1"), self.part("3"))
        self.assertEqual(message, "error: gangway merge: key 'points': found no results of 0, 2, expected parts with all points from 0 to 3")
        self.assertFalse((self.folder / "merged").exists())

    def test_parts_of_something_else(self):
        ours = self.part("0-1")
        others = {"another configuration": ("--seed", 7), "results of the world 'host'": ("--world", "host")}
        for found, arguments in others.items():
            with self.subTest(found=found):
                message = self.refused_merge(ours, self.part("3", found.replace(" ", "-").replace("'", ""), *arguments))
                self.assertIn(found, message)
                self.assertTrue(message.endswith(f"expected the same as in {ours}"), message)
        self.assertFalse((self.folder / "merged").exists())

    def test_parts_of_another_build(self):
        ours, theirs = self.part("0-1"), "theirs"
        subprocess.run([self.another_build(), "run", self.experiment, "--points", "0-3", "--out", theirs], cwd=self.folder, check=True,
                       capture_output=True)
        self.assertIn("found results of another build of gangway, expected the same as in points-0-1", self.refused_merge(ours, theirs))
        self.assertIn("expected those of this one", self.refused_merge(theirs))

    def test_what_is_no_part(self):
        self.whole()
        ours = self.part("0-2")
        (self.folder / "empty").mkdir()
        self.file("file", "something else")
        self.gangway("run", self.experiment, "--out", "whole")
        for given, found in {"whole": "whole results", "empty": "no results", "nowhere": "no folder and no file",
                             "file": "a damaged part (file is not a database)"}.items():
            with self.subTest(given=given):
                self.assertIn(f"error: {given}: found {found}, expected a part", self.refused_merge(ours, given))

    def test_a_destination_that_is_taken(self):
        whole, parts = self.whole(), [self.part("0-1"), self.part("2-3")]
        for force in ([], ["--force"]):
            message = self.refused("merge", *parts, "--out", parts[0], *force)
            self.assertEqual(message, f"error: {parts[0]}: key '--out': found one of the parts, expected another folder")
        self.gangway("run", self.experiment, "--out", "other", "--seed", 8)
        self.assertIn("another configuration", self.refused("merge", *parts, "--out", "other"))
        self.gangway("merge", *parts, "--out", "other", "--force")
        self.assert_same_files(contents(self.folder / "other"), whole)
        (self.folder / "theirs").mkdir()
        self.file("theirs/notes.txt", "mine")
        self.assertIn("'notes.txt'", self.refused("merge", *parts, "--out", "theirs"))

    def test_two_merges_into_one_folder(self):
        parts = [self.part("0-1"), self.part("2-3")]
        (self.folder / "merged/parts").mkdir(parents=True)
        with open(self.folder / "merged/parts/lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # as another process has it
            self.assertEqual(self.refused_merge(*parts, code=1), "error: another run is writing to merged")
        self.merge(*parts)

    def test_a_changed_cell_or_timeline(self):
        damaged, ours = self.part("2-3", None, "--trace"), self.part("0-1")
        with contextlib.closing(sqlite3.connect(self.folder / damaged / STORE)) as parts, parts:
            parts.execute("UPDATE parts SET rows = replace(rows, '1', '2') WHERE number = (SELECT max(number) FROM parts)")
        message = f"error: {damaged}: found a damaged part (its content has changed), expected an unchanged part of `gangway run --points`"
        self.assertEqual(self.refused_merge(ours, damaged), message)
        with contextlib.closing(sqlite3.connect(self.folder / damaged / STORE)) as parts, parts:
            parts.execute("DELETE FROM texts WHERE number = (SELECT max(number) FROM parts)")
        self.assertEqual(self.refused_merge(ours, damaged), message)
        self.gangway("run", self.experiment, "--points", "2-3", "--out", damaged, "--trace")
        trace = self.folder / damaged / "trace/point-3-sjf-r0-p0.json.gz"
        trace.write_bytes(trace.read_bytes()[:-1])
        self.assertIn("found trace/point-3-sjf-r0-p0.json.gz, which is missing or has changed", self.refused_merge(ours, damaged))
        self.assertFalse((self.folder / "merged").exists())
        self.gangway("run", self.experiment, "--points", "2-3", "--out", damaged, "--trace")
        self.merge(ours, damaged)


class Differing(Parts):
    """Runs in real time: no two measure the same."""
    TEXT = TINY.replace("mechanism: ideal", "mechanism: flag-copy") + "sweep: {workload.clients.A.kernels.k.time: [1 ms, 2 ms]}\n"
    MORE = ("--world", "host")

    def test_the_same_point_twice_with_other_bytes(self):
        one, other, rest = self.part("0", "one"), self.part("0", "other"), self.part("1", "rest")
        message = self.refused_merge(one, rest, other)
        self.assertEqual(message, "error: other: found other results of point 0 under fcfs than in one, expected the same in both")
        self.assertFalse((self.folder / "merged").exists())
        self.merge(one, rest, one)
        self.assertIn("already", self.gangway("run", self.experiment, "--out", "merged", *self.MORE).stdout)


class DifferingJobs(Parts):
    def test_rows_of_jobs_alone(self):
        """The summary is the same, a line of jobs.csv is not."""
        one, rest = self.part("0-1"), self.part("2-3")
        shutil.copytree(self.folder / one, self.folder / "other")
        with contextlib.closing(sqlite3.connect(self.folder / "other" / STORE)) as parts, parts:
            parts.execute("UPDATE texts SET text = replace(text, 'finished', 'killed') WHERE number = 3")
        self.seal(self.folder / "other" / STORE)
        for first, second in ((one, "other"), ("other", one)):
            message = self.refused_merge(first, rest, second)
            self.assertFalse((self.folder / "merged").exists())
            self.assertEqual(message, f"error: {second}: found other results of point 1 under sjf than in {first}, expected the same in both")
        self.merge(one, rest)


class Failures(Parts):
    TEXT, CODE = FAILING, 1

    def test_failures_are_results(self):
        whole = self.whole()
        done = self.merge(self.part("0"), self.part("1", code=1), self.part("2"), code=1)
        self.assertEqual(done.stderr, "error: point 1 under fcfs: no job finished\nerror: point 1 under sjf: no job finished\n"
                                      "error: 2 of 6 results failed; `gangway run` of the whole experiment into this folder tries these again\n")
        for name in ("summary.csv", "clients.csv", "jobs.csv", "published.csv"):
            self.assertEqual((self.folder / "merged" / name).read_bytes(), whole[name], name)
        again = self.gangway("run", self.experiment, "--out", "merged", code=1)
        self.assertIn("2 of 6 results failed", again.stderr)
        self.assertEqual(manifest(self.folder / "merged")["jobs"], 0, "what did not fail was played again")

    def test_a_failure_gives_way(self):
        for first, second in itertools.permutations([self.part("0-1", code=1), self.retried()]):
            self.merge(self.part("2") if not (self.folder / "points-2").exists() else "points-2", first, second, out=f"merged-{first}")
            self.assertEqual({row["error"] for row in table(self.folder / f"merged-{first}/summary.csv")}, {""})

    def retried(self):
        """Point 1 as it would be had nothing failed: with the rows of point 0, and the hash that goes with them."""
        out = self.part("1", code=1)
        store = self.folder / out / STORE
        with contextlib.closing(sqlite3.connect(store)) as parts, parts:
            parts.execute("ATTACH ? AS other", [str(self.folder / "points-0-1" / STORE)])
            for number, (like,) in zip((2, 3), parts.execute("SELECT number FROM other.parts WHERE point = 0 ORDER BY number").fetchall()):
                parts.execute("UPDATE parts SET error = '', rows = (SELECT rows FROM other.parts WHERE number = ?) WHERE number = ?", [like, number])
        self.seal(store)
        return out


class CutOff(Parts):
    """A merge that ends in its middle leaves no half of a file, and the same command goes on."""
    TEXT = SMALL.replace("permutations: 3", "permutations: 40")

    def test_killed_after_so_many_bytes(self):
        whole = self.whole()
        parts = [self.part("0"), self.part("1")]
        largest = max(len(data) for data in whole.values())
        codes = set()
        for limit in (0, 1000, 9000, 30_000, largest // 4, largest // 2, largest - 1, 2 * largest):
            with self.subTest(limit=limit):
                done = self.limited(resource.RLIMIT_FSIZE, limit, "merge", *parts, "--out", "merged")
                codes.add(done.returncode)
                self.assertIn(done.returncode, (0, 1, -signal.SIGXFSZ), done.stderr)
                if done.returncode != 0:
                    self.assertFalse((self.folder / "merged/manifest.json").exists())
                for name, data in contents(self.folder / "merged").items():
                    if name in whole:
                        self.assertEqual(data, whole[name], name)
        self.assertGreater(len(codes), 1)
        self.merge(*parts)
        left = {name: data for name, data in contents(self.folder / "merged").items() if not name.startswith((".", "parts"))}
        self.assert_same_files(left, whole)


if __name__ == "__main__":
    unittest.main()
