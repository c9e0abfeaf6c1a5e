#!/usr/bin/python3
"""Schedules worked out by hand from sim/memory/README.md, in the comments; run with plain /usr/bin/python3.

The model must agree with each, and so must the program when $GANGWAY names it.
"""
import os
import pathlib
import sys
import tempfile

import by_hand
from compare_memory import expected, play
from memory_workloads import experiment


def device(memory, gpus=1, **copy):
    """Engines that copy a byte in a ns, without latency; 4 blocks of 256 threads at once."""
    engines = {way: {"bandwidth": "1 GB/s", "latency": "0 ns"} for way in ("h2d", "d2h")}
    return {"kind": "device", "version": 1, "name": "by-hand", "source": "made up", "sms": 1,
            "sm": {"threads": 1024, "blocks": 4, "registers": 65536, "shared_memory": "48 KiB"},
            "memory": f"{memory} B", "copy": {**engines, **copy}, "gpus": gpus}


def variable(size, **more):
    """Of a client: an input, if `input` does not say otherwise."""
    return {"name": f"v{size}", "size": f"{size} B", **more}


def client(name, *kernels, arrive=0, **more):
    """`kernels`: (blocks, time, more keys)."""
    return {"name": name, "arrive": f"{arrive} ns", **more, "kernels": [
        {"name": f"k{number}", "block_tasks": blocks, "block": [256], "time": f"{time} ns", **rest}
        for number, (blocks, time, rest) in enumerate(kernels)]}


def check(clients, gpu, jobs, mechanism=None, **params):
    """`jobs`: (start, finish, launches) by client and number."""
    workload = {"kind": "workload", "version": 1, "name": "by-hand", "source": "made up", "clients": clients}
    spec = experiment(workload, gpu, mechanism or {"name": "slice"}, {"slice": "1000 ns", **params})
    played = {"model": expected(spec)}
    if "GANGWAY" in os.environ:
        with tempfile.TemporaryDirectory() as folder:
            played["gangway"] = play(os.environ["GANGWAY"], spec, pathlib.Path(folder))
    for who, rows in played.items():
        got = rows if isinstance(rows, str) else {key: row[1:] for key, row in rows.items()}
        assert got == jobs, f"{who}\n got      {got}\n expected {jobs}"


def test_every_message_of_a_microkernel():
    # Registered at 110 and restored: told at 120, copied 120..220, ready at 230. LaunchKernel: the first block at 240,
    # all gone at 1240, YieldedGPU at 1250; the output is copied 1250..1300.
    check([client("a", (4, 1000, {}), variables=[variable(100), variable(50, input=False, output=True)])], device(150),
          {("a", 0): (240, 1300, 1)},
          mechanism={"name": "microkernel", "params": {"message": "10 ns", "registration": "100 ns"}})


def test_two_that_have_room_together_overlap_restores():
    # On the one engine a is restored 0..100, b 100..200. a runs 100..1100, b 1100..2100; nothing is saved, both only read.
    clients = [client(name, (4, 1000, {}), variables=[variable(100)]) for name in "ab"]
    check(clients, device(200), {("a", 0): (100, 1100, 1), ("b", 0): (1100, 2100, 1)})


def pair():
    """Two waves of 1000 ns each, and 300 B that are dirty."""
    return [client(name, (8, 2000, {}), variables=[variable(300, dirty=True)]) for name in "ab"]


def test_the_one_without_room_waits_for_the_save():
    # Room for one. a runs 300..1300; b is first and short of room: a is saved 1300..1600, b restored 1600..1900, runs
    # 1900..2900, saved 2900..3200; a restored 3200..3500, runs 3500..4500 and is done; b restored 4500..4800, runs ..5800.
    check(pair(), device(300), {("a", 0): (300, 4500, 2), ("b", 0): (1900, 5800, 2)})


def test_run_on_or_yield_while_the_next_is_on_its_way():
    # Room for both, but a byte takes b's engine 5 ns: a is there at 1500, b at 3000. a runs 1500..2500; b is before it in
    # the queue, but has its room, and a runs on, 2500..3500 (done). b runs 3500..5500 without a pause.
    gpu = device(600, h2d={"bandwidth": "200 MB/s", "latency": "0 ns"})
    check(pair(), gpu, {("a", 0): (1500, 3500, 2), ("b", 0): (3500, 5500, 2)}, unready="run-on")
    # a yields at 2500 and is saved until 2800. b is there at 3000: it runs 3000..4000 while a is restored 3000..4500, yields
    # in its turn and is saved 4000..4300. a runs 4500..5500, b is restored 4500..6000 and runs 6000..7000.
    check(pair(), gpu, {("a", 0): (1500, 5500, 2), ("b", 0): (3000, 7000, 2)}, unready="yield")


