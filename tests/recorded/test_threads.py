"""Programs with several threads that begin jobs: at its own pace each plays its own, each once, whatever the policy."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli"))
from program import table  # noqa: E402

GANGWAY = str(Path(os.environ.get("GANGWAY", ROOT / "build/release/gangway")).resolve())
KERNELS = {1: [100, 110], 2: [300, 310, 320, 330]}  # us, by thread
EXPERIMENT = """kind: experiment
version: 1
name: threads
workload: {{kind: workload, version: 1, name: threads, clients: [{{name: A, recording: {recording}}}]}}
device: h100
mechanism: ideal
grant: job
policies: [passthrough, fcfs, piv, disengaged-timeslice]
"""


def trace():
    """PyTorch's profiler: each job is a launch, its kernel 10 us later, and a wait that ends 7 us behind it."""
    events = []
    for thread, lengths in KERNELS.items():
        at = 1000 + thread
        for length in lengths:
            for name, begin, took, more in (("cudaLaunchKernel", at, 5, None), ("kernel", at + 10, length, thread), ("cudaStreamSynchronize", at + 15, length + 2, None)):
                shape = {"stream": thread, "device": 0, "context": 1, "grid": [64, 1, 1], "block": [256, 1, 1], "registers per thread": 32, "shared memory": 0}
                correlation = len(events) + 1 if name != "kernel" else events[-1]["args"]["correlation"]
                events.append({"ph": "X", "cat": "kernel" if more else "cuda_runtime", "name": name, "pid": 0 if more else 1, "tid": thread, "ts": begin,
                               "dur": took, "args": {"correlation": correlation, **(shape if more else {})}})
            at += length + 60
    device = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85_000_000_000, "computeMajor": 9, "computeMinor": 0, "numSms": 132,
              "maxThreadsPerMultiprocessor": 2048, "regsPerMultiprocessor": 65536}
    return json.dumps({"schemaVersion": 1, "deviceProperties": [device], "traceEvents": sorted(events, key=lambda event: event["ts"])})


class Threads(unittest.TestCase):
    def played(self, folder, recording):
        (folder / "e.yaml").write_text(EXPERIMENT.format(recording=recording))
        subprocess.run([GANGWAY, "run", folder / "e.yaml", "--out", folder / "out", "--force"], check=True, capture_output=True)
        by_policy = {}
        for row in table(folder / "out/jobs.csv"):
            by_policy.setdefault(row["policy"], []).append(int(row["standalone_ns"]))
        return {policy: sorted(lengths) for policy, lengths in by_policy.items()}

    def test_each_job_once(self):
        lengths = sorted(1000 * (length + 17) for thread in KERNELS.values() for length in thread)
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            (folder / "trace.json").write_text(trace())
            subprocess.run([GANGWAY, "import", "torch", folder / "trace.json", "--out", folder / "a.rec"], check=True, capture_output=True)
            for policy, played in self.played(folder, "a.rec").items():
                self.assertEqual(played, lengths, policy)
            # Jobs are numbered by their beginnings: threads 1, 2, 1, 2, 2, 2.
            for policy, played in self.played(folder, "{file: a.rec, jobs: {from: 2, to: 4}}").items():
                self.assertEqual(played, [127_000, 327_000, 337_000], policy)


if __name__ == "__main__":
    unittest.main()
