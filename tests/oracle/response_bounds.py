"""Theorems T1 to T5 a second time, from their statements, in fractions and by brute force.

Where the program searches (fixed points, bit sets, knapsacks by weight) this module enumerates: all sums, all
subsets, all pieces between two releases. A set is a list of Task; None stands for infinity.
"""
import itertools
from dataclasses import dataclass
from gmpy2 import mpq
from itertools import combinations
from math import ceil, floor


@dataclass(frozen=True)
class Task:
    w: mpq
    T: mpq
    g: int
    b: int

    @property
    def C(self):
        return self.g * self.b * self.w

    @property
    def u(self):
        return self.C / self.T


def longest(items, work):
    """The most time that phases can last together which do so much work: (weight, cap) of each, which is the
    least work per time in it, and its time at most. By the dual, least over the price p of work of
    p * work + sum of cap * (1 - p * weight)+, where p is 0 or one over a weight."""
    at_a_price = [
        (work + sum(cap * (one - weight) for weight, cap in items if weight < one)) / one for one, _ in items
    ]
    return min(at_a_price + [sum(cap for _, cap in items)])


class Set:
    """sms = 0 stands for one pool of `threads`; else so many multiprocessors of `threads` each."""

    def __init__(self, tasks, threads, sms=0):
        self.tasks, self.threads, self.sms = tasks, threads, sms
        self.U = sum(t.u for t in tasks)
        self.all_work = sum(t.C for t in tasks)
        self.M = [self.busy_while_blocked(h) for h in range(len(tasks))]
        finite = [x for x in self.M if x is not None]
        self.least = min(finite) if finite else None
        self.D = [self.longest_blocked(h) for h in range(len(tasks))]

    def busy_while_blocked(self, h):
        sums = {0}
        for j, t in enumerate(self.tasks):
            most = t.g - 1 if j == h else t.g
            sums = {s + k * t.b for s in sums for k in range(most + 1) if s + k * t.b <= self.threads}
        possible = [s for s in sums if s > self.threads - self.tasks[h].b]
        return max(self.sms, 1) * min(possible) if possible else None

    def K(self, i):
        return self.tasks[i].w * max(0, self.least - self.tasks[i].b) if self.least else mpq(0)

    # --- T1

    def longest_blocked(self, h):
        others = [t.w for j, t in enumerate(self.tasks) if j != h]
        per_round = max(self.sms, 1) * (self.threads // self.tasks[h].b)
        rounds = ceil(mpq(self.tasks[h].g, per_round))
        return max(others, default=mpq(0)) + (rounds - 1) * self.tasks[h].w

    def H(self, i):
        items = [(self.M[h], self.D[h]) for h in range(len(self.tasks)) if self.M[h] is not None]
        items.append((self.tasks[i].b, self.tasks[i].w))
        return longest(items, self.all_work)

    def H_closed(self, i):
        if self.least is None:
            return self.tasks[i].w
        return self.all_work / self.least + self.K(i) / self.least

    # --- T2

    def knapsack(self, i, work, jobs, k):
        """As H, of so much work: jobs[h] jobs of each task may wait, and k own ones end."""
        items = [(self.M[h], jobs[h] * self.D[h]) for h in range(len(self.tasks)) if self.M[h] is not None]
        items.append((self.tasks[i].b, k * self.tasks[i].w))
        return longest(items, work)

    def T2_demand(self, i, k, R, jobs_of):
        """Of k own jobs, and the jobs of each other task: how long they may take, and how many those are."""
        jobs = [k] * len(self.tasks)
        for j, t in enumerate(self.tasks):
            if j != i and R[j] is not None:
                jobs[j] = min(k, max(1, jobs_of(j)))
        return self.knapsack(i, sum(n * t.C for n, t in zip(jobs, self.tasks)), jobs, k), jobs

    def T2_window(self, i, k, R, shorter=mpq(0)):
        """L_{i,k}, which is no less than `shorter`, that of fewer jobs. The demand is constant on (p, q] between the lengths at
        which another job counts."""
        known = [j for j in range(len(self.tasks)) if j != i and R[j] is not None]
        p = shorter
        if p > 0 and self.T2_demand(i, k, R, lambda j: ceil((p + R[j]) / self.tasks[j].T))[0] <= p:
            return p
        while True:
            demand, jobs = self.T2_demand(i, k, R, lambda j: floor((p + R[j]) / self.tasks[j].T) + 1)  # just above p
            least = max(p, demand)
            q = min((jobs[j] * self.tasks[j].T - R[j] for j in known if jobs[j] < k), default=None)
            if q is None or least <= q:
                return least
            p = q

    def T2_response(self, i, R, most_jobs):
        """F_i(R); None when no window of so many jobs closes."""
        best, length = None, mpq(0)
        for k in range(1, most_jobs + 1):
            length = self.T2_window(i, k, R, length)
            response = length - (k - 1) * self.tasks[i].T
            best = response if best is None else max(best, response)
            if length <= k * self.tasks[i].T:
                return best
        return None

    def T2(self, most_jobs, most_rounds=60):
        """The least R >= F(R) from H upwards; None stands for infinity, also for what still rises after so many rounds.
        most_jobs: how far to look, by task."""
        n = range(len(self.tasks))
        R = [self.H(i) for i in n]
        for number in itertools.count(1):
            F = [None if R[i] is None else self.T2_response(i, R, most_jobs[i]) for i in n]
            if F == R:
                return R
            late = number % most_rounds == 0
            R = [None if new is None or (late and new > old) else max(old, new) for old, new in zip(R, F)]

    # --- T3

    def T3_holds(self):
        return all(t.g == 1 and t.w <= t.T for t in self.tasks) and (self.least is None or self.U <= self.least)

    def pending_sets(self):
        n = range(len(self.tasks))
        return [
            S for size in range(len(self.tasks) + 1) for S in combinations(n, size)
            if sum(self.tasks[j].b for j in S) <= self.least - 1
        ]

    def Y_closed(self):
        """None where a set of pending tasks alone has a utilisation of M* or more (not with T3's condition)."""
        kappa = [self.K(j) / self.least for j in range(len(self.tasks))]
        if any(sum(self.tasks[j].u for j in S) >= self.least for S in self.pending_sets()):
            return None
        return max(
            (self.all_work + sum(self.tasks[j].u * kappa[j] for j in S)) / (self.least - sum(self.tasks[j].u for j in S))
            for S in self.pending_sets()
        )

    def Y_integer(self):
        """None where U = M*."""
        if self.U == self.least:
            return None
        sets, Y = self.pending_sets(), self.all_work / self.least
        while True:
            left = self.left_over(Y, sets)
            if left <= self.least * Y:
                return Y
            Y = left / self.least

    def left_over(self, Y, sets):
        R = [Y + self.K(j) / self.least for j in range(len(self.tasks))]
        fluid = self.all_work + max(sum(self.tasks[j].u * R[j] for j in S) for S in sets)
        end = fluid / (self.least - self.U)  # beyond it nothing is left over
        lengths = {mpq(0)}
        for t, r in zip(self.tasks, R):
            lengths.update(k * t.T for k in range(floor(end / t.T) + 1))
            lengths.update(k * t.T - r for k in range(ceil(r / t.T), floor((end + r) / t.T) + 1))
        best = None
        for length in lengths:
            if best is not None and fluid - (self.least - self.U) * length <= best:
                continue
            alone = [(floor(length / t.T) + 1) * t.C for t in self.tasks]
            pending = [(floor((length + r) / t.T) + 1) * t.C for t, r in zip(self.tasks, R)]
            extra = max(sum(pending[j] - alone[j] for j in S) for S in sets)
            best = max(best or 0, sum(alone) + extra - self.least * length)
        return best

    # --- T4

    def T4_holds(self):
        if self.least is None:
            return True
        kappa = [self.K(j) / self.least for j in range(len(self.tasks))]
        longest = max(t.w for t in self.tasks)
        loss = sum(t.u * k for t, k in zip(self.tasks, kappa))
        return self.U <= self.least and self.Y_closed() is not None and all(
            t.T >= k and t.T * self.least >= self.threads * longest + self.U * (t.T - k) + loss + self.least * k
            for t, k in zip(self.tasks, kappa))

    # --- T5

    def sigma(self, i):
        return self.least - self.U - self.K(i) / self.tasks[i].T

    def T5_holds(self):
        return self.least is None or all(self.sigma(i) > 0 for i in range(len(self.tasks)))

    def pieces(self, end):
        """How many there are up to a length, about: what this costs."""
        return sum(end / t.T for t in self.tasks)

    def ends(self):
        return [(self.all_work + self.K(i)) / self.sigma(i) for i in range(len(self.tasks))]

    def lambda_(self):
        """On each piece [p, q) between releases the demand is a constant D; net > 0 up to D / M*."""
        longest = mpq(0)
        for i, end in enumerate(self.ends()):
            borders = {k * t.T for t in self.tasks for k in range(ceil(end / t.T) + 1)}
            borders = sorted(borders)
            for p, q in zip(borders, borders[1:]):
                demand = sum((floor(p / t.T) + 1) * t.C for t in self.tasks)
                demand += (floor(p / self.tasks[i].T) + 1) * self.K(i)
                if demand > self.least * p:
                    longest = max(longest, min(q, demand / self.least))
        return longest

    def backlog(self, length):
        return sum(ceil(length / t.T) * t.C for t in self.tasks)

    def window(self, i, k, backlog):
        """Least L > 0 with M* L >= demand(L), which is constant on (p, q] between releases of the others."""
        own = backlog + k * (self.tasks[i].C + self.K(i))
        others = [t for j, t in enumerate(self.tasks) if j != i]
        p = max((floor(own / self.least / t.T) * t.T for t in others), default=mpq(0))  # L is beyond own / M*
        while True:
            later = [(floor(p / t.T) + 1) * t.T for t in others]
            q = min(later, default=None)
            demand = own + sum((floor(p / t.T) + 1) * t.C for t in others)
            least = max(p, demand / self.least)
            if q is None or least <= q:
                return least
            p = q

    def T5(self, i, backlog, H=None):
        best, k = None, 1
        while True:
            length = self.window(i, k, backlog)
            if H is not None:
                length = min(length, k * H)
            response = length - (k - 1) * self.tasks[i].T
            best = response if best is None else max(best, response)
            if length <= k * self.tasks[i].T:
                return best
            k += 1

    def T5_closed(self, i, backlog):
        return (backlog + self.all_work + self.K(i)) / (self.least - self.U + self.tasks[i].u)
