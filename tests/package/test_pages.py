"""What the pages show of Python is run."""

import re
import unittest
from pathlib import Path

import matplotlib

import gangway

matplotlib.use('Agg')
ROOT = Path(__file__).resolve().parents[2]


class Pages(unittest.TestCase):
    def test_examples(self):
        for page in ('manual/how-to.md', 'analysis/README.md'):
            blocks = [block for block in re.findall(r'```python\n(.*?)```', (ROOT / page).read_text(encoding='utf-8'), re.DOTALL)
                      if 'Client(' not in block]  # a cluster is needed for that
            self.assertGreaterEqual(len(blocks), 1, page)
            names = {}
            for block in blocks:
                exec(compile('import gangway\n' + block, page, 'exec'), names)
            experiment = names['experiment'].copy()
            experiment['policies'], experiment['published'], experiment['replications'] = ['longest-first', 'sjf'], [], 1
            self.assertEqual(set(experiment.run().summary.policy), {'longest-first', 'sjf'}, page)

    def test_what_the_package_offers_is_there(self):
        for name in gangway.__all__:
            self.assertIsNotNone(getattr(gangway, name), name)
        with self.assertRaises(AttributeError):
            gangway.nonsense


if __name__ == '__main__':
    unittest.main()
