"""Evictions of each GPU in summary.csv, held against the evictions of all jobs."""

import statistics
import unittest

from program import ProgramTest, table

CLIENT = "    - {{name: {name}, priority: {priority}, gpus: {gpus}, repeat: {{jobs: 5, period: {period}}}, kernels: [{{name: k, block_tasks: 4096, time: 2 ms}}]}}\n"


def experiment(gpus):
    clients = "".join(CLIENT.format(name=name, priority=priority, period=period, gpus=gpus)
                      for name, priority, period in (("low", 0, "1 ms"), ("middle", 1, "3 ms"), ("high", 2, "4 ms"), ("top", 3, "5 ms")))
    return ("kind: experiment\nversion: 1\nname: owners\ndevice: titan-x-pascal\nset: {device.gpus: 2}\nmechanism: flag-copy\npolicies: [piv, fcfs]\n"
            "permutations: 3\nreplications: 2\nworkload:\n  kind: workload\n  version: 1\n  name: owners\n"
            "  arrivals: {gap: 0.5 ms, order: permuted}\n  jitter: {kernel_time: 10 %, arrival: 500 us}\n  clients:\n" + clients)


class SeveralGpus(ProgramTest):
    def evictions(self, gpus):
        """By policy: of each GPU as summary.csv has it, and of all jobs, for each run."""
        out = self.folder / "out"
        self.gangway("run", self.file("owners.yaml", experiment(gpus)), "--out", out)
        per_run = {}
        for job in table(out / "jobs.csv"):
            run = per_run.setdefault(job["policy"], {})
            key = (job["replication"], job["permutation"])
            run[key] = run.get(key, 0) + int(job["evictions"])
        return {row["policy"]: ([float(part) for part in row["evictions_by_gpu"].split("|")], float(row["evictions"]),
                                statistics.fmean(per_run[row["policy"]].values()))
                for row in table(out / "summary.csv")}

    def test_they_add_up(self):
        for policy, (by_gpu, printed, of_jobs) in self.evictions("[0, 1]").items():
            self.assertEqual(len(by_gpu), 2)
            self.assertAlmostEqual(sum(by_gpu), printed, places=5)
            self.assertAlmostEqual(printed, of_jobs, places=5)
            self.assertEqual(min(by_gpu) > 0, policy == "piv")

    def test_a_gpu_that_nobody_may_use_has_none(self):
        by_gpu, printed, of_jobs = self.evictions("[1]")["piv"]
        self.assertEqual(by_gpu[0], 0)
        self.assertGreater(by_gpu[1], 0)
        self.assertAlmostEqual(by_gpu[1], of_jobs, places=5)


if __name__ == "__main__":
    unittest.main()
