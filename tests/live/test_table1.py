"""Share-a-GPU's seven programs (examples/share_a_gpu), compiled by nvcc, on a device of the stand-in driver that does not hold two
of them: their memory goes and comes, and they print what they print alone."""

import csv
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from live_daemon import GANGWAY, STANDIN, finish
from memory_programs import MIB, MemoryPrograms

RUNTIME = os.environ.get("GANGWAY_RUNTIME", "")
PROGRAMS = os.environ.get("GANGWAY_PROGRAMS", "") + "/share_a_gpu/"
ROOT = Path(__file__).resolve().parents[2]
LONG = bool(os.environ.get("GANGWAY_LONG"))

# GiB of which the interpreter carries out a job in 20 to 100 ms, jobs, and more arguments.
SIZES = {"bfs": ("0.0001", 12), "dxtc": ("0.00002", 6, "--rounds", "2"), "gaussian": ("0.00002", 12), "kmeans": ("0.00003", 8),
         "matmul": ("0.00002", 8, "--rounds", "16"), "mattrans": ("0.0008", 12), "stringsort": ("0.0006", 8)}
PAIRS = (("mattrans", "stringsort"), ("dxtc", "gaussian"), ("matmul", "bfs"), ("kmeans", "mattrans"))
STATE = 3  # MiB: one of them takes 2


def command(program, jobs=None):
    gib, usual, *more = SIZES[program]
    return [PROGRAMS + program, "--gib", gib, "--jobs", str(jobs or usual * (5 if LONG else 1)), "--check", "3", *more]


@unittest.skipUnless(STANDIN and RUNTIME, "there is no nvcc")
class Table1(MemoryPrograms):
    more = {"LD_LIBRARY_PATH": f"{RUNTIME}:{STANDIN}", "STANDIN_INTERPRET": "1"}

    def alone(self, *arguments):
        return subprocess.run(arguments, capture_output=True, text=True, timeout=120, env=dict(os.environ, **self.more))

    def test_what_they_print_is_right_and_the_same_each_time(self):
        for program in SIZES:
            with self.subTest(program):
                first, second = self.alone(*command(program, 2)), self.alone(*command(program, 2))
                self.assertEqual((first.returncode, first.stdout), (0, second.stdout), first.stderr)
                self.assertRegex(first.stdout, rf"^{program}: 2 jobs, result [0-9a-f]{{16}}\n$")

    def test_so_many_seconds(self):
        done = self.alone(PROGRAMS + "mattrans", "--gib", "0.0001", "--seconds", "0.2")
        self.assertEqual((done.returncode, done.stdout), (0, "mattrans: right\n"), done.stderr)
        self.assertGreater(int(done.stderr.split()[1]), 3)  # jobs

    def test_bad_arguments(self):
        for arguments in (["--gib"], ["--gib", "0"], ["--jobs", "many"], ["--gib", "1", "--scale", "2"], ["--rounds", "0"]):
            done = self.alone(PROGRAMS + "bfs", *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn("--gib X", done.stderr)

    def test_pairs_that_do_not_fit_together(self):
        alone = {program: self.alone(*command(program)).stdout for program in SIZES}
        for policy, pairs in ((["microkernel-rr", "--param", "blocks=job", "--param", "slice=20 ms"], PAIRS), (["rr", "--param", "quantum=20 ms"], PAIRS[:2])):
            moves = 0
            for pair in pairs:
                with self.subTest(policy=policy[0], pair=pair):
                    daemon = self.daemon(*policy, "--capacity", f"{STATE} MiB")
                    programs = [daemon.start(*command(program), options=["--name", program, "--jobs", "nvtx:job"], **{**self.device, **self.more})
                                for program in pair]
                    for program, process in zip(pair, programs):
                        code, out, err = finish(process)
                        self.assertEqual((code, out), (0, alone[program]), err)
                    refusals, most, size = self.refused(daemon)
                    self.assertEqual((refusals, size > most), (0, True))
                    _, err, steps = daemon.end()
                    self.assertRegex(err, "^note: memory moves, .*\n$")
                    moves += len([step for step in steps if step[1] == "came"])
                    self.assertLessEqual(most, (STATE + 2) * MIB)
            self.assertGreater(moves, 4)

    def test_an_experiment_plays_them(self):
        # The file as it is, with small programs and short slices.
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        runs = {"first": [PROGRAMS + "mattrans", "--gib", "0.0003", "--rounds", "3"], "second": [PROGRAMS + "bfs", "--gib", "0.0001"]}
        settings = [f"workload.clients.{client}.command.run=[{', '.join(words)}, --jobs, 1000000000]" for client, words in runs.items()]
        settings += [f"sweep.together.policies.{path}=[50 ms]" for path in ("yields.params.slice", "runs-on.params.slice", "rr.params.quantum")]
        settings += [f"workload.clients.{client}.memory=150 MiB" for client in runs]
        settings += ["device.memory=160 MiB", "device.copy.h2d.bandwidth=1 GB/s", "device.copy.d2h.bandwidth=1 GB/s"]
        done = subprocess.run([GANGWAY, "run", ROOT / "experiments/live/share-a-gpu-slices.yaml", "--world", "live", "--out", folder + "/out",
                               *(word for setting in [*settings, "horizon=1 s", "published=[]"] for word in ("--set", setting))],
                              capture_output=True, text=True, timeout=120,
                              env={**os.environ, **self.more, "XDG_RUNTIME_DIR": folder, "STANDIN_LEDGER": folder + "/ledger", "STANDIN_MEMORY": str(160 * MIB)})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("two largest memories take to go and come", done.stderr)
        with open(folder + "/out/clients.csv") as lines:
            rows = list(csv.DictReader(lines))
        self.assertEqual({(row["policy"], row["client"]) for row in rows}, {(p, c) for p in ("yields", "runs-on", "rr") for c in ("first", "second")})


if __name__ == "__main__":
    unittest.main()
