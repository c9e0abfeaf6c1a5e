#!/usr/bin/python3
"""Schedules worked out by hand from the pages, in the comments; run with plain /usr/bin/python3."""
from simpy_model import simulate


def device(launch=0, evict=0, notice=0, pending=0, polls=None):
    costs = {"launch": launch, "evict": evict, "notice": notice, "pending_work": pending}
    copy = {"bandwidth": "1 GB/s", "latency": "5 ns"}  # one byte per ns
    return {"sms": 2, "sm": {"threads": 1024, "blocks": 8, "registers": 65536, "shared_memory": "48 KiB"},
            "copy": {"h2d": copy, "d2h": copy}, "commands": {key: f"{ns} ns" for key, ns in costs.items()},
            **({"polls": polls} if polls else {})}


def client(name, arrive, time, tasks, **more):
    """A client with one kernel; keys of a kernel in `more` go to the kernel."""
    kernel = {"block_tasks": tasks, "block": [256], "time": f"{time} ns"}
    kernel.update({key: more.pop(key) for key in list(more)
                   if key in ("eviction_delay", "useful", "block_task_length", "declared_time", "registers", "host_work", "measured")})
    return {"name": name, "arrive": f"{arrive} ns", "kernels": [kernel], **more}


def check(clients, policy, expected, dev=None, mechanism="flag-copy", gpus=1):
    rows = simulate({"clients": clients}, {**(dev or device()), "gpus": gpus}, mechanism, policy)
    keys = ("client", "job", "arrival_ns", "start_ns", "finish_ns", "evictions", "launches")
    got = [tuple(row[key] for key in keys) for row in rows]
    assert got == expected, f"{policy}\n got      {got}\n expected {expected}"


def test_fcfs_two_jobs():
    # A is launched at 0, runs 10..110, is reported after 3 + 5 at 118. B waits since 50: 128..328, 336.
    check([client("A", 0, 100, 10), client("B", 50, 200, 10)], "fcfs",
          [("A", 0, 0, 10, 118, 0, 1), ("B", 0, 50, 128, 336, 0, 1)], device(10, 0, 3, 5))


def test_copies_in_client_order_and_repeats():
    # Copies in: both asked for at 0, A first 0..105 (latency 5), then B 105..160. A runs 105..205, copies
    # out 205..260; its second job was released at 50: copy in 260..365 and so on: done at 365+100+55 = 520.
    # B is eligible at 160, runs 205..305, done; thinks 7, copies in from 312 but A's copy holds the engine
    # until 365: 365..420. Eligible at 420, A owns the GPU until 465: 465..565.
    check([client("A", 0, 100, 4, copy_in="100 B", copy_out="50 B", repeat={"jobs": 2, "period": "50 ns"}),
           client("B", 0, 100, 4, copy_in="50 B", repeat={"jobs": 2, "think": "7 ns"})], "fcfs",
          [("A", 0, 0, 105, 260, 0, 1), ("A", 1, 50, 365, 520, 0, 1),
           ("B", 0, 0, 205, 305, 0, 1), ("B", 1, 312, 465, 565, 0, 1)])


def test_rr_quantum_and_eviction_delay():
    # A starts at 10; its quantum is over at 410, B waits: evict. Flag seen at 430, drain 60 - 20 = 40, half
    # of it useful: gone at 470 with 420 + 20 = 440 ns of work, 4 of 10 tasks; reported at 475. B: launched
    # 475, 485..785, reported 790. A: launched 790, 6 tasks 800..1400 (the quantum over at 1200 is renewed,
    # nobody waits), reported 1405.
    check([client("A", 0, 1000, 10, eviction_delay="60 ns"), client("B", 100, 300, 3)],
          {"name": "rr", "params": {"quantum": "400 ns"}},
          [("A", 0, 0, 10, 1405, 1, 2), ("B", 0, 100, 485, 790, 0, 1)], device(10, 20, 1, 4))
    # All of A's drain is useful, and its quantum is over at 450: gone at 510 with 460 + 40 = 500 ns of work, 5 tasks.
    check([client("A", 0, 1000, 10, eviction_delay="60 ns", useful=1), client("B", 100, 300, 3)],
          {"name": "rr", "params": {"quantum": "440 ns"}},
          [("A", 0, 0, 10, 1345, 1, 2), ("B", 0, 100, 525, 830, 0, 1)], device(10, 20, 1, 4))


