"""Compares what `contexts` printed with the order of contexts of sim/blocks/README.md, `time_slice.order: creation`.

nvcc -O2 -std=c++17 -o contexts examples/live/contexts.cu
for form in plain event two; do for seed in 1 2 3; do ./contexts $seed $form > $form-$seed.txt; done; done
contexts.py [--queued] FILE...     --queued: an event or a kernel was queued (event, two)"""

import re
import sys

CHOICE = 0.1  # ms
IN_A_ROW = 0.1  # ms at most between two kernels of one context that no other interrupted


def mixes(name):
    """Of each: the order of creation, arrivals in ms, turns (context, from, to) in ms."""
    order = arrivals = None
    with open(name) as file:
        for line in file:
            if line.startswith("created"):
                order = [int(word) for word in line.partition(":")[2].split()]
            elif line.startswith("#"):
                arrivals = {int(c): int(at) / 1000 for c, at in re.findall(r"(\d+):(\d+)/", line)}
            else:
                yield order, arrivals, [(int(c), float(a), float(b)) for c, a, b in re.findall(r"(\d+)\[([\d.]+)-([\d.]+)\]", line)]


def in_one(turns):
    whole = []
    for context, begin, end in turns:
        if whole and whole[-1][0] == context and begin - whole[-1][2] < IN_A_ROW:
            begin = whole.pop()[1]
        whole.append((context, begin, end))
    return whole


def interrupted(turns):
    """Now and then something else has the GPU for 0.3 ms, again and again; who follows then is not judged."""
    return any(a[0] == b[0] and b[1] - a[2] < 0.5 for a, b in zip(turns, turns[1:]))


def changes(order, arrivals, turns):
    """Of each change of context: when the turn begins and ends, who follows, those that could by when they came, in the ring's order."""
    last = {context: number for number, (context, *_) in enumerate(turns)}
    for number, (context, begin, end) in enumerate(turns[:-1]):
        following = turns[number + 1][0]
        if following != context:
            place = order.index(context)
            ring = order[place + 1:] + order[:place]
            yield begin, end, following, [(arrivals[other], other) for other in ring if last.get(other, -1) > number]


def main():
    queued = "--queued" in sys.argv
    right = wrong = skipped = 0
    for name in sys.argv[1:]:
        if name == "--queued":
            continue
        for order, arrivals, turns in mixes(name):
            turns = in_one(turns)
            if interrupted(turns):
                skipped += 1
                continue
            for begin, end, following, others in changes(order, arrivals, turns):
                certain = (end if queued else begin) + CHOICE
                there = [other for at, other in others if at <= certain]
                if following == (there[0] if there else min(others)[1]):
                    right += 1
                else:
                    wrong += 1
    print(f"{right} of {right + wrong} changes of context as the rules say; {skipped} mixes not judged")
    return 1 if wrong > right / 100 else 0


if __name__ == "__main__":
    sys.exit(main())
