"""Random workloads that play recordings, the devices and the policies that share it among them."""
from simpy_inputs import quantity


def time(value):
    return f"{value} ns"


def draw_forms(draw, worth=(0, 0, 0, 3_000)):
    def form():
        params = {key: value for key, value in {"claim_ns": draw.choice([0, 5, 40.5]), "claim_1024_ns": draw.choice([2, 90.25]),
                                                "overhead": draw.choice([0.9, 1.3, 2])}.items() if draw.random() < 0.5}
        cost = {"slice_cost": "700 ns"} if draw.random() < 0.3 else {}
        return draw.choice(["gate", "loop", "prologue", {"name": "prologue", "params": params}, "slice",
                            {"name": "slice", **({"params": cost} if cost else {})}])

    forms = {"worth": time(draw.choice(worth)), "block_time": time(draw.choice([0, 0, 40])), "default": form()}
    if draw.random() < 0.5:
        forms["kernels"] = {pattern: form() for pattern in draw.sample(["_Z0*", "_Z[12]kv", "*"], 2)}
    return forms


def draw_client(draw, name, recordings, without=()):
    path, jobs = draw.choice(recordings)
    asked = {"file": str(path)}
    if draw.random() < 0.4 and "subset" not in without:
        first = draw.randrange(jobs)
        asked["jobs"] = {"from": first, "to": draw.randrange(first, jobs)}
    if draw.random() < 0.4 and "scale" not in without:
        asked["scale"] = {key: draw.choice([0.5, 1.5, 2, 0.333]) for key in draw.choice([["kernels"], ["host"], ["kernels", "host"]])}
    if draw.random() < 0.2 and "unknown" not in without:
        asked["busy"] = "unknown"
    if draw.random() < 0.5 and "forms" not in without:
        asked["forms"] = draw_forms(draw)
    client = {"name": name, "recording": asked if len(asked) > 1 else str(path)}
    count = draw.randint(1, 8)
    repeat = {"jobs": count}
    how = draw.choice(["own", "own", "once", "period", "think", "releases"])
    how = "own" if "releases" in without and how != "once" else how
    if how == "period":
        repeat["period"] = time(draw.choice([20_000, 100_000, 400_000]) + draw.choice([0, draw.randrange(10_000)]))
    elif how == "think":
        repeat["think"] = time(draw.choice([0, 5_000, 100_000]))
    elif how == "releases":
        repeat = {"releases": [time(value) for value in sorted(draw.choice([0, 50_000, draw.randrange(1_000_000)])
                                                               for _ in range(count))]}
    if how != "once":
        client["repeat"] = repeat
    if how != "releases" and draw.random() < 0.3:
        client["arrive"] = time(draw.choice([0, 10_000, draw.randrange(100_000)]))
    if draw.random() < 0.5:
        client["priority"] = draw.randint(0, 3)
    return client


def draw_workload(draw, recordings, clients, without=()):
    return {"kind": "workload", "version": 1, "name": "drawn", "source": "drawn",
            "clients": [draw_client(draw, f"c{number}", recordings, without) for number in range(clients)]}


def give_alone(draw, workload, lengths):
    """Some clients say what a job takes alone. lengths: recording -> of its jobs, without warm-up."""
    for client in workload["clients"]:
        asked = client["recording"]
        asked = {"file": asked} if isinstance(asked, str) else asked
        if "host" in asked.get("scale", {}) or draw.random() > 0.15:
            continue
        jobs = asked.get("jobs", {})
        chosen = lengths[asked["file"]][jobs.get("from", 0):jobs.get("to", len(lengths[asked["file"]]) - 1) + 1]
        alone = round(sum(chosen) / len(chosen) * draw.choice([0.5, 0.9, 0.97, 1, 1.2]))
        client["recording"] = {**asked, "alone": time(max(alone, 1))}


