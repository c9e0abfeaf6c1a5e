"""./dev hw without a GPU: nvidia-smi and the tests of a GPU are made up, calibrations written by hand, and `gangway` plays in the simulator
what it should measure."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "analysis"))
sys.dont_write_bytecode = True
from test_hw_report import calibration  # noqa: E402  (the path comes first)

# Calibrations are files that the repository has; what is to be measured is simulated, from other seeds.
GANGWAY = """#!/usr/bin/env python3
import json, os, pathlib, shutil, subprocess, sys
words = sys.argv[1:]
with open({log!r}, "a") as log:
    print(*words, file=log)
if words[0] == "calibrate":
    out = pathlib.Path(words[words.index("--out") + 1])
    workload = words[words.index("--workload") + 1] if "--workload" in words else "h200-kernels"
    if os.path.exists({broken!r}):
        sys.exit("error: no device")
    out.mkdir(parents=True, exist_ok=True)
    shutil.copy("models/devices/h100.yaml", out / "device.yaml")
    shutil.copy(workload if workload.endswith(".yaml") else "workloads/" + workload + ".yaml", out / "workload.yaml")
    kernels = json.loads(pathlib.Path({kernels!r}).read_text())
    (out / "calibration.json").write_text(json.dumps(kernels, indent=1))
    shutil.copy("experiments/recorded/h200/calibration/samples.csv", out)
    sys.exit()
if words[0] == "run" and "cuda" in words:
    words[words.index("cuda")] = "sim"
    failed = subprocess.call([{gangway!r}, *words, "--seed", "2"])
    manifest = pathlib.Path(words[words.index("--out") + 1]) / "manifest.json"
    if not failed:
        manifest.write_text(json.dumps({{**json.loads(manifest.read_text()), "world": "cuda"}}))
    sys.exit(failed)
if words[0] == "bound":  # fewer sets of shorter runs, and none that is searched for
    for option, value in (("--world", "sim"), ("--draw", "6"), ("--run", "0.05")):
        words[words.index(option) + 1] = value
    words += ["--periods", "0", "--climb", "0"]
