"""The notebooks of examples/ run, and hold no results of some other run."""

import importlib.util
import os
import unittest
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / 'examples' / 'notebooks'


@unittest.skipUnless(importlib.util.find_spec('nbclient') and importlib.util.find_spec('ipykernel'), 'there is no nbclient with a kernel')
class Notebooks(unittest.TestCase):
    def test_each(self):
        import nbformat
        from nbclient import NotebookClient
        notebooks = sorted(FOLDER.glob('*.ipynb'))
        self.assertTrue(notebooks)
        for file in notebooks:
            notebook = nbformat.read(file, as_version=4)
            nbformat.validate(notebook)
            for cell in notebook.cells:
                self.assertFalse(cell.get('outputs'), file)
            NotebookClient(notebook, timeout=120, resources={'metadata': {'path': str(FOLDER)}}).execute()
            shown = [output for cell in notebook.cells for output in cell.get('outputs', [])]
            self.assertTrue(any('image/png' in output.get('data', {}) for output in shown), 'figures are shown')
            self.assertTrue(any('text/html' in output.get('data', {}) for output in shown), 'tables are shown')
            self.assertEqual([output for output in shown if output.output_type == 'error'], [])
            self.assertEqual(sum('image/png' in output.get('data', {}) for output in shown),
                             sum(cell.cell_type == 'code' and cell.source.startswith('figures.') for cell in notebook.cells), 'each figure once')


if __name__ == '__main__':
    os.environ.setdefault('PYTHONWARNINGS', 'ignore')
    unittest.main()
