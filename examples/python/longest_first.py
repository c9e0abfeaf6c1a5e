"""A policy in Python, played by the simulator beside those that come with Gangway; prints a table."""

import gangway


class LongestFirst(gangway.OwnershipPolicy):
    """The longest job first."""

    def choose(self, now, waiting):
        return max(range(len(waiting)), key=lambda i: sum(kernel.declared for kernel in waiting[i].kernels))


experiment = gangway.Experiment('frs/fig4')
experiment['policies'], experiment['published'] = ['longest-first', 'sjf', 'fcfs'], []
result = experiment.run()
print(result.summary[['policy', 'antt', 'stp', 'evictions']].to_string(index=False))