def test_launches_as_measured():
    # A and B are each another kernel than the last: launched after 14, 3 longer, and reported 1 + 7 after the end.
    said = {"launch": "14 ns", "after_another": "3 ns", "pending_work": "7 ns"}
    check([client("A", 0, 20, 20, measured=said), client("B", 0, 20, 20, measured=said)], "fcfs",
          [("A", 0, 0, 14, 45, 0, 1), ("B", 0, 0, 59, 90, 0, 1)], device(10, 2, 1, 4))
    # At 50 A, 40 after its first block, is evicted: gone at 58 with 42 of the 80 ns that its 100 block-tasks take
    # beside the 20 of each launch, 52 block-tasks. B 63..93, reported 98. The other 48 take 20 + 39: 108..167.
    said = {"each_launch": "20 ns", "evictions": [["40 ns", "48 ns", "42 ns"]]}
    check([client("A", 0, 100, 100, measured=said), client("B", 50, 20, 20)], "srt",
          [("A", 0, 0, 10, 172, 1, 2), ("B", 0, 50, 73, 98, 0, 1)], device(10, 2, 1, 4))
    # In rounds of 30: at 40 gone 10 later with 40 block-tasks, and the other 60 take two rounds of 25.
    said = {"in_step": 30, "evictions": [["30 ns", "40 ns", "40 ns"]]}
    check([client("A", 0, 100, 100, measured=said), client("B", 40, 20, 20)], "sjf",
          [("A", 0, 0, 10, 155, 1, 2), ("B", 0, 40, 65, 90, 0, 1)], device(10, 2, 1, 4))


def test_srt_arrivals_preempt():
    # At 300 A has 700 left, B needs 500: evict. Gone at 350 with 300 + 25 ns of work, 3 tasks. B 350.. .
    # At 500 C needs 400. Fresh: B has 500 - 150 = 350 left, no eviction: B ..850, C 850..1250, A 1250..1950.
    # Stale: B has 500: evict, gone at 550 with 150 + 25 ns, 1 task. B and C have 400 left each, B arrived
    # first: 550..950, C 950..1350, A 1350..2050.
    clients = [client("A", 0, 1000, 10, block_task_length="50 ns"), client("B", 300, 500, 5, block_task_length="50 ns"),
               client("C", 500, 400, 4, block_task_length="50 ns")]
    check(clients, "srt", [("A", 0, 0, 0, 1950, 1, 2), ("B", 0, 300, 350, 850, 0, 1), ("C", 0, 500, 850, 1250, 0, 1)])
    check(clients, {"name": "srt", "params": {"remaining": "stale"}},
          [("A", 0, 0, 0, 2050, 1, 2), ("B", 0, 300, 350, 950, 1, 2), ("C", 0, 500, 950, 1350, 0, 1)])


def test_srt_learns():
    # A is declared to take 100 and takes 1000. At 200 it has max(100 - 200, 0) left by what was declared, so
    # B (declared 150) does not evict it; at 1000 B competes with A's second job.
    clients = [client("A", 0, 1000, 10, declared_time="100 ns", repeat={"jobs": 2, "think": "0 ns"}),
               client("B", 200, 600, 6, declared_time="150 ns")]
    # Declared: at 1000 A has 100, B 150: A 1000..2000, B 2000..2600.
    check(clients, "srt", [("A", 0, 0, 0, 1000, 0, 1), ("A", 1, 1000, 1000, 2000, 0, 1), ("B", 0, 200, 2000, 2600, 0, 1)])
    # Learnt: at 1000 A has 1000, B 150: B 1000..1600, A 1600..2600.
    check(clients, {"name": "srt", "params": {"time_per_task": "learnt"}},
          [("A", 0, 0, 0, 1000, 0, 1), ("A", 1, 1000, 1600, 2600, 0, 1), ("B", 0, 200, 1000, 1600, 0, 1)])


