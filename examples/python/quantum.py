"""A sweep: what round-robin's quantum does to turnaround time, and how much of that is chance. Draws it into the folder given."""

import sys
from pathlib import Path

import matplotlib

import gangway
from gangway import figures

matplotlib.use('Agg')
experiment = gangway.Experiment('frs/fig4')
experiment['published'] = []
experiment['replications'] = 5
experiment['policies'] = [{'name': 'rr', 'params': {'quantum': '1 ms'}}, 'sjf']
experiment['sweep'] = {'policies.rr.params.quantum': ['0.25 ms', '1 ms', '4 ms']}
result = experiment.run()
print(result.summary[['policies.rr.params.quantum', 'policy', 'antt', 'antt_ci95']].to_string(index=False))
if len(sys.argv) > 1:
    figures.sweep(result).savefig(Path(sys.argv[1]) / 'quantum.png')
