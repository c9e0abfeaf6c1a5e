"""A policy of your own, which runs as it is: round robin, to be changed into something better.

Run this file to compare it with policies that come with Gangway. It needs the Python package, no GPU. models/policy.hpp has the whole
contract; gangway.OwnershipPolicy (analysis/README.md) needs one function where it is enough to say whom to choose."""

from collections import deque

import gangway

EXPERIMENT = 'frs/fig4'        # a file, or one of `gangway list experiments`
BESIDE = ['fcfs', 'sjf', 'rr', 'frs']   # of `gangway list policies`
QUANTUM = '2 ms'


class SkeletonPolicy(gangway.Policy, name='skeleton'):
    """Whoever has waited longest, for a quantum."""

    needs = ('evict',)         # what a world must offer: evict, ranges, access, sampling, intercept
    parameters = {             # an experiment gives their values under `params`, as main() does below
        'quantum': gangway.Parameter.time('1 ms', '10 us', '10 s', summary='time a job may own the GPU while others wait'),
    }

    def __init__(self, quantum):   # each run has an instance of its own; times are whole ns
        self.quantum = quantum
        self.waiting = deque()     # jobs, the longest wait first
        self.launch = None         # of the job that owns the GPU
        self.began = False         # its first block has started, in this instant
        self.expired = False       # its quantum has
        self.timer = None

    def note(self, now, fact, view):
        """Hears every fact of an instant before decide() is asked once."""
        match fact:
            case gangway.facts.Arrived():
                self.waiting.append(fact.job)   # view.job(fact.job) tells what is known of it: kernels, priority, deadline, ...
            case gangway.facts.Started():
                self.began = True
            case gangway.facts.Timer():
                self.expired, self.timer = True, None
            case gangway.facts.Left():
                self.launch = None
                if not fact.job_over:           # it was evicted, or has another kernel
                    self.waiting.append(fact.job)

    def decide(self, now, view, orders):
        """Gives orders: launch, evict, wake_at, cancel and others."""
        if self.launch is None:
            if self.timer is not None:
                orders.cancel(self.timer)
                self.timer = None
            if self.waiting:
                self.launch, self.expired = orders.launch(self.waiting.popleft()), False
        elif self.began:
            self.timer = orders.wake_at(now + self.quantum)
        elif self.expired and self.waiting:
            orders.evict(self.launch)           # it leaves later: Left tells when
            self.expired = False
        self.began = False


def main():
    experiment = gangway.Experiment(EXPERIMENT)
    experiment['policies'] = [{'name': 'skeleton', 'params': {'quantum': QUANTUM}}, *BESIDE]
    experiment['published'] = []    # what the paper prints is of other policies
    experiment['replications'] = 2  # seeds: more of them make the result surer
    result = experiment.run()
    # Mean slowdown of the clients (lower is better), how far slowdowns are apart (lower), work done in a time (higher).
    print(result.summary[['policy', 'antt', 'dntt', 'stp', 'evictions']].to_string(index=False))


if __name__ == '__main__':
    main()
