"""What a job takes alone, and how its client fares where nobody disturbs it (sim/README.md, "Standalone time")."""

import json
import unittest

from program import ProgramTest, table

DEVICE = {"kind": "device", "version": 1, "name": "d", "sms": 1, "sm": {"threads": 2048, "blocks": 8, "registers": 65536, "shared_memory": "48 KiB"}}
DIRECT = {**DEVICE, "arbitration": "direct"}
POLICIES = ("passthrough", "fcfs")


def client(name, kernel=None, **more):
    return {"name": name, "kernels": [{"name": "k", "block_tasks": 1000, "time": "1 ms", **(kernel or {})}], **more}


class Alone(ProgramTest):
    def play(self, clients, device, arrivals=None, **more):
        """The rows of summary.csv by policy, and those of jobs.csv by policy and client."""
        workload = {"kind": "workload", "version": 1, "name": "w", "clients": clients, **({"arrivals": arrivals} if arrivals else {})}
        experiment = {"kind": "experiment", "version": 1, "name": "alone", "workload": workload, "device": device,
                      "mechanism": "ideal", "policies": list(POLICIES), **more}
        self.gangway("run", self.file("alone.yaml", json.dumps(experiment)), "--out", "out", "--force")
        jobs = {}
        for row in table(self.folder / "out/jobs.csv"):
            jobs.setdefault((row["policy"], row["client"]), []).append(row)
        return {row["policy"]: row for row in table(self.folder / "out/summary.csv")}, jobs

    def check(self, clients, device, alone, ntts, **more):
        """`alone` in us, for each job, whose slowdowns are `ntts`; and nobody loses efficiency."""
        summary, jobs = self.play(clients, device, **more)
        for policy in POLICIES:
            with self.subTest(policy=policy):
                for name, own in ntts.items():
                    self.assertEqual([float(job["ntt"]) for job in jobs[policy, name]], own, name)
                    self.assertEqual({int(job["standalone_ns"]) for job in jobs[policy, name]}, {alone[name] * 1000}, name)
                self.assertAlmostEqual(float(summary[policy]["concurrency_efficiency"]), len(clients), 9)

    def test_jobs_that_come_one_by_one_are_not_in_flight_together(self):
        self.check([client("period", frames_in_flight=3, repeat={"jobs": 4, "period": "100 ms"}),
                    client("once", arrive="50 ms", frames_in_flight=3)],
                   DIRECT, {"period": 1000, "once": 1000}, {"period": [1] * 4, "once": [1]})

    def test_no_more_jobs_than_there_are_are_in_flight(self):
        # Two at once, though five might be; the second waits for the first. Nobody thinks.
        self.check([client("two", frames_in_flight=5, repeat={"jobs": 2, "think": "1 ms"})],
                   DIRECT, {"two": 2000}, {"two": [0.5, 1]})

    def test_jobs_in_flight_wait_for_each_other_unless_their_client_thinks_longer(self):
        # Three at once. Those behind a finish come 20 ms later, when the others are through: each is alone then.
        self.check([client("long", frames_in_flight=3, repeat={"jobs": 8, "think": "20 ms"})],
                   DIRECT, {"long": 1000}, {"long": [1, 2, 3, 1, 1, 1, 1, 1]})
        # 0.5 ms later two others are still to come: 2.5 ms.
        self.check([client("short", frames_in_flight=3, repeat={"jobs": 6, "think": "0.5 ms"})],
                   DIRECT, {"short": 2500}, {"short": [0.4, 0.8, 1.2, 1, 1, 1]})

    def test_native_kernels_are_as_fast_as_alone_whatever_mechanisms_make_of_them(self):
        # The mechanism's kernel would take 1000 times as long: one block-task at a time reads the flag.
        native = client("a", {"block": [1024], "time": "23 us"}, native=True, repeat={"jobs": 3, "think": "10 us"})
        polling = {**DEVICE, "polls": {"host": "1 us", "device": "300 ns"}}
        for standalone, alone in (("transformed", 1000), ("original", 23)):
            self.check([native], polling, {"a": alone}, {"a": [23 / alone] * 3}, mechanism="basic", standalone=standalone)

    def test_who_leaves_begins_no_second_job(self):
        leaving = {"leave": "2 ms", "repeat": {"jobs": 6, "think": "1 ms"}}
        clients = [client("a"), client("b", frames_in_flight=3, **leaving), client("c", **leaving)]
        jobs = self.play(clients, DIRECT, arrivals={"gap": "5 ms", "order": "listed"})[1]
        self.assertEqual({key: len(own) for key, own in jobs.items()}, {(policy, name): 1 for policy in POLICIES for name in "abc"})
        # Those of the first that come before it leaves are released.
        jobs = self.play([client("b", frames_in_flight=3, **leaving)], DIRECT)[1]
        self.assertEqual([len(own) for own in jobs.values()], [3, 3])


if __name__ == "__main__":
    unittest.main()