def draw_device(draw, without=()):
    grid = draw.choice([1, 10, 100, 1000])

    def about(most, least=0):
        return time(max(round(draw.uniform(least, most) / grid), -(-least // grid)) * grid)

    device = {"kind": "device", "version": 1, "name": "drawn", "source": "drawn", "sms": 1,
              "sm": {"threads": 1024, "blocks": 8, "registers": 65536, "shared_memory": "48 KiB"}, "memory": "1 GiB",
              "commands": {"launch": about(8_000), "evict": about(3_000), "notice": about(3_000), "pending_work": "0 ns"}}
    if draw.random() < 0.4:
        device["access"] = {"departure": about(5_000), "limited": about(500), "event": about(2_000)}
    if draw.random() < 0.4:
        device["cooling"] = {"factor": draw.choice([1.5, 2.5, 10]), "after": about(draw.choice([0, 3_000])), "share": draw.choice([0.02, 0.3, 2]), "most": about(20_000)}
    if draw.random() < 0.2 and "mps" not in without:
        return {**device, "arbitration": "mps", "sms": draw.choice([1, 1, 4, 20])}  # several waves, or room for others
    length = about(draw.choice([30_000, 200_000]), 10_000)
    switch = about(10_000)
    slices = {"length": length, "switch": switch, "stop": about(3_000), "resume": about(3_000),
              "renewal": length if draw.random() < 0.3 else about(200_000, 10_000),
              "linger": min(about(4_000), switch, key=quantity), "choice": about(draw.choice([0, 50_000]))}
    for what in ("stop", "resume"):
        if draw.random() < 0.5:
            slices[f"{what}_full"] = time(min(quantity(slices[what]) + quantity(about(20_000)), quantity(length) - 1))
    return {**device, "arbitration": "native-timeslice", "time_slice": slices}


def draw_policy(draw):
    """A policy that grants jobs, and its grant."""
    name = draw.choice(["fcfs", "rr", "piv", "srt", "sjf", "cfs", "frs"])
    params = {"rr": {"quantum": time(draw.choice([20_000, 100_000, 300_000]))},
              "cfs": {"epoch": time(draw.choice([50_000, 400_000])), "order": draw.choice(["rounds", "cumulative"])},
              "frs": {"minimum_quantum": time(draw.choice([20_000, 200_000])), "time_per_task": draw.choice(["given", "learnt"])},
              "srt": {"remaining": draw.choice(["fresh", "stale"]), "time_per_task": draw.choice(["given", "learnt"])},
              "piv": {"evicted": draw.choice(["place", "tail"])}}.get(name, {})
    grant = {"of": "job", "idle": time(draw.choice([0, 5_000, 50_000, draw.randrange(100_000)]))}
    if draw.random() < 0.5:
        grant["in_flight"] = draw.randint(1, 4)
    if draw.random() < 0.3:
        grant["overlap"] = True
    return {"name": name, **({"params": params} if params else {})}, grant


def draw_slices(draw):
    """A policy that launches slices, its grant and the mechanism."""
    params = draw.choice([{"latency": time(draw.choice([1_000, 3_000, 10_000, 50_000, draw.randrange(1_000, 30_000)]))},
                          {"slice": "block-tasks", "block_tasks": draw.choice([1, 2, 8, 9, 40, 100, draw.randint(1, 500)])}])
    if draw.random() < 0.3:
        params["linger"] = time(draw.choice([1, 1_000, 6_000, draw.randrange(1, 100_000)]))
    return {"name": "pkm", "params": params}, {"forms": "worth"}, draw.choice(["ideal", {"name": "slice", "params": {"slice_cost": "500 ns"}}])


def give_forms(draw, workload):
    """Kernels worth slicing to most clients."""
    for client in workload["clients"]:
        if draw.random() < 0.9:
            asked = client["recording"]
            asked = {"file": asked} if isinstance(asked, str) else asked
            client["recording"] = {**asked, "forms": draw_forms(draw, (0, 0, 0, 0, 0, 3_000))}


def draw_access(draw):
    """A policy that controls access."""
    name = draw.choice(["trap-per-request", "timeslice", "disengaged-timeslice", "stride-timeslice"] + 4 * ["disengaged-fair-queueing"])
    params = {}

    def some(key, choices, probability=0.5):
        if draw.random() < probability:
            params[key] = draw.choice(choices)

    def about(*times):
        return [time(value) for value in (*times, draw.randrange(times[0], times[-1]))]

    some("channels", [0, 1, 2, 4], 0.2)
    some("limit", about(5_000, 20_000, 60_000, 200_000), 0.5)
    if "timeslice" in name:
        params["slice"] = draw.choice(about(5_000, 20_000, 100_000, 500_000))
    if name not in ("passthrough", "trap-per-request"):
        some("alone", ["free", "watched"])
    if name == "disengaged-fair-queueing":
        params["sampling"] = draw.choice(about(2_000, 20_000, 50_000, 200_000))
        some("requests", [1, 2, 3, 5, 9], 0.8)
        some("requests_mixed", [1, 2, 4, 7], 0.8)
        some("free_run", [0.5, 1, 1.37, 2, 3], 0.8)
        some("statistics", ["sampled", "vendor"], 0.4)
        some("forward", ["low-demand", "idle"], 0.4)
        some("subset", [1, 2, 3], 0.3)
        some("randomise", [0.1, 0.5, 0.9], 0.3)
    return {"name": name, **({"params": params} if params else {})}


def give_access(draw, device, workload):
    """What policies that control access heed of devices and clients."""
    access = {}
    for key, choices in {"interception": [0, 1, 2_000, draw.randrange(3_000), draw.randrange(15_000)], "poll": [0, 2, 1_000, draw.randrange(20_000)]}.items():
        if draw.random() < 0.8:
            access[key] = time(draw.choice(choices))
    if draw.random() < 0.3:
        access["channels"] = draw.randint(1, 12)
    if draw.random() < 0.4:     # all of them there for several engagements
        access = {"poll": "0 ns", **access, "interception": time(draw.randrange(3_000, 15_000)), "channels": 1000}
        for client in workload["clients"]:
            client.pop("arrive", None)
            client["repeat"] = {"jobs": draw.randint(6, 20)}
    device["access"] = access
    for client in workload["clients"]:
        if draw.random() < 0.3:
            client["weight"] = draw.choice([0.5, 2, 3])


def give_gpus(draw, device, workload):
    """A device of several GPUs, which not all clients may use; returns how clients are placed."""
    device["gpus"] = draw.choice([1, 2, 2, 3])
    for client in workload["clients"]:
        if draw.random() < 0.3:
            client["gpus"] = sorted(draw.sample(range(device["gpus"]), draw.randint(1, device["gpus"])))
        if "releases" in client.get("repeat", {}) and draw.random() < 0.5:
            late = draw.randrange(500_000)
            client["repeat"]["releases"] = [time(quantity(release) + late) for release in client["repeat"]["releases"]]
    return draw.choice([None, "fixed", "least-used", "least-used"])


def experiment(workload, device, policy="passthrough", grant=None, horizon="100 ms", mechanism="ideal", **more):
    return {"kind": "experiment", "version": 1, "name": "drawn", "title": "Drawn at random", "device": device,
            "mechanism": mechanism, "policies": [policy], "permutations": 1, "replications": 1, "jobs": True,
            "horizon": horizon, "workload": workload, **({"grant": grant} if grant else {}), **more}