os.execv({gangway!r}, [{gangway!r}, *words])
"""


@unittest.skipUnless(os.environ.get("GANGWAY"), "the path of the program is in $GANGWAY")
class Parts(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.out, self.log, self.broken = self.folder / "out", self.folder / "log", self.folder / "broken"
        kernels = self.folder / "kernels.json"
        about = calibration({"VA": (3.7, 1.01, 24), "RED": (0.9, 0.99, 17)})
        about["fits"] = json.loads((ROOT / "experiments/recorded/h200/calibration/calibration.json").read_text())["fits"]
        kernels.write_text(json.dumps(about))
        self.program("bin/nvidia-smi", "#!/bin/sh\necho made up\n")
        self.program("build/tests/gangway_gpu_tests", "#!/bin/sh\n[ ! -e \"$BROKEN\" ] || { echo a kernel faulted; exit 1; }\n")
        self.program("build/gangway", GANGWAY.format(log=str(self.log), broken=str(self.broken), kernels=str(kernels),
                                                     gangway=os.path.abspath(os.environ["GANGWAY"])))

    def program(self, name, text):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)

    def hw(self, *words):
        environment = {**os.environ, "PATH": f'{self.folder / "bin"}:{os.environ["PATH"]}', "BROKEN": str(self.broken)}
        return subprocess.run([ROOT / "dev", "hw", "--out", self.out, "--build", self.folder / "build", *words], cwd=ROOT, env=environment,
                              text=True, capture_output=True, timeout=500)

    def calls(self):
        return self.log.read_text().splitlines() if self.log.exists() else []

    def test_parts_are_listed_each_once_and_unknown_ones_refused(self):
        done = self.hw("--list")
        names = done.stdout.split()
        self.assertEqual(done.returncode, 0)
        self.assertEqual(len(names), len(set(names)))
        for file in (ROOT / "experiments/chip").glob("*.yaml"):
            self.assertIn(f"{file.stem}-measure", names)
        done = self.hw("mix-predikt")
        self.assertEqual((done.returncode, done.stderr), (2, "dev hw: unknown part 'mix-predikt' (./dev hw --list has them)\n"))
        self.assertFalse(self.out.exists())

    def test_an_experiment_is_calibrated_predicted_measured_compared_and_reported(self):
        parts = ["calibrate-nine-applications", *(f"frs-fig4-{what}" for what in ("predict", "measure", "compare"))]
        done = self.hw(*parts)
        self.assertEqual(done.returncode, 0, done.stderr)
        calls = self.calls()
        self.assertEqual([call.split()[0] for call in calls], ["calibrate", "run", "run", "compare", "compare"])
        for call, world in zip(calls[1:3], ("sim", "cuda")):  # with what was calibrated
            self.assertIn(f"--world {world} ", call)
            self.assertRegex(call, r"--set device=\S*calibration-nine-applications/device.yaml --set workload=\S*/workload.yaml "
                                   r"--set mechanism.params.useful=0.9$")
        page = (self.out / "report.md").read_text()
        for text in ("# Gangway on NVIDIA H100", "| calibrate-nine-applications | done", "| stream-priorities |", "| processes ",
                     "NTT of 24,300 single jobs is off by ", "![compare-printed](frs-fig4/compare-printed.png)"):
            self.assertIn(text, page)
        self.assertTrue((self.out / "frs-fig4/compare-printed.png").is_file())
        listed = self.hw("--list").stdout
        self.assertIn("frs-fig4-measure (done)\n", listed)
        self.assertNotIn("mix-measure (done)", listed)
        again = self.hw(*parts)
        self.assertEqual(again.returncode, 0)
        self.assertEqual(self.calls(), calls)  # nothing is done twice
        self.assertIn("== frs-fig4-measure: done before\n", again.stderr)

    def test_measured_kernels_take_the_place_of_those_measured_elsewhere(self):
        """Not of kernels that only an experiment's file describes."""
        self.assertEqual(self.hw("calibrate", "effisha-fig10-predict", "effisha-fig13-predict").returncode, 0)
        measured, described = self.calls()[1:3]
        self.assertRegex(measured, r"effisha-fig10.yaml .*--set device=\S*calibration/device.yaml --set workload=\S*calibration/workload.yaml$")
        self.assertRegex(described, r"effisha-fig13.yaml .*--set device=\S*calibration/device.yaml$")

    def test_random_kernels_are_drawn_from_a_seed_and_measured_twice(self):
        steps = ("predict", "measure", "again", "compare")
        parts = ["random-draw", "calibrate-random", *(f"random-{what}-{step}" for what in ("open", "loops") for step in steps)]
        done = self.hw("--seed", "3", *parts)
        self.assertEqual(done.returncode, 0, done.stderr)
        manifest = json.loads((self.out / "random-open/again/manifest.json").read_text())
        self.assertIn("seed 3", manifest["configuration"]["title"])
        page = (self.out / "report.md").read_text()
        self.assertEqual(page.count("single jobs differs from a second measurement by 0.0 %"), 2)
        self.assertIn("the mean response of a client under a policy by ", page)
        first = (self.out / "random/random-kernels.yaml").read_text()
        other = self.hw("--seed", "4", "random-draw")
        self.assertEqual(other.returncode, 2)
        self.assertIn("has kernels drawn from seed 3; another --out", other.stderr)
        self.assertEqual((self.out / "random/random-kernels.yaml").read_text(), first)
        self.assertEqual(self.hw("--seed", "x", "random-draw").returncode, 2)

    def test_drawn_kernels_come_before_others_are_over(self):
        for seed in range(40):
            folder = self.out / f"drawn-{seed}"
            subprocess.run([sys.executable, ROOT / "experiments/random/draw.py", "--seed", str(seed), folder], check=True)
            times = re.findall(r"name: k\d, code: .* time: ([\d.]+) ms", (folder / "random-kernels.yaml").read_text())
            gap = float(re.search(r"arrivals\.gap: ([\d.]+) ms", (folder / "random-open.yaml").read_text())[1])
            self.assertEqual(len(times), 8)
            mean = sum(map(float, times)) / 8
            self.assertTrue(0.19 * mean < gap < 0.81 * mean, (seed, gap, mean))

    def test_task_sets_are_held_against_their_bounds(self):
        done = self.hw("calibrate", "bound")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(self.calls()[1], r"^bound --world cuda --draw \d+ --from \S*/calibration --out \S*/bound ")
        page = (self.out / "report.md").read_text()
        for form in ("fixed priorities", "round robin", "queues"):
            self.assertRegex(page, rf"\| {form} +\| 2 +\|")
        self.assertRegex(page, r"\| all +\| 6 +\| \d+ +\| 6 +\| \d+ +\| 0\.\d\d ")
        rows = (self.out / "bound/sets.csv").read_text().splitlines()
        (self.out / "bound.done").unlink()  # as if it had been cut off
        (self.out / "bound/sets.csv").write_text("\n".join(rows[:4]) + "\n")
        self.assertEqual(self.hw("bound").returncode, 0)
        self.assertEqual((self.out / "bound/sets.csv").read_text().splitlines(), rows)

    def test_effishas_figures_are_printed_predicted_and_measured(self):
        figures = ("effisha-fig12", "effisha-fig13")
        done = self.hw("calibrate", *(f"{figure}-{what}" for figure in figures for what in ("predict", "measure")))
        self.assertEqual(done.returncode, 0, done.stderr)
        page = (self.out / "report.md").read_text()
        for other in ("default", "processes"):
            self.assertIn(f"How much longer all jobs together take than under `{other}`:", page)
        self.assertRegex(page, r"\| shortest +\| piv +\| < 5.0 % +\| \+?-?\d+\.\d % +\| \+?-?\d+\.\d % ")
        self.assertRegex(page, r"\| longest +\| mps +\| - +\| ")
        self.assertIn("Eviction delay in µs, predicted / measured, of all evictions and of each client:", page)
        self.assertRegex(page, r"\| 0.5 ms +\| effisha +\| 80.00 +\| \d+(\.\d+)? / \d+(\.\d+)? ")
        self.assertRegex(page, r"\| 4 ms +\| proxy +\| - +\| ")
        self.assertNotRegex(page, r"\| 4 ms +\| pkm +\| - +\| - / -")  # nothing leaves

    def test_a_part_that_fails_holds_up_those_that_need_it_and_no_others(self):
        self.broken.write_text("")
        done = self.hw("calibrate", "mix-predict", "tests", "faults")
        self.assertEqual(done.returncode, 1)
        self.assertIn("== mix-predict: needs calibrate\n", done.stderr)
        self.assertIn("a kernel faulted\n", done.stderr)
        self.assertIn("== failed: tests faults calibrate mix-predict\n", done.stderr)
        self.assertIn("| tests     | failed ", (self.out / "report.md").read_text())
        self.broken.unlink()
        done = self.hw("tests", "calibrate")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("| tests     | done ", (self.out / "report.md").read_text())

    def test_a_measurement_that_was_cut_off_goes_on(self):
        self.assertEqual(self.hw("calibrate", "mix-predict").returncode, 0)
        (self.out / "mix-predict.done").unlink()  # as if it had been cut off behind its last result
        done = self.hw("mix-predict")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("already holds these results", (self.out / "mix-predict.log").read_text())


if __name__ == "__main__":
    unittest.main()
