"""The page that `gangway report` makes, also as a browser sees it."""

import csv
import html
import html.parser
import os
import re
import shutil
import subprocess
import tempfile
import unittest
import warnings
from pathlib import Path

import gangway

PROGRAM = os.environ['GANGWAY']
ROOT = Path(__file__).resolve().parents[2]
BROWSER = shutil.which('chromium') or shutil.which('google-chrome')


# First come, first served finishes a at 10 ms and b at 20 ms; in turns both take about 20 ms.
TWO = """kind: experiment
version: 1
name: two
workload:
  kind: workload
  version: 1
  name: two
  clients:
    - {name: a, kernels: [{name: k, block_tasks: 100, time: 10 ms}]}
    - {name: b, kernels: [{name: k, block_tasks: 100, time: 10 ms}]}
device: {kind: device, version: 1, name: plain, layout: pool, m: 4096}
mechanism: ideal
policies: [fcfs, {name: rr, params: {quantum: 1 ms}}]
"""


def rows_of(text):
    """The cells of all tables of a page."""
    rows = [re.findall(r'<t[hd][^>]*>(.*?)</t[hd]>', row, re.S) for row in re.findall(r'<tr[^>]*>(.*?)</tr>', text, re.S)]
    return [[re.sub('<[^>]*>', '', cell).strip() for cell in row] for row in rows]