def test_only_launched_parts_of_a_map_are_saved_and_restored():
    # 8 blocks of 25 B, output only: nothing to restore. a runs blocks 0 to 3 at 0..1000, yields to b, saves 100 B 1000..1100;
    # b (no memory but 200 B that are read, 1100..1300) runs 1300..2300; a is restored 2300..2400 and runs ..3400, and
    # copies 200 B out.
    clients = [client("a", (8, 2000, {}), variables=[variable(200, input=False, output=True, map={"size": "25 B"})]),
               client("b", (4, 1000, {}), variables=[variable(200)])]
    check(clients, device(200), {("a", 0): (0, 3600, 2), ("b", 0): (1300, 2300, 1)})


def test_a_bus_that_two_gpus_share():
    # Each of them restores 500 B at half the speed, both are there at 1000.
    clients = [client(name, (4, 1000, {}), variables=[variable(500)]) for name in "ab"]
    check(clients, device(500, 2, bus="1 GB/s"), {("a", 0): (1000, 2000, 1), ("b", 0): (1000, 2000, 1)})
    check(clients, device(500, 2), {("a", 0): (500, 1500, 1), ("b", 0): (500, 1500, 1)})


def test_a_split_kernel_and_its_merge():
    # Alone on two GPUs, with 8 waves of 1000 ns: 4 waves each. 8000 / 2 = 4000 is more than 100 ns of copy and
    # 4 * 1 * 100 of merging. Both restore 0..100 and run 100..4100, in 4 launches each; both versions are copied 4100..4200,
    # the host merges 2 * 100 B in 50 ns, and the output came with that.
    clients = [client("a", (32, 8000, {}), variables=[variable(100, output=True)])]
    check(clients, device(100, 2, merge="4 GB/s"), {("a", 0): (100, 4250, 8)})
    check(clients, device(100, 2, merge="4 GB/s"), {("a", 0): (100, 8200, 8)}, split="never")


def test_a_split_kernel_whose_output_has_a_map():
    # As before, each GPU with its half of the parts: nothing to restore, 320 B to copy out of each, and nothing to merge.
    clients = [client("a", (32, 8000, {}), variables=[variable(640, input=False, output=True, map={"size": "20 B"})])]
    check(clients, device(640, 2), {("a", 0): (0, 4320, 8)})


def test_a_split_that_does_not_pay():
    # 2000 / 2 = 1000 is not more than 1000 ns of copy; a byte less, and it is.
    whole, less = (client("a", (8, 2000, {}), variables=[variable(size)]) for size in (1000, 999))
    check([whole], device(1000, 2), {("a", 0): (1000, 3000, 2)})
    check([less], device(1000, 2), {("a", 0): (999, 1999, 2)})


def test_a_restore_under_way_is_not_paid_for_again():
    # a runs its first kernel on GPUs 0 and 1 at 0..2000, with nothing to restore; both versions are copied until 2100 and
    # merged until 2150, and both GPUs are out of date. b came to GPU 0 at 2010 and runs there 2020..2170, so a's second
    # kernel is to go to GPU 1: restored 2150..2250. At 2170 GPU 0 has the lower number, and GPU 1 can join again. What it
    # needs is on its way, so that pays if half of what is left is more than the 2 * 2 * 100 ns of merging. b runs on until
    # 3170; a runs 2250..2750 on GPU 1 and 3170..3670 on GPU 0, and its versions are copied until 3770, merged until 3820.
    def clients(second):
        return [client("a", (8, 4000, {}), (8, second, {}), variables=[variable(100, input=False, dirty=True)]),
                client("b", (4, 150, {}), (4, 1000, {}), arrive=2010, variables=[variable(10)])]
    gpu, microkernels = device(200, 3, merge="4 GB/s"), {"blocks": "block-tasks", "block_tasks": 4}
    check(clients(1000), gpu, {("a", 0): (0, 3820, 4), ("b", 0): (2020, 3170, 2)}, **microkernels)
    # Of 800 ns it does not: a runs 2250..2650 and 2650..3050 on GPU 1.
    check(clients(800), gpu, {("a", 0): (0, 3050, 4), ("b", 0): (2020, 3170, 2)}, **microkernels)


if __name__ == "__main__":
    sys.exit(by_hand.run(globals()))