def test_frs_quanta():
    # No costs, least quantum 500. A 100 ns a task (total 10000), B 100 ns a task (total 4000) from 1000.
    #    0 A alone, 500, renewed at 500; at 1000 B arrives with the timer: evict, 10 tasks.
    # 1000 IS both 1, A first; quantum 10000 - 9000 - 1000 = 0 -> 500: 15 tasks.
    # 1500 A 1, B 4500/4000 = 1.125: B for 11250 - 8500 - 1500 = 1250: 12 tasks.
    # 2750 A 1.125, B (1750 + 2800)/4000 = 1.1375: B, 125 -> 500: 17 tasks.
    # 3250 A 1.175, B 1.1375: A for 4700 - 2300 - 2250 = 150 -> 500: 20 tasks.
    # 3750 A 1.175, B 5050/4000 = 1.2625: B for 12625 - 8000 - 3750 = 875: 25 tasks.
    # 4625 A 1.2625, B 5125/4000 = 1.28125: B, 187 -> 500: 30 tasks.
    # 5125 A 1.3125, B 1.28125: A, 125 -> 500: 25 tasks.
    # 5625 A 1.3125, B 5625/4000 = 1.40625: B for 14062.5 - 7500 - 5625 = 937: 39 tasks.
    # 6562 A 1.4062, B 5662/4000 = 1.4155: B, ends at 6662. A: 75 tasks to 14162.
    check([client("A", 0, 10000, 100), client("B", 1000, 4000, 40)],
          {"name": "frs", "params": {"minimum_quantum": "500 ns"}},
          [("A", 0, 0, 0, 14162, 4, 5), ("B", 0, 1000, 1500, 6662, 5, 6)], mechanism="ideal")


def test_cfs_rounds_and_cumulative():
    # Rounds: 0 [A, B] 1500 each: A 0..1500, B ..3000. [C since 500, A since 1500, B since 3000] 1000 each:
    # C ..4000 (done), A ..5000, B ..6000. [A, B] 1500 each: A ..6500 (done), B ..7000 (done).
    clients = [client("A", 0, 3000, 30), client("B", 0, 3000, 30), client("C", 500, 1000, 10)]
    check(clients, {"name": "cfs", "params": {"epoch": "3 us"}},
          [("A", 0, 0, 0, 6500, 2, 3), ("B", 0, 0, 1500, 7000, 2, 3), ("C", 0, 500, 3000, 4000, 0, 1)],
          mechanism="ideal")
    # Cumulative: A for 3000/2. At 1500 waited A 0, B 1500, C 1000: B for 1000. 2500: A 1000, B 1500, C 2000:
    # C, done at 3500. A 2000, B 2500: B for 1500. 5000: A 3500, B 2500: A, done at 6500. B ..7000.
    check(clients, {"name": "cfs", "params": {"epoch": "3 us", "order": "cumulative"}},
          [("A", 0, 0, 0, 6500, 1, 2), ("B", 0, 0, 1500, 7000, 2, 3), ("C", 0, 500, 2500, 3500, 0, 1)],
          mechanism="ideal")


def test_sjf_evicts_too_early_and_too_late():
    # B arrives at 50: the flag (70) is there before A's first block (100): gone at 100 with nothing done,
    # reported 108. B: launched 108, 208..708, 716. A again: launched 716, 816..1816, 1824.
    dev = device(100, 20, 3, 5)
    check([client("A", 0, 1000, 10), client("B", 50, 500, 5)], "sjf",
          [("A", 0, 0, 100, 1824, 1, 2), ("B", 0, 50, 208, 716, 0, 1)], dev)
    # B arrives at 1060: seen 1080, half the drain to 1100, which is A's end: as if never evicted. 1108.
    late = [client("A", 0, 1000, 10, eviction_delay="60 ns"), client("B", 1060, 500, 5)]
    check(late, "sjf", [("A", 0, 0, 100, 1108, 0, 1), ("B", 0, 1060, 1208, 1716, 0, 1)], dev)


def test_sjf_derived_drain_and_two_kernels():
    # 8 blocks of 256 threads fit (4 per SM, 2 by registers with 128 per thread: 4 in all): a block-task of
    # A lasts 1000 * 4 / 10 = 400. B evicts at 100: gone at 500 with 100 + 200 ns of work, 3 tasks. A's total
    # is 1300. B 500..700; A 7 tasks 700..1400, then its second kernel 1400..1700.
    two = client("A", 0, 1000, 10, registers=128)
    two["kernels"].append({"block_tasks": 3, "block": [256], "time": "300 ns"})
    check([two, client("B", 100, 200, 2)], "sjf", [("A", 0, 0, 0, 1700, 1, 3), ("B", 0, 100, 500, 700, 0, 1)])