class Structure(html.parser.HTMLParser):
    """What a page is made of, and whether it is nested as it must be."""

    EMPTY = {'meta', 'img', 'br', 'link', 'path', 'use', 'rect'}

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.wrong, self.ids, self.headings = [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append((tag, attrs))
        if 'id' in attrs:
            self.ids.append(attrs['id'])
        if re.fullmatch('h[1-6]', tag):
            self.headings.append(int(tag[1]))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.EMPTY:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag in self.EMPTY:
            return
        if not self.open or self.open[-1] != tag:
            self.wrong.append(tag)
        else:
            self.open.pop()


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        for name, file, more in (('a', 'frs/fig4', ['--trace']), ('b', 'frs/fig4', ['--seed', '2']),
                                 ('services', 'colocation/load', ['--set', 'horizon=500 ms'])):
            subprocess.run([PROGRAM, 'run', file, '--out', cls.folder / name, *more], check=True, capture_output=True, cwd=ROOT)

    def report(self, *names, code=0):
        out = self.folder / f'{"-".join(names)}.html'
        made = subprocess.run([PROGRAM, 'report', *(self.folder / name for name in names), '--out', out], capture_output=True, text=True)
        self.assertEqual(made.returncode, code, made.stderr)
        return (out.read_text(encoding='utf-8'), out) if code == 0 else made.stderr

    def check(self, text):
        structure = Structure(text)
        self.assertEqual(structure.wrong, [])
        self.assertEqual(structure.open, [])
        self.assertEqual(len(structure.ids), len(set(structure.ids)))
        self.assertEqual(structure.headings[0], 1)
        self.assertTrue(all(b <= a + 1 for a, b in zip(structure.headings, structure.headings[1:])), structure.headings)
        self.assertIn(('html', {'lang': 'en'}), structure.tags)
        for tag, attrs in structure.tags:
            self.assertFalse(attrs.get('src', 'data:').startswith('http'), 'it needs nothing else')
            if tag == 'img':
                self.assertTrue(attrs.get('alt'))
            if tag == 'svg':
                self.assertTrue(attrs.get('aria-label'))
        self.assertLess(len(text.encode()), 3_000_000)
        self.assertNotIn('http-equiv', text)
        return structure

    def test_a_result(self):
        text, _ = self.report('a')
        structure = self.check(text)
        self.assertGreaterEqual(sum(tag == 'table' for tag, _ in structure.tags), 3)
        self.assertGreaterEqual(sum(tag in ('svg', 'img') for tag, _ in structure.tags), 2)
        self.assertIn('gangway run', text)
        self.assertIn('Open point-0-frs', text)
        self.assertIn('14 pass', text)

    def test_two_simulations(self):
        text, _ = self.report('a', 'b')
        self.check(text)
        self.assertNotIn('redicted', text)
        told = gangway.compare(self.folder / 'a', self.folder / 'b').differences
        rows = re.search(r'<caption>Differences</caption>.*?<tbody>(.*?)</tbody>', text, re.DOTALL)[1].split('</tr>')[:-1]
        self.assertEqual(len(rows), len(told.rows))
        ordered = told.rows.sort_values('finding', key=lambda finding: finding == 'equal', kind='stable')
        for row, (_, known) in zip(rows, ordered.iterrows()):
            cells = [html.unescape(cell) for cell in re.findall(r'<td[^>]*>(.*?)</td>', row)]
            self.assertEqual(cells[0], known.policy)
            factor = 1e-6 if '(ms)' in cells[1] else 1
            self.assertEqual(cells[2:4], [f'{value * factor:.4g}' if value == value else '-' for value in (known.a_mean, known.b_mean)])
            self.assertEqual(cells[-2:], [known.finding, known.words])
        for sentence in told.conclusions:
            self.assertIn(html.escape(sentence), text.replace('&#39;', '&#x27;'))

    def test_a_prediction_and_a_measurement(self):
        shutil.copytree(self.folder / 'b', self.folder / 'measured', dirs_exist_ok=True)
        manifest = self.folder / 'measured/manifest.json'
        manifest.write_text(manifest.read_text().replace('"world": "sim"', '"world": "cuda"'))
        text, _ = self.report('a', 'measured')
        self.check(text)
        self.assertIn('Predicted and measured', text)
        rows = rows_of(text)
        self.assertIn(['policy', 'metric', 'predicted', 'measured', 'error'], rows)
        antt = {}
        for name in 'ab':
            with open(self.folder / name / 'summary.csv', encoding='utf-8', newline='') as file:
                antt[name] = {row['policy']: float(row['antt']) for row in csv.DictReader(file)}
        for policy, one in antt['a'].items():
            two = antt['b'][policy]
            self.assertIn([policy, 'ANTT', f'{one:.3f}', f'{two:.3f}', f'{100 * (one - two) / two:+.1f} %'], rows)

    def run_two(self, out, world='sim', code=0, name='two', text=TWO, **changes):
        file = self.folder / 'two.yaml'
        file.write_text(text.replace('name: two\nwork', f'name: {name}\nwork'))
        made = subprocess.run([PROGRAM, 'run', file, '--out', self.folder / out, *(f'--set={path}={value}' for path, value in changes.items())],
                              capture_output=True, text=True)
        self.assertEqual(made.returncode, code, made.stderr)
        manifest = self.folder / out / 'manifest.json'
        manifest.write_text(manifest.read_text().replace('"world": "sim"', f'"world": "{world}"'))

    def test_a_policy_that_failed_and_a_client_that_starved(self):
        self.run_two('short', 'cuda', code=1, horizon='15 ms')
        text, _ = self.report('short')
        rows = rows_of(text)
        self.assertIn(['rr', 'failed', 'failed', 'failed', '', '', 'no job finished'], rows)
        self.assertIn(['fcfs', 'starved', 'starved', 'starved', '1', 'b', ''], rows)
        self.run_two('long')
        text, _ = self.report('long', 'short')
        self.check(text)
        self.assertIn(['fcfs', 'ANTT', '1.500', 'starved', '-'], rows_of(text))
        self.assertIn(['rr', 'STP', '1.026', 'failed', '-'], rows_of(text))

    def test_bounds_have_no_error(self):
        repeated = {f'workload.clients.{client}.repeat': '{jobs: 4, period: 11 ms}' for client in 'ab'}
        self.run_two('all-finished', **repeated)
        self.run_two('cut-off', 'cuda', horizon='45 ms', **repeated)
        self.run_two('measured-whole', 'cuda', **repeated)
        text, _ = self.report('all-finished', 'cut-off')
        rows = rows_of(text)
        for metric, sign in (('ANTT', '≥'), ('DNTT', '~'), ('STP', '≤')):
            cells = next(row for row in rows if row[:2] == ['fcfs', metric])
            self.assertTrue(cells[3].startswith(f'{sign} ') and not cells[2].startswith(sign), cells)
            self.assertEqual(cells[4], '-')
        self.assertRegex(text, 'data-key="[0-9.]+">~')  # sorted as numbers
        rows = rows_of(self.report('all-finished', 'measured-whole')[0])
        self.assertEqual(next(row for row in rows if row[:2] == ['fcfs', 'ANTT'])[4], '+0.0 %')

    def test_a_table_that_is_not_as_it_was_written(self):
        self.run_two('plain')
        self.assertNotIn('as it was written', self.report('plain')[0])
        shutil.copytree(self.folder / 'plain', self.folder / 'edited')
        table = self.folder / 'edited/summary.csv'
        table.write_text(table.read_text().replace('1.5', '1.4'))
        note = f'{table} is not as it was written (manifest.json)'
        for names in (['edited'], ['plain', 'edited']):
            out = self.folder / 'noted.html'
            made = subprocess.run([PROGRAM, 'report', *(self.folder / name for name in names), '--out', out], capture_output=True, text=True)
            self.assertEqual((made.returncode, made.stderr), (0, f'note: {note}\n'))
            self.assertEqual(out.read_text(encoding='utf-8').count(f'Note: {note}.'), 1)
        with self.assertWarns(UserWarning) as caught:
            gangway.read(self.folder / 'edited').summary
        self.assertEqual((str(caught.warning), caught.filename), (note, __file__))
        with self.assertWarns(UserWarning) as caught:
            gangway.compare(self.folder / 'plain', gangway.read(self.folder / 'edited'))
        self.assertEqual((str(caught.warning), caught.filename), (note, __file__))
        with warnings.catch_warnings():
            warnings.simplefilter('error')
            gangway.read(self.folder / 'edited').jobs
            gangway.read(self.folder / 'plain').summary

    def test_all_times_are_in_ms(self):
        self.run_two('times')
        rows = rows_of(self.report('times')[0])
        head = next(row for row in rows if 'standalone (ms)' in row)
        fcfs = dict(zip(head, next(row for row in rows if row[:2] == ['0', 'fcfs'] and 'b' in row)))
        self.assertEqual([fcfs[name] for name in ('standalone (ms)', 'response mean (ms)', 'response p99 (ms)', 'waiting mean (ms)')],
                         ['10', '20', '20', '10'])
        self.assertFalse([name for name in head if re.search(r'\bns\b', name)])

    def test_two_experiments_stand_beside_each_other_without_a_comparison(self):
        self.run_two('one')
        self.run_two('other', name='other')
        text, _ = self.report('one', 'other')
        self.check(text)
        self.assertNotIn('A and B', text)
        self.assertEqual(text.count('standalone (ms)'), 2)

    def test_two_definitions_are_not_compared(self):
        self.run_two('population')
        self.run_two('sample', sigma='sample')
        text, _ = self.report('population', 'sample')
        self.check(text)
        self.assertNotIn('A and B', text)
        self.assertIn("key 'configuration.sigma': found 'sample', expected 'population'", html.unescape(text))

    def test_names_and_swept_values_stand_as_they_are(self):
        text = TWO.replace('name: a,', 'name: "007",').replace('name: rr,', 'name: rr, label: "1e3",') + 'sweep: {seed: [123456789012345678, 7]}\n'
        self.run_two('numbers', text=text)
        rows = rows_of(self.report('numbers')[0])
        self.assertIn(['1e3', '007'], [row[:2] for row in rows if row[0] == '1e3'] + [row[1:4:2] for row in rows if row[:1] == ['0']])
        self.assertIn('123456789012345678', [row[2] for row in rows if row[1:2] == ['1e3']])

    def test_what_one_of_two_results_lacks(self):
        self.run_two('all-there')
        self.run_two('some-there', policies='[fcfs]', clients='[a]')
        self.run_two('some-measured', 'cuda', policies='[fcfs]', clients='[a]')
        for other, name in (('some-there', 'A'), ('some-measured', 'the prediction')):
            text, _ = self.report('all-there', other)
            self.check(text)
            self.assertIn(f'Note: only {name} has results of rr.', text)
            self.assertIn(f'Note: only {name} has b under fcfs; what is averaged or summed over clients is of other clients there.', text)
        self.assertNotIn('Note: only', self.report('a', 'b')[0])

    def test_services(self):
        text, _ = self.report('services')
        self.check(text)
        self.assertIn('p99 in ms', text)

    def test_a_study(self):
        subprocess.run([PROGRAM, 'run', 'bounds/schedulability', '--set', 'sets=5', '--out', self.folder / 'study'], check=True,
                       capture_output=True, cwd=ROOT)
        text, _ = self.report('study')
        self.check(text)
        self.assertIn('<table', text)

    def test_the_same_bytes_again(self):
        self.assertEqual(self.report('a')[0], self.report('a')[0])

    def test_wrong_input(self):
        (self.folder / 'empty').mkdir(exist_ok=True)
        for name in ('empty', 'nowhere'):
            errors = self.report(name, code=2)
            self.assertEqual(len(errors.splitlines()), 1, errors)
            self.assertFalse((self.folder / f'{name}.html').exists())

    @unittest.skipUnless(BROWSER, 'there is no browser')
    def test_in_a_browser(self):
        """No errors on the console; a click on a heading sorts, numbers as numbers."""
        text, page = self.report('a', 'b')
        script = """<script>
        const head = [...document.querySelectorAll('#table-1-1 th')].find(th => th.textContent.trim() === 'ANTT');
        const values = () => [...document.querySelectorAll('#table-1-1 tbody tr')].map(tr => parseFloat(tr.cells[head.cellIndex].textContent));
        head.querySelector('button').click(); const up = values();
        head.querySelector('button').click(); const down = values();
        const sorted = [...up].sort((a, b) => a - b);
        document.title = 'checked ' + (JSON.stringify(up) === JSON.stringify(sorted) && JSON.stringify(down) === JSON.stringify(sorted.reverse()));
        </script></body>"""
        checked = page.with_name('checked.html')
        checked.write_text(text.replace('</body>', script), encoding='utf-8')
        seen = subprocess.run([BROWSER, '--headless=new', '--no-sandbox', '--disable-gpu', f'--user-data-dir={self.folder}/browser',
                               '--enable-logging=stderr', '--dump-dom', f'file://{checked}'], capture_output=True, text=True, timeout=120)
        self.assertIn('<title>checked true</title>', seen.stdout)
        self.assertEqual([line for line in seen.stderr.splitlines() if 'CONSOLE' in line], [])


if __name__ == '__main__':
    unittest.main()
