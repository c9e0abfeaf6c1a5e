"""Kernels that can leave before their end, or run in slices: "Kernels that leave" and "Slices" of sim/recorded/README.md."""
import collections
import fnmatch
import math
from fractions import Fraction

from recorded_parts import KERNEL
from simpy_inputs import ceil_div, quantity, round_half_up, share


class Form:
    """How the kernels of one launch leave, and in which waves they run."""

    def __init__(self, spec, launch, time, device):
        limits = device["sm"]
        name, params = (spec, {}) if isinstance(spec, str) else (spec["name"], spec.get("params", {}))
        _, self.blocks, threads, registers = launch
        fit = device["sms"] * min(limits["blocks"], limits["threads"] // threads, limits["registers"] // (registers * threads))
        self.wave = max(1, min(fit, self.blocks))
        self.waves = ceil_div(self.blocks, self.wave)
        self.claim, self.time, self.slowed = 0, max(time, 1), time
        self.leaves_early = name != "slice"
        self.departure = quantity(device.get("access", {}).get("departure", "0 ns"))
        if name == "prologue":
            few, many = (share(params.get(key, least)) for key, least in (("claim_ns", "0.73"), ("claim_1024_ns", "1.8")))
            part = Fraction(min(max(threads, 256), 1024) - 256, 768)
            self.claim = Fraction(round_half_up(1000 * (few + part * (many - few))), 1000)
            self.slowed = max(round_half_up(time * share(params.get("overhead", 1))), self.claims(self.blocks))

    def claims(self, blocks):
        return math.ceil(blocks * self.claim)

    def length(self, recorded):
        return ceil_div(recorded * self.slowed, self.time)

    def leaves(self, length, progress):
        """For how long a kernel goes on that sees the flag, and what is left of it then; None: it runs to its end."""
        over = 0
        while over < self.waves and over * length < progress * self.waves:  # waves, with the one that runs
            over += 1
        end = ceil_div(over * length, self.waves)
        until = end - progress + self.claims(max(self.blocks - over * self.wave, 0)) + self.departure
        if length == 0 or over == self.waves or progress + until >= length:
            return None
        return until, length - end


def forms_of(asked, program, scale, device):
    """By launch, for those that have one."""
    rules = asked.get("forms")
    if rules is None:
        return {}
    lengths = collections.defaultdict(list)
    for work in program.played():
        if work.kind == KERNEL:
            lengths[work.shape].append(work.length)
    forms = {}
    for shape, times in lengths.items():
        name, blocks, *_ = launch = program.launches[shape]
        time = sorted(times)[(len(times) - 1) // 2]
        time = time if scale == 1 else round_half_up(time * scale)
        chosen = next((form for pattern, form in rules.get("kernels", {}).items() if fnmatch.fnmatchcase(name, pattern)),
                      rules.get("default", "gate"))
        if (chosen != "gate" and time > quantity(rules.get("worth", "200 us"))
                and time >= blocks * quantity(rules.get("block_time", "4 ns"))):
            forms[shape] = Form(chosen, launch, time, device)
    return forms