def test_piv_keeps_place_or_goes_behind():
    # D (since 100) is not more urgent than A, B at 300 is: A leaves with 3 tasks. C has B's priority and waits.
    # B 300..500, C 500..700. Then A, which arrived first, 700..1400; or D, which has waited longer, 700..800.
    clients = [client("A", 0, 1000, 10), client("B", 300, 200, 2, priority=1), client("C", 400, 200, 2, priority=1),
               client("D", 100, 100, 1)]
    check(clients, "piv", [("A", 0, 0, 0, 1400, 1, 2), ("B", 0, 300, 300, 500, 0, 1), ("C", 0, 400, 500, 700, 0, 1),
                           ("D", 0, 100, 1400, 1500, 0, 1)], mechanism="ideal")
    check(clients, {"name": "piv", "params": {"evicted": "tail"}},
          [("A", 0, 0, 0, 1500, 1, 2), ("B", 0, 300, 300, 500, 0, 1), ("C", 0, 400, 500, 700, 0, 1),
           ("D", 0, 100, 700, 800, 0, 1)], mechanism="ideal")


def test_piv_heeds_only_the_privileged():
    # B's kernel says 5, its client 0. If B is privileged it evicts A at 300; A's kernel may always be less urgent.
    urgent = client("B", 300, 200, 2, priority=0)
    urgent["kernels"][0]["priority"] = 5
    modest = client("A", 0, 1000, 10, priority=9)
    modest["kernels"][0]["priority"] = 0
    check([modest, urgent], "piv", [("A", 0, 0, 0, 1000, 0, 1), ("B", 0, 300, 1000, 1200, 0, 1)], mechanism="ideal")
    check([modest, {**urgent, "privileged": True}], "piv",
          [("A", 0, 0, 0, 1200, 1, 2), ("B", 0, 300, 300, 500, 0, 1)], mechanism="ideal")


def test_dprr_quotas_and_aging():
    # Quotas are (p + 1) * 100. B (2) for 300, inactive. A for 100, and B's queue becomes active. B 400..700, 6 tasks.
    # A 700..800, B 800..900 (done), A: its quota is renewed at 1000 and 1100, done at 1200.
    clients = [client("A", 0, 500, 5), client("B", 0, 700, 7, priority=2)]
    params = {"quota": "100 ns", "aging": "200 ns"}
    check(clients, {"name": "dprr", "params": params},
          [("A", 0, 0, 300, 1200, 2, 3), ("B", 0, 0, 0, 900, 2, 3)], mechanism="ideal")
    # At 300 A has aged by one level: 200. At 500 B too, 3 + 1 times 100: done at 900.
    check(clients, {"name": "dprr", "params": {**params, "quota_priority": "dynamic"}},
          [("A", 0, 0, 300, 1200, 1, 2), ("B", 0, 0, 0, 900, 1, 2)], mechanism="ideal")


def test_dprr_displaced_owner_gets_its_rest():
    # Quotas of 1000. At 400 B displaces A, which keeps 600 and its place before C: B 400..500, A 500..1100, now
    # its quota is over. C 1100..1200, A 1200..1700. Undisturbed A runs to 1000, then B, C, and A from 1200 as well.
    clients = [client("A", 0, 1500, 15), client("B", 400, 100, 1, priority=1), client("C", 450, 100, 1)]
    params = {"quota": "1 us", "swap": "when-needed"}
    check(clients, {"name": "dprr", "params": {**params, "arrival_preempts": "yes"}},
          [("A", 0, 0, 0, 1700, 2, 3), ("B", 0, 400, 400, 500, 0, 1), ("C", 0, 450, 1100, 1200, 0, 1)],
          mechanism="ideal")
    check(clients, {"name": "dprr", "params": params},
          [("A", 0, 0, 0, 1700, 1, 2), ("B", 0, 400, 1000, 1100, 0, 1), ("C", 0, 450, 1100, 1200, 0, 1)],
          mechanism="ideal")


