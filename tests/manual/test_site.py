"""The site is built strictly, has every page, and a reference of all that the program has."""

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import pages

sys.path.insert(0, str(pages.ROOT / 'manual'))
import make_site  # noqa: E402
import matrix  # noqa: E402
import reference  # noqa: E402

VENV = pages.ROOT / 'build/venv/bin/python'
PYTHON = sys.executable if importlib.util.find_spec('material') else str(VENV) if (VENV.parent / 'mkdocs').exists() else None


class Site(unittest.TestCase):
    def build(self, folder):
        return subprocess.run([PYTHON, pages.ROOT / 'manual/make_site.py', '--out', folder], capture_output=True, text=True, timeout=300)

    @unittest.skipUnless(PYTHON, 'mkdocs is missing: ./dev test installs it')
    def test_it_is_built_strictly_with_every_page(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.build(folder)
            self.assertEqual((done.returncode, done.stderr), (0, ''))
            for name in pages.names():
                html = Path(folder) / 'site' / re.sub(r'(README)?\.md$', lambda found: 'index.html' if found[1] else '.html', name)
                self.assertTrue(html.is_file(), html)
            front = (Path(folder) / 'site/index.html').read_text(encoding='utf-8')
            self.assertIn('href="manual/how-to.html"', front)
            self.assertNotIn('http', re.search(r'<head>.*?</head>', front, re.DOTALL)[0])  # it needs nothing from elsewhere
            self.assertGreaterEqual(front.count('<table>'), 3)
            self.assertIn('src="iframe-worker.js"', front)  # the search of a site that is opened as files
            self.assertNotIn('unpkg', front)
            for question in ('which-policy-for-inference-beside-training', 'how-do-i-add-a-policy', 'how-do-i-record-my-program',
                             'can-my-kernels-be-preempted', 'how-do-i-trust-a-prediction'):
                self.assertIn(f'href="manual/how-to.html#{question}"', front)
            bounds = (Path(folder) / 'site/models/bounds/index.html').read_text(encoding='utf-8')
            self.assertIn('<em>If U &lt;= M*, T_i', bounds)
            self.assertNotIn('.* ', bounds.replace('M*.* ', ''))  # no emphasis is left open
            commands = (Path(folder) / 'site/reference/commands.html').read_text(encoding='utf-8')
            for command in reference.commands():
                self.assertIn(f'gangway {command}', commands)

    def test_no_title_names_two_pages_of_the_navigation(self):
        with tempfile.TemporaryDirectory() as folder:
            make_site.assemble(Path(folder))
            titles = [make_site.title(Path(folder) / 'pages', name) for name in re.findall(r': (\S+\.md)$', (
                Path(folder) / 'mkdocs.yml').read_text(encoding='utf-8'), re.MULTILINE)]
            self.assertGreater(len(titles), 50)
            self.assertEqual(len(titles), len(set(titles)), sorted(titles))

    def test_code_in_cells_breaks_after_commas_and_slashes_only(self):
        sys.path.insert(0, str(make_site.LOOK))
        import hooks
        self.assertEqual(hooks.on_page_content('<td><code>a,b/c_d, e</code></td><p><code>a,b</code></p>'),
                         '<td><code>a,<wbr>b/<wbr>c_d, e</code></td><p><code>a,b</code></p>')

    @unittest.skipUnless(PYTHON, 'mkdocs is missing: ./dev test installs it')
    def test_a_broken_link_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            make_site.assemble(Path(folder))
            page = Path(folder) / 'pages/manual/tutorial.md'
            for link in ('[a](nowhere.md)', '[a](glossary.md#nowhere)'):
                before = page.read_text(encoding='utf-8')
                page.write_text(f'{before}\n{link}\n', encoding='utf-8')
                done = subprocess.run([PYTHON, '-m', 'mkdocs', 'build', '--strict', '--config-file', f'{folder}/mkdocs.yml'],
                                      capture_output=True, text=True, env=dict(os.environ, NO_MKDOCS_2_WARNING='1'))
                page.write_text(before, encoding='utf-8')
                self.assertNotEqual(done.returncode, 0, link)
                self.assertIn('nowhere', done.stderr)


class Reference(unittest.TestCase):
    def test_policies_have_their_parameters(self):
        text = reference.kind_page('policies')
        self.assertIn('## `frs`', text)
        self.assertIn('| `quantum` | 1 ms |', text)

    def test_every_kind_has_a_page(self):
        for kind in reference.kinds():
            self.assertIn('## `', reference.kind_page(kind), kind)

    def test_a_star_is_no_emphasis(self):
        self.assertIn('M\\*', reference.kind_page('bounds'))
        self.assertEqual(reference._plain('a * `b*`'), 'a \\* `b*`')

    def test_no_path_of_this_machine_is_shown(self):
        for kind in reference.kinds():
            self.assertNotIn(str(pages.ROOT), reference.kind_page(kind), kind)

    def test_the_python_package_is_there(self):
        text = reference.python_page()
        for name in ('Experiment', 'Result', 'compare', 'OwnershipPolicy', 'sweep', 'policies'):
            self.assertRegex(text, rf'## `{name}\b')
        self.assertIn('```python\nclass Mine(gangway.Policy):', text)


class Matrix(unittest.TestCase):
    def test_the_front_page_has_what_the_program_does(self):
        text = pages.read('README.md')
        self.assertEqual(text.partition(matrix.BEGIN)[2].partition(matrix.END)[0], matrix.table())

    def test_only_what_is_missing_here_is_no_refusal(self):
        self.assertIsNone(matrix.refused('error: no CUDA device: none\n'))
        self.assertEqual(matrix.refused("error: --world live: key 'policies.ideal': found a policy that needs ranges\n"), 'ideal')
        with self.assertRaises(RuntimeError):
            matrix.refused('error: something else\n')


if __name__ == '__main__':
    unittest.main()
