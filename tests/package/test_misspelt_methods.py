"""Methods of Python policies that nobody calls, because their names are misspelt."""

import unittest
import warnings
from pathlib import Path

import gangway


class Misspelt(unittest.TestCase):
    def test_a_misspelt_method_is_pointed_out(self):
        with self.assertWarnsRegex(UserWarning, r'Misspelt\.decides\(\): Gangway calls no such method; is decide\(\) meant\?') as caught:
            class Misspelt(gangway.Policy):
                def decides(self, now, view, orders):
                    pass
        self.assertEqual(Path(caught.filename).name, 'test_misspelt_methods.py')
        with self.assertWarnsRegex(UserWarning, r'is urgency\(\) meant') as caught:
            class Urgent(gangway.OwnershipPolicy):
                def choose(self, now, waiting):
                    return 0

                def urgencey(self, job):
                    return 1
        self.assertEqual(Path(caught.filename).name, 'test_misspelt_methods.py')
        with warnings.catch_warnings():
            warnings.simplefilter('error')

            class Fine(gangway.OwnershipPolicy):
                def choose(self, now, waiting):
                    return self.chosen(waiting)

                def chosen(self, waiting):
                    return 0


if __name__ == '__main__':
    unittest.main()