def test_pkm_slices():
    # A: 4 of its 10 blocks fit, so 3 waves of ceil(290 / 3) = 97. By latency 2 waves go in 200 ns: 8 tasks, from
    # 10 + 2 to 206, reported 209. B is more urgent, one wave of 100: 221..321, 324. A's last 2 tasks 336..433, 436.
    clients = [client("A", 0, 290, 10, registers=128), client("B", 50, 100, 4, priority=1)]
    dev, mechanism = device(10, 20, 3, 5), {"name": "slice", "params": {"slice_cost": "2 ns"}}
    check(clients, {"name": "pkm", "params": {"latency": "200 ns"}},
          [("A", 0, 0, 12, 436, 0, 2), ("B", 0, 50, 221, 324, 0, 1)], dev, mechanism)
    # 5 tasks are two waves as well: A 12..206, B until 324, A 336..530, 533.
    check(clients, {"name": "pkm", "params": {"slice": "block-tasks", "block_tasks": 5}},
          [("A", 0, 0, 12, 533, 0, 2), ("B", 0, 50, 221, 324, 0, 1)], dev, mechanism)


def polled(mechanism, expected, **more):
    """A, 8 of its 16 blocks resident, loses the GPU at 510 to B, which has one block-task."""
    check([client("A", 0, 1600, 16, **more), client("B", 10, 100, 1)], {"name": "rr", "params": {"quantum": "500 ns"}},
          expected, device(10, 20, 3, 5, {"host": "60 ns", "device": "20 ns"}), mechanism)


def test_polling_mechanisms():
    # A block-task of A lasts 800. basic: A takes 1600 + 16 * 60 / 8 = 1720, the drain is 800 + 60, half of it useful:
    # gone at 1370 with 500 + 430 ns of work, 8 tasks, 1373. B takes 160: 1383..1543, 1546. A 1556..2416, 2419.
    polled("basic", [("A", 0, 0, 10, 2419, 1, 2), ("B", 0, 10, 1383, 1546, 0, 1)])
    # proxy: 7 work, in three waves instead of two: 2400 + ceil(320 / 7) = 2446; B 100 + 20. Seen at 600, gone 820 later
    # with 590 + 410 ns, 6 tasks, 1423. B 1433..1553, 1556. A 1566..3095, 3098.
    polled("proxy", [("A", 0, 0, 10, 3098, 1, 2), ("B", 0, 10, 1433, 1556, 0, 1)])
    # Every second block-task: 2400 + ceil(320 / 14) = 2423. Gone 1620 after 600 with 590 + 810 ns, 9 tasks, 2223.
    # B 2233..2353, 2356. A 2366..3427, 3430.
    polled({"name": "proxy-adaptive", "params": {"L": "16 us"}},
           [("A", 0, 0, 10, 3430, 1, 2), ("B", 0, 10, 2233, 2356, 0, 1)])


def test_rewritten_kernels_leave():
    # loop: seen at 530, 800 later gone, with 520 + 400 ns of work: 9 tasks, 1338. B 1348..1448, 1456. A's last 7 tasks
    # 1466..2166, 2174.
    polled("loop", [("A", 0, 0, 10, 2174, 1, 2), ("B", 0, 10, 1348, 1456, 0, 1)])
    # prologue: the last 7 blocks claim before it is gone, 5 each: 1365, 1373. B 1383..1483, 1491. A 1501..2201, 2209.
    polled({"name": "prologue", "params": {"claim_ns": 5}},
           [("A", 0, 0, 10, 2209, 1, 2), ("B", 0, 10, 1383, 1491, 0, 1)])
    # No faster than its blocks can be claimed: 16 * 110 = 1760. Of it 920 are 8 blocks; 8 * 110: gone at its end, 1770.
    polled({"name": "prologue", "params": {"claim_ns": 110}},
           [("A", 0, 0, 10, 2804, 1, 2), ("B", 0, 10, 1788, 1906, 0, 1)])


def test_busy_host_threads_launch_later():
    # As above, but A's host thread works from 0 to 2000. At 1556 it is busy for another 444: signalled after 50, it
    # launches, 1616..3145, 3148; or when it is through, 2010..3539, 3542.
    for relaunch, finish in (("signal", 3148), ("wait", 3542)):
        polled({"name": "proxy", "params": {"relaunch": relaunch, "signal_after": "50 ns"}},
               [("A", 0, 0, 10, finish, 1, 2), ("B", 0, 10, 1433, 1556, 0, 1)], host_work="2 us")


