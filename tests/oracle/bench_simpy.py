#!/usr/bin/python3
"""How many jobs per second the SimPy model plays: random arrival orders of a workload, one process.

    bench_simpy.py WORKLOAD.yaml DEVICE.yaml [--permutations N] [--policies sjf,srt,rr,cfs,frs]

Prints one JSON line. Only the simulation is timed, not reading files nor drawing the orders.
"""
import argparse
import json
import random
import time

import yaml

from simpy_model import prepare


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("workload")
    parser.add_argument("device")
    parser.add_argument("--permutations", type=int, default=100)
    parser.add_argument("--policies", default="sjf,srt,rr,cfs,frs")
    parser.add_argument("--mechanism", default="flag-copy")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    with open(args.workload) as workload, open(args.device) as device:
        model = prepare(yaml.safe_load(workload), yaml.safe_load(device), args.mechanism)
    policies = args.policies.split(",")
    names, draw = [client.name for client in model.clients], random.Random(args.seed)
    orders = [draw.sample(names, len(names)) for _ in range(args.permutations)]

    begin = time.perf_counter()
    jobs = sum(len(model.run(policy, order)) for policy in policies for order in orders)
    seconds = time.perf_counter() - begin
    print(json.dumps({"jobs": jobs, "seconds": round(seconds, 4), "jobs_per_second": round(jobs / seconds, 1)}))


if __name__ == "__main__":
    main()
