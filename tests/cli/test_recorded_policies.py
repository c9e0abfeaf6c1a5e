"""Which policies play recorded programs, and what the others are answered."""

import gzip
import json
import random
import shutil
import sys

from program import ROOT, ProgramTest, table

sys.path.insert(0, str(ROOT / "tests" / "oracle"))
from recorded_programs import draw_recording  # noqa: E402

CONTROL = {"disengaged-fair-queueing", "disengaged-timeslice", "stride-timeslice", "timeslice", "trap-per-request"}
NEED_MORE = {"microkernel-rr"}  # unless state: resident
SLICES = ["pkm", {"name": "microkernel-rr", "params": {"state": "resident"}}]
DEVICE = {"kind": "device", "version": 1, "name": "made", "source": "made", "sms": 1,
          "sm": {"threads": 1024, "blocks": 8, "registers": 65536, "shared_memory": "48 KiB"}, "memory": "1 GiB",
          "arbitration": "native-timeslice", "time_slice": {"length": "100 us", "switch": "10 us"},
          "access": {"interception": "5 us", "poll": "20 us", "channels": 64}}


class RecordedPolicies(ProgramTest):
    def setUp(self):
        super().setUp()
        draw_recording(random.Random(7), self.folder / "program.rec")

    def experiment(self, policies, **changes):
        client = {"recording": str(self.folder / "program.rec"), "repeat": {"jobs": 3}}
        workload = {"kind": "workload", "version": 1, "name": "w", "clients": [{"name": "A", **client}, {"name": "B", **client}]}
        spec = {"kind": "experiment", "version": 1, "name": "e", "device": DEVICE, "mechanism": "ideal", "workload": workload,
                "policies": policies, "jobs": True, **changes}
        return self.file("e.yaml", json.dumps(spec, indent=1))

    def policies(self):
        return {policy["name"] for policy in json.loads(self.gangway("list", "policies", "--json").stdout)}

    def test_every_policy_but_those_that_need_more_than_recordings_have(self):
        names = self.policies()
        self.assertLessEqual(CONTROL | NEED_MORE, names)
        own = sorted(names - CONTROL - NEED_MORE - {"passthrough", "pkm"})
        path = self.experiment([*sorted(CONTROL), "passthrough", *SLICES, *({"name": name, "grant": "job"} for name in own)])
        self.gangway("check", path)
        self.gangway("run", path, "--out", "out", "--jobs", 1)
        rows = table(self.folder / "out" / "jobs.csv")
        self.assertEqual({row["policy"] for row in rows}, names)
        for row in rows:
            self.assertEqual(row["outcome"], "finished", row)
        traps = [row for row in rows if row["policy"] == "trap-per-request" and row["job"] == "0"]
        for row in traps:
            self.assertGreaterEqual(int(row["start_ns"]) - int(row["arrival_ns"]), 5000)

    def test_policies_that_need_more(self):
        for name in sorted(NEED_MORE):
            self.assertIn(f"key 'policies.{name}': found a policy that needs ", self.refused("check", self.experiment([name])))

    def test_slices(self):
        for policy in SLICES:
            name = policy if isinstance(policy, str) else policy["name"]
            for grant, found in (("job", "job"), ({"forms": "none"}, "forms: none")):
                said = self.refused("check", self.experiment([policy], grant=grant))
                self.assertIn(f"found {found} for {name}, which launches slices of kernels with a form, expected {{forms: worth}}; if ", said)
        self.assertIn("found 2 GPUs, expected 1 for slices of recorded programs' kernels",
                      self.refused("check", self.experiment(["pkm"], device={**DEVICE, "gpus": 2})))

    def test_what_has_no_effect_is_said(self):
        never = {"file": str(self.folder / "program.rec"), "forms": {"kernels": {"nosuch*": "prologue"}, "worth": "0 ns"}}
        workload = {"kind": "workload", "version": 1, "name": "w", "jitter": {"kernel_time": "10 %"},
                    "clients": [{"name": "A", "recording": never, "repeat": {"jobs": 3}}]}
        said = self.gangway("run", self.experiment(["pkm", {"name": "timeslice", "grant": {"forms": "worth"}}], workload=workload), "--out", "out").stderr
        self.assertIn("note: pkm: no kernel of any client is sliced; `forms` of recordings say which are\n", said)
        self.assertIn("note: jitter has no effect on recorded programs, but that of arrivals\n", said)
        self.assertIn("note: forms have no effect in simulation under policies that control access\n", said)
        kept = json.loads((self.folder / "out/manifest.json").read_text())["notes"]
        self.assertEqual([f"note: {note}" for note in kept], [line for line in said.splitlines() if line.startswith("note: ")])
        never["forms"]["kernels"] = {"*": "slice"}
        never["forms"]["block_time"] = "0 ns"
        workload["jitter"] = {}
        said = self.gangway("run", self.experiment(["pkm"], workload=workload), "--out", "other").stderr
        self.assertNotIn("note: pkm", said)
        self.assertNotIn("no effect", said)

    def test_forms_without_effect_are_said(self):
        leaves = {"file": str(self.folder / "program.rec"), "forms": {"kernels": {"*": "prologue"}, "worth": "0 ns", "block_time": "0 ns"}}
        workload = {"kind": "workload", "version": 1, "name": "w", "clients": [{"name": "A", "recording": leaves, "repeat": {"jobs": 3}}]}
        for number, (grant, said) in enumerate(((dict(of="job", overlap=True), ""),
                                                (dict(of="job", forms="none"), "note: forms of recordings have no effect under grants with forms: none\n"),
                                                (dict(of="job"), ""))):
            notes = self.gangway("run", self.experiment(["piv"], workload=workload, grant=grant), "--out", f"out{number}").stderr
            self.assertEqual("".join(line + "\n" for line in notes.splitlines() if "effect" in line), said)

    def test_paths_below_short_forms(self):
        path = self.experiment(["piv"], grant="job")
        for number, change in enumerate(("workload.clients.A.recording.scale.kernels=0.5", "grant.idle=1 ms")):
            self.gangway("run", path, "--set", change, "--out", f"short{number}")
        faster = {row["standalone_ns"] for row in table(self.folder / "short0" / "jobs.csv") if row["client"] == "A"}
        self.assertTrue(faster.isdisjoint(row["standalone_ns"] for row in table(self.folder / "short1" / "jobs.csv") if row["client"] == "A"))

    def test_memory_that_is_not_simulated_is_said(self):
        name = "share-a-gpu-mattrans.rec.gz"  # it held 26.5 GiB of an H100
        shutil.copy(ROOT / "experiments/live/h100" / name, self.folder)

        def notes(count, policy, **client):
            workload = {"kind": "workload", "version": 1, "name": "w",
                        "clients": [{"name": f"c{c}", "recording": str(self.folder / name), "repeat": {"jobs": 1}, **client} for c in range(count)]}
            said = self.gangway("run", self.experiment([policy], workload=workload, device="h100", grant="job"), "--out", "out", "--force").stderr
            return [line for line in said.splitlines() if "memory" in line]

        self.assertEqual(notes(2, "rr"), [])
        [note] = notes(4, "rr")
        self.assertRegex(note, r"^note: c0, c1, c2, c3: when recorded, the programs held 10\d GiB together, more than h100 has \(80 GiB\)")
        self.assertEqual(notes(4, "rr", memory="1 GiB"), [])
        mover = {"name": "microkernel-rr", "params": {"blocks": "job"}}
        self.assertEqual(notes(2, mover), ["note: c0, c1: recorded with memory, but its moves take no time without the key memory"])
        self.assertEqual(notes(2, mover, memory="27 GiB"), [])

    def test_a_renewal_that_stays_is_said(self):
        def notes(number, policy="rr", **slices):
            device = {**DEVICE, "time_slice": {"length": "1 ms", "switch": "10 us", **slices}}
            said = self.gangway("run", self.experiment([policy], device=device, grant="job"), "--out", f"renewal{number}").stderr
            return [line for line in said.splitlines() if "renewal" in line]

        self.assertEqual(notes(0), [])
        self.assertEqual(notes(1, renewal="1.1 ms"), [])
        self.assertEqual(notes(2, renewal="2 ms"), ["note: made: time slices last 1 ms, but 2 ms if nobody else is ready, as time_slice.renewal says; "
                                                    "without that key they last the same"])
        self.assertEqual(notes(3, {"name": "passthrough", "device": {"arbitration": "mps"}}, renewal="2 ms"), [])

    def test_swept_keys_without_effect_are_said(self):
        def notes(number, sweep, policy="rr", **changes):
            said = self.gangway("run", self.experiment([policy], **{"grant": "job", "sweep": sweep, **changes}), "--out", f"swept{number}").stderr
            return [line for line in said.splitlines() if "effect" in line]

        for number, sweep in enumerate(({"mechanism": ["ideal", "proxy"]}, {"device.placement": ["most-room-first", "lowest-index-first"]}, {"device.channels": [2, 8]})):
            [path] = sweep
            self.assertEqual(notes(number, sweep), [f"note: sweep of {path} has no effect, as all clients are recorded programs"])
        self.assertEqual(notes(7, {"device.access.poll": ["1 us", "9 us"]}),
                         ["note: sweep of device.access.poll has no effect, as no policy here controls access"])
        self.assertEqual(notes(8, {"device.access.poll": ["1 us", "9 us"]}, "timeslice"), [])
        self.assertEqual(notes(9, {"device.time_slice.length": ["1 ms", "2 ms"]}), [])
        for number, (key, values, why) in enumerate((("renewal", ["1 ms", "2 ms"], ""), ("stop_full", ["1 us", "9 us"], ""),
                                                     ("blocks", ["end", "stop"], "turns of recorded programs do not heed it"))):
            path = f"device.time_slice.{key}"
            self.assertEqual(notes(f"-turns-{number}", {path: values}), [f"note: sweep of {path} has no effect, as {why}"] if why else [])
        self.assertEqual(notes("-arbitration", {"device.arbitration": ["native-timeslice", "native-fifo"]}),
                         ["note: sweep of device.arbitration has no effect, as recorded programs take turns under every one but mps"])
        self.assertEqual(notes("-arbitration-mps", {"device.arbitration": ["native-timeslice", "mps"]}, "passthrough"), [])
        mps = {"name": "passthrough", "device": {"arbitration": "mps"}}
        self.assertEqual(notes("-mps", {"device.time_slice.length": ["1 ms", "2 ms"]}, mps),
                         ["note: sweep of device.time_slice.length has no effect, as no contexts take turns on the device here"])

        def workload(*clients):
            more = {"repeat": {"jobs": 3}, "recording": str(self.folder / "program.rec")}
            return {"kind": "workload", "version": 1, "name": "w", "clients": [{**more, **client} for client in clients]}

        forms = {"file": str(self.folder / "program.rec"), "forms": {"default": "prologue", "worth": "0 ns", "block_time": "0 ns"}}
        for key, why, changes in (
                ("limited", "no policy here limits what is in flight",
                 {"grant": {"of": "job", "in_flight": 2}, "workload": workload({"name": "A"}, {"name": "B", "priority": 1})}),
                ("departure", "no kernel here leaves early", {"workload": workload({"name": "A", "recording": forms})})):
            sweep = {f"device.access.{key}": ["1 us", "9 us"]}
            self.assertEqual(notes(key, sweep), [f"note: sweep of device.access.{key} has no effect, as {why}"])
            self.assertEqual(notes(f"{key}-acts", sweep, **changes), [])

    def test_a_limit_in_flight_that_holds_for_nobody_is_said(self):
        grant = {"of": "job", "in_flight": 2}
        self.assertIn("note: key grant.in_flight has no effect, as no client has a higher priority than another\n",
                      self.gangway("run", self.experiment(["piv"], grant=grant), "--out", "alike").stderr)

    def test_a_long_kernel_is_sliced_where_its_recording_says_so(self):
        recording = {"file": str(self.folder / "program.rec"), "forms": {"default": "slice", "worth": "0 ns", "block_time": "0 ns"}}
        clients = [{"name": "A", "recording": recording, "repeat": {"jobs": 3}},
                   {"name": "B", "priority": 1, "recording": str(self.folder / "program.rec"), "repeat": {"jobs": 3}}]
        workload = {"kind": "workload", "version": 1, "name": "w", "clients": clients}
        one = {"name": "pkm", "params": {"slice": "block-tasks", "block_tasks": 1}}
        path = self.experiment([one], workload=workload, grant={"forms": "worth"}, mechanism={"name": "slice", "params": {"slice_cost": "1 us"}})
        self.gangway("run", path, "--out", "out", "--jobs", 1)
        launches = {client: sum(int(row["launches"]) for row in table(self.folder / "out" / "jobs.csv") if row["client"] == client) for client in "AB"}
        self.assertGreater(launches["A"], 2 * launches["B"])

    def test_a_mechanism_of_slices_has_an_effect(self):
        recording = {"file": str(self.folder / "program.rec"), "forms": {"default": "slice", "worth": "0 ns", "block_time": "0 ns"}}
        workload = {"kind": "workload", "version": 1, "name": "w", "clients": [{"name": "A", "recording": recording, "repeat": {"jobs": 3}}]}
        one = {"name": "pkm", "params": {"slice": "block-tasks", "block_tasks": 1}}
        said = []
        for mechanism in ("slice", "microkernel", "proxy"):
            path = self.experiment([one], workload=workload, grant={"forms": "worth"}, mechanism=mechanism)
            said.append([line for line in self.gangway("run", path, "--out", mechanism).stderr.splitlines() if "mechanism" in line])
        self.assertEqual(said, [[], [], ["note: mechanism proxy has no effect, as all clients are recorded programs"]])

    def test_traces_show_what_happened(self):
        recording = {"file": str(self.folder / "program.rec"), "forms": {"default": "prologue", "worth": "0 ns", "block_time": "0 ns"}}
        repeat = {"jobs": 6, "period": "150 us"}
        clients = [{"name": "A", "recording": recording, "repeat": {"jobs": 12}},
                   {"name": "B", "priority": 1, "recording": recording, "repeat": repeat}]
        workload = {"kind": "workload", "version": 1, "name": "w", "clients": clients}
        device = {**DEVICE, "commands": {"launch": "5 us", "evict": "3 us", "notice": "1 us", "pending_work": "0 ns"}}
        job = {"of": "job", "in_flight": 2}
        policies = [{"name": "pkm", "grant": {"forms": "worth"}}, {"name": "piv", "grant": job},
                    {"name": "piv", "label": "overlap", "grant": {**job, "overlap": True}}, {"name": "rr", "params": {"quantum": "60 us"}, "grant": job}]
        path = self.experiment(policies, workload=workload, device=device)
        self.gangway("run", path, "--out", "out", "--trace")
        evictions = {row["policy"]: float(row["evictions"]) for row in table(self.folder / "out" / "summary.csv")}
        self.assertGreater(evictions["piv"] + evictions["rr"], 0)
        for policy in ("pkm", "piv", "overlap", "rr"):
            with self.subTest(policy=policy):
                (file,) = (self.folder / "out" / "trace").glob(f"*-{policy}-*")
                with gzip.open(file) as trace:
                    events = json.load(trace)["traceEvents"]
                self.assertNotIn("access", [e["args"]["name"] for e in events if e["name"] == "process_name"])
                commands = sorted((e["ts"], e["dur"]) for e in events if e.get("ph") == "X" and (e["pid"], e["tid"]) == (2, 2))
                for (at, length), (following, _) in zip(commands, commands[1:]):
                    self.assertLessEqual(at + length, following + 1e-6)
                ordered = {e["args"]["launch"] for e in events if e["name"] == "evict ordered"}
                drawn = {e["args"]["launch"] for e in events if e["name"] == "evict"}
                self.assertLessEqual(drawn, ordered)
                if policy == "overlap":  # where a job may end between the order and the closing of its gate
                    self.assertGreaterEqual(len(ordered), evictions[policy])
                else:
                    self.assertEqual(len(ordered), evictions[policy] if policy != "pkm" else 0)

    def test_timelines_tell_waits_from_time_on_the_host(self):
        client = {"recording": str(self.folder / "program.rec"), "repeat": {"jobs": 3}}
        for names, policies in (("A", ["passthrough"]), ("AB", ["passthrough", {"name": "rr", "grant": "job"}, "timeslice"])):
            workload = {"kind": "workload", "version": 1, "name": "w", "clients": [{"name": name, **client} for name in names]}
            self.gangway("run", self.experiment(policies, workload=workload), "--out", names, "--trace")
            jobs = table(self.folder / names / "jobs.csv")
            for policy in {row["policy"] for row in jobs}:
                with_jobs = 0.0  # in ns, summed over clients
                for name in names:
                    until = 0
                    for begin, end in sorted((int(row["arrival_ns"]), int(row["finish_ns"])) for row in jobs
                                             if (row["policy"], row["client"]) == (policy, name)):
                        with_jobs += max(0, end - max(begin, until))
                        until = max(end, until)
                (file,) = (self.folder / names / "trace").glob(f"*-{policy}-*")
                with gzip.open(file) as trace:
                    spans = [e for e in json.load(trace)["traceEvents"] if e["ph"] == "X" and e["pid"] == 1]
                with self.subTest(clients=names, policy=policy):
                    self.assertEqual({e["name"] for e in spans} >= {"waiting"}, names == "AB")
                    self.assertLessEqual({"on host", "running"}, {e["name"] for e in spans})
                    self.assertAlmostEqual(sum(e["dur"] for e in spans) * 1000, with_jobs, delta=1)

    def test_errors_of_policies_name_their_lines(self):
        path = self.experiment(["passthrough", {"name": "microkernel-rr", "label": "X"}])
        line = next(number for number, text in enumerate(path.read_text().splitlines(), 1) if '"microkernel-rr"' in text) - 1
        self.assertIn(f"e.yaml:{line}: key 'policies.X': found a policy that needs ", self.refused("check", path))

    def test_orders_and_mechanisms_without_effect_are_said(self):
        def notes(number, policies, **changes):
            said = self.gangway("run", self.experiment(policies, grant="job", **changes), "--out", f"orders{number}").stderr
            return [line for line in said.splitlines() if "effect" in line]

        clients = [{"name": name, "priority": priority, "slo": "9 ms", "recording": str(self.folder / "program.rec"), "repeat": {"jobs": 3}}
                   for name, priority in (("A", 0), ("B", 1))]
        ranked = {"kind": "workload", "version": 1, "name": "w", "clients": clients}
        said = ["note: the order of edf by deadline has no effect, as no client has an slo",
                "note: the order of piv by priority has no effect, as all clients have the same"]
        self.assertEqual(notes(0, ["edf", "piv"]), said)
        self.assertEqual(notes(1, ["edf", "piv"], workload=ranked), [])
        self.assertEqual(notes(2, ["rr"], mechanism="proxy"), ["note: mechanism proxy has no effect, as all clients are recorded programs"])

    def test_grants(self):
        self.assertIn("found kernel, expected job, since rr hands out recorded programs' jobs",
                      self.refused("check", self.experiment(["rr"])))
        for name in sorted(CONTROL):
            self.assertIn(f"found job, expected kernel, since {name} cannot be given whole jobs",
                          self.refused("check", self.experiment([{"name": name, "grant": "job"}])))

    def test_more_channels_than_the_device_has(self):
        self.assertIn("key 'policies.timeslice': found 65 channels for each client, expected at most the 64 of made",
                      self.refused("check", self.experiment([{"name": "timeslice", "params": {"channels": 65}}])))

    def test_several_gpus(self):
        self.assertIn("found 2 GPUs, expected 1 under the policy 'timeslice'",
                      self.refused("check", self.experiment(["timeslice"], device={**DEVICE, "gpus": 2})))