def test_kernels_end_with_their_host_work():
    # A's first kernel ends at 100, its host thread is through at 300: B 100..200, A's second kernel 300..400, its
    # host thread until 800. C arrived at 250: 250..450, so it owns the GPU at 300 and A's second kernel is 450..550;
    # its host thread works from the launch, 450..950.
    two = client("A", 0, 100, 1, host_work="300 ns")
    two["kernels"].append({"block_tasks": 3, "block": [256], "time": "100 ns", "host_work": "500 ns"})
    rows = [("A", 0, 0, 0, 800, 0, 2), ("B", 0, 50, 100, 200, 0, 1)]
    check([two, client("B", 50, 100, 1)], "fcfs", rows, mechanism="ideal")
    check([two, client("B", 50, 100, 1), client("C", 250, 200, 1)], "fcfs",
          [("A", 0, 0, 0, 950, 0, 2), rows[1], ("C", 0, 250, 250, 450, 0, 1)], mechanism="ideal")


def test_gaps_and_lingering():
    # A: 100 ns and, behind a gap of 30, 50 ns more. B arrives at 10 with 40 ns of lower priority.
    two = client("A", 0, 100, 1, priority=1)
    two["kernels"].append({"block_tasks": 1, "block": [256], "time": "50 ns", "gap": "30 ns"})
    other = client("B", 10, 40, 4, eviction_delay="20 ns")
    # B is launched at 100 and evicted at 130, when A is eligible; it is gone at 140, all done, as it would have been.
    check([two, other], "piv", [("A", 0, 0, 0, 190, 0, 2), ("B", 0, 10, 100, 140, 0, 1)])
    # A keeps the GPU: 130..180. With a linger of 29 ns B is launched at 129; seen at 130, gone at 150 after 1 + 10 ns,
    # 1 block-task of 4; A 150..200, and the rest of B, 30 ns, after that.
    check([two, other], {"name": "piv", "params": {"linger": "30 ns"}},
          [("A", 0, 0, 0, 180, 0, 2), ("B", 0, 10, 180, 220, 0, 1)])
    check([two, other], {"name": "piv", "params": {"linger": "29 ns"}},
          [("A", 0, 0, 0, 200, 0, 2), ("B", 0, 10, 129, 230, 1, 2)])
    # A quantum of 1 us that is over at 1020, in the gap from 1000 to 1030.
    long = client("A", 0, 1000, 1)
    long["kernels"].append({"block_tasks": 1, "block": [256], "time": "50 ns", "gap": "30 ns"})
    rr = {"name": "rr", "params": {"quantum": "1020 ns", "linger": "1 us"}}
    check([long, other], rr, [("A", 0, 0, 0, 1110, 0, 2), ("B", 0, 10, 1020, 1060, 0, 1)])


def test_two_gpus():
    # The least urgent owner, B, leaves for C at 300: gone at once with 3 tasks. At 500 C is through, and so is A's
    # GPU at 400, where B goes on: 400..1100.
    clients = [client("A", 0, 400, 4, priority=1), client("B", 0, 1000, 10), client("C", 300, 200, 2, priority=2)]
    check(clients, "piv", [("A", 0, 0, 0, 400, 0, 1), ("B", 0, 0, 0, 1100, 1, 2), ("C", 0, 300, 300, 500, 0, 1)],
          mechanism="ideal", gpus=2)
    # A is on the first GPU, which is the only one that C may use. A displaces B in turn, with 3 tasks: 300..400. B
    # goes on when that is over: 400..1100.
    clients[2]["gpus"] = [0]
    check(clients, "piv", [("A", 0, 0, 0, 400, 1, 2), ("B", 0, 0, 0, 1100, 1, 2), ("C", 0, 300, 300, 500, 0, 1)],
          mechanism="ideal", gpus=2)
    # Two quanta are over at 1000, and one job waits: A leaves. At 2000 C's and B's are over, and A waits: C leaves.
    # 2000..3000 A, and B until its second is over at 3000, with all done.
    clients = [client(name, 0, time, time // 100) for name, time in (("A", 2000), ("B", 3000), ("C", 1500))]
    check(clients, {"name": "rr", "params": {"quantum": "1 us"}},
          [("A", 0, 0, 0, 3000, 1, 2), ("B", 0, 0, 0, 3000, 0, 1), ("C", 0, 0, 1000, 3500, 1, 2)],
          mechanism="ideal", gpus=2)


if __name__ == "__main__":
    tests = [value for name, value in sorted(globals().items()) if name.startswith("test_")]
    for test in tests:
        test()
    print(f"{len(tests)} passed, 0 failed")
