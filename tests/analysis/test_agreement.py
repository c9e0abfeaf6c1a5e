"""The comparisons, calibrations and reports of synthetic folders."""
import json
import unittest

from in_a_folder import InAFolder, finish, start  # (which adds the path of the modules below)
from gangway import metrics, page
from gangway.drawing import agreement
from gangway.drawing.commands import calibration
from gangway.drawing.commands import compare
from gangway.drawing import costs
from gangway.drawing import printed_bars
from gangway.drawing import readings
from gangway.drawing.commands import report
from gangway.drawing import results
from gangway.notes import notes_on
import synthetic

GAP = 'workload.arrivals.gap'


class Comparisons(InAFolder):
    def setUp(self):
        super().setUp()
        self.sides = [self.folder / 'predicted', self.folder / 'measured']
        for side, factors, world in zip(self.sides, ((1.1, 0.9, 1), (1, 1, 1)), ('sim', 'cuda')):
            synthetic.write_bars(side)
            synthetic.write_jobs(side, factors, world, left_out={('RED', 2)} if world == 'cuda' else ())

    def pair(self):
        return agreement.read_pair(*self.sides)

    def test_every_figure_the_same_bytes_when_drawn_again(self):
        for side, quantum in zip(self.sides, (1.0, 1.3)):
            synthetic.write_trace(side, 'rr', quantum)
            synthetic.write_trace(side, 'frs', quantum, permutation=round(quantum))  # of both sides the same run
        synthetic.write_trace(self.sides[0], 'sjf')
        self.check_drawn_alike(
            ('compare.py', *self.sides),
            [f'compare-{name}.{suffix}' for name in ('jobs', 'errors', 'metrics', 'printed', 'clients', 'gantt-rr', 'gantt-frs')
             for suffix in ('png', 'pdf')])

    def test_what_is_printed_stands_beside_prediction_and_measurement(self):
        pair = self.pair()
        sides = printed_bars.values(pair, 'antt')
        self.assertEqual({policy: value.mean for policy, value in sides['printed'].items()},
                         {policy: row[0] for policy, row in synthetic.PUBLISHED.items()})
        for side, (found, word) in enumerate(((pair.predicted, 'predicted'), (pair.measured, 'measured'))):
            self.assertEqual(sides[word], {row.policy: row.metrics['antt'] for row in found.summary}, side)
        figure = printed_bars.draw_metrics(pair)
        self.assertEqual([text.get_text() for text in figure.legends[0].get_texts()],
                         ['printed', 'predicted', 'measured', '95 % interval over 20 replications'])
        heights = sorted(round(bar.get_height(), 9) for bar in figure.axes[2].patches)
        expected = [row[2] for row in synthetic.PUBLISHED.values()] + [row.metrics['stp'].mean for found in (pair.predicted, pair.measured)
                                                                       for row in found.summary]
        self.assertEqual(heights, sorted(round(value, 9) for value in expected))

    def test_clients_have_a_panel_for_each_policy_and_two_bars_each(self):
        pair = self.pair()
        panels = [axes for axes in printed_bars.draw_clients(pair).axes if axes.get_visible()]
        self.assertEqual([axes.get_title() for axes in panels], ['sjf', 'srt', 'rr', 'cfs', 'frs'])
        self.assertEqual([label.get_text() for label in panels[0].get_xticklabels()], list(synthetic.CLIENTS))  # the longest first
        self.assertEqual({len(axes.patches) for axes in panels}, {2 * len(synthetic.CLIENTS)})

    def test_the_legend_says_what_intervals_are(self):
        def legends():
            pair = self.pair()
            figures = [*agreement.draw_metrics(pair), printed_bars.draw_metrics(pair), printed_bars.draw_clients(pair)]
            return [[text.get_text() for text in figure.legends[0].get_texts() if 'interval' in text.get_text()] for figure in figures]
        self.assertEqual(legends(), 3 * [['95 % interval over 20 replications']])
        manifest = json.loads((self.sides[1] / 'manifest.json').read_text())
        manifest['configuration']['replications'] = 2
        (self.sides[1] / 'manifest.json').write_text(json.dumps(manifest))
        self.assertEqual(legends(), 3 * [['95 % interval over 20 (predicted) and 2 (measured) replications']])
        for side in self.sides:
            for file in ('summary.csv', 'clients.csv'):
                head, *rows = [line.split(',') for line in (side / file).read_text().splitlines()]
                rows = [['' if name.endswith('_ci95') else cell for name, cell in zip(head, row)] for row in rows]
                (side / file).write_text('\n'.join(map(','.join, [head, *rows])) + '\n')
        self.assertEqual(legends(), 3 * [[]])

    def test_no_interval_reaches_below_0(self):
        for side in self.sides:
            self.change(side, 'rr', dntt=1, dntt_ci95=3)
        for figure in (*agreement.draw_metrics(self.pair()), printed_bars.draw_metrics(self.pair())):
            ends = [end for part in figure.axes[1].collections for segment in part.get_segments() for end in segment[:, 1]]
            self.assertEqual((min(ends), max(ends)), (0, 4))

    def test_jobs_are_matched_and_unfinished_ones_left_out(self):
        jobs = self.pair().jobs
        self.assertEqual({policy: len(own) for policy, own in jobs.items()}, dict.fromkeys(synthetic.PUBLISHED, 26))
        found = agreement.errors(jobs['rr'])
        for index, error in ((0, -10), (8, -10), (9, 0), (16, 0), (17, 10), (25, 10)):
            self.assertAlmostEqual(found[index], error)

    def test_a_panel_for_each_policy_with_the_same_limits(self):
        panels = [axes for axes in agreement.draw_jobs(self.pair()).axes if axes.get_visible()]
        self.assertEqual([axes.get_title() for axes in panels],
                         [f'{policy} (26 of 27 jobs)' for policy in ('sjf', 'srt', 'rr', 'cfs', 'frs')])
        self.assertEqual(len({(axes.get_xlim(), axes.get_ylim()) for axes in panels}), 1)
        self.assertEqual([panels[0].get_ylabel(), panels[-1].get_xlabel()],
                         ['NTT predicted (sim)', 'NTT measured (cuda)'])

    def test_a_log_axis_where_small_values_would_be_crowded(self):
        self.assertEqual(agreement.draw_jobs(self.pair()).axes[0].get_xscale(), 'linear')
        synthetic.write_jobs(self.sides[0], (20, 1, 1))
        self.assertEqual(agreement.draw_jobs(self.pair()).axes[0].get_xscale(), 'log')

    def test_the_legend_tells_medians_and_the_axis_what_lies_beyond(self):
        figure = agreement.draw_errors(self.pair())
        self.assertIn('rr (+0.0 % of the 26 jobs in both)', [text.get_text() for text in figure.legends[0].get_texts()])
        self.assertIn('(in brackets: median of signed errors)', [text.get_text() for text in figure.legends[0].get_texts()])
        self.assertEqual(agreement._window([[0.0] * 999 + [1000.0]])[2], 0.001)
        self.assertNotIn('beyond', figure.axes[1].get_xlabel())

    def test_a_job_that_finished_in_one_only_counts_and_has_no_error(self):
        synthetic.write_jobs(self.sides[0], (1.1, 0.9, 1), 'sim', {('VA', 0), ('RED', 2), ('BS', 0), ('BS', 1)})
        for side in self.sides:
            for policy in synthetic.PUBLISHED:
                self.change(side, policy, unfinished=4)
        pair = self.pair()
        self.assertEqual([(len(pair.jobs[policy]), pair.in_one[policy], pair.in_none[policy]) for policy in pair.policies()], [(23, 3, 1)] * 5)
        figure = agreement.draw_errors(pair)
        ends = [line.get_ydata()[-1] for line in figure.axes[0].lines if len(line.get_ydata()) > 2]
        self.assertEqual(ends, [23 / 26] * 5)
        self.assertIn('\n15 jobs finished in one of the two only, 5 in neither', figure.axes[1].get_xlabel())
        self.assertIn('rr (+0.0 % of the 23 jobs in both)', [text.get_text() for text in figure.legends[0].get_texts()])
        figure = agreement.draw_jobs(pair)
        self.assertEqual(figure.axes[0].get_title(), 'sjf (23 of 27 jobs)')
        self.assertIn('a job that finished in both', [text.get_text() for text in figure.legends[0].get_texts()])

    def test_a_policy_none_of_whose_jobs_finished_in_both_has_a_line_at_0(self):
        text = (self.sides[0] / 'jobs.csv').read_text().splitlines()
        (self.sides[0] / 'jobs.csv').write_text('\n'.join(line[:line.rindex(',') + 1] if ',rr,' in line else line for line in text) + '\n')
        self.change(self.sides[0], 'rr', unfinished=27)
        self.change(self.sides[1], 'rr', unfinished=1)
        pair = self.pair()
        figure = agreement.draw_errors(pair)
        self.assertEqual((pair.policies()[2], pair.in_one['rr'], pair.in_none['rr']), ('rr', 26, 1))
        lines = [line for line in figure.axes[0].lines if len(line.get_ydata()) > 1 and line.get_color() == pair.looks['rr'].colour]
        self.assertEqual([list(line.get_ydata()) for line in lines], [[0, 0]])
        self.assertIn('rr (no job finished in both)', [text.get_text() for text in figure.legends[0].get_texts()])

    def test_errors_stand_above_the_bars(self):
        text = (self.sides[0] / 'summary.csv').read_text().splitlines()
        cells = text[1].split(',')
        self.assertEqual(cells[1], 'cfs')
        cells[2] = str(float(cells[2]) * 0.8)
        (self.sides[0] / 'summary.csv').write_text('\n'.join([text[0], ','.join(cells), *text[2:]]) + '\n')
        page, = agreement.draw_metrics(self.pair())
        self.assertEqual([text.get_text() for text in page.axes[0].texts], ['+0.0', '+0.0', '+0.0', '−20.0', '+0.0'])

    def change(self, side, policy, **cells):
        """What a row of the side's summary.csv has in these columns."""
        head, *rows = [line.split(',') for line in (side / 'summary.csv').read_text().splitlines()]
        head += [name for name in cells if name not in head]
        for row in rows:
            row += [''] * (len(head) - len(row))
            for name, cell in cells.items() if row[1] == policy else ():
                row[head.index(name)] = str(cell)
        (side / 'summary.csv').write_text('\n'.join(map(','.join, [head, *rows])) + '\n')

    def test_policies_far_apart_are_points_on_a_logarithmic_axis(self):
        for side in self.sides:
            self.change(side, 'cfs', antt=500, dntt=0)
        page, = agreement.draw_metrics(self.pair())
        antt, dntt, stp = page.axes
        self.assertEqual([axes.get_yscale() for axes in page.axes], ['log', 'linear', 'linear'])
        self.assertEqual([len(axes.patches) for axes in page.axes], [0] * 3)
        means = sorted(round(value, 6) for line in antt.lines if line.get_marker() != '_' for value in line.get_ydata())
        self.assertEqual(means, sorted(round(row.metrics['antt'].mean, 6) for both in self.pair().rows for row in both))
        self.assertEqual([text.get_text() for text in page.legends[0].get_texts()][:2], ['predicted (sim)', 'measured (cuda)'])
        self.change(self.sides[0], 'sjf', dntt=0.001)
        dntt = agreement.draw_metrics(self.pair())[0].axes[1]
        self.assertEqual((dntt.get_yscale(), dntt.get_ylim()[0]), ('symlog', 0))
        page = printed_bars.draw_metrics(self.pair())
        self.assertEqual([axes.get_yscale() for axes in page.axes], ['log', 'symlog', 'linear'])
        self.assertEqual([len(axes.patches) for axes in page.axes], [0] * 3)

    def test_panels_of_clients_share_a_logarithmic_scale(self):
        for side in self.sides:
            text = (side / 'clients.csv').read_text().splitlines()
            cells = text[1].split(',')
            cells[text[0].split(',').index('ntt')] = '400'
            (side / 'clients.csv').write_text('\n'.join([text[0], ','.join(cells), *text[2:]]) + '\n')
        panels = [axes for axes in printed_bars.draw_clients(self.pair()).axes if axes.get_visible()]
        self.assertEqual({(axes.get_yscale(), len(axes.patches)) for axes in panels}, {('log', 0)})
        self.assertEqual(len({axes.get_ylim() for axes in panels}), 1)

    def test_bounds_are_marked_and_have_no_error(self):
        self.change(self.sides[1], 'cfs', understated='VA')
        page, = agreement.draw_metrics(self.pair())
        self.assertEqual([len(axes.texts) for axes in page.axes], [4] * 3)
        self.assertEqual([text.get_text() for text in page.legends[0].get_texts()][-3:],
                         ['at least: unfinished jobs', 'at most: unfinished jobs', 'could be more or less: unfinished jobs'])
        page = printed_bars.draw_metrics(self.pair())
        self.assertIn('at most: unfinished jobs', [text.get_text() for text in page.legends[0].get_texts()])

    def test_who_starves_a_client_has_a_cross(self):
        self.change(self.sides[1], 'cfs', starved='VA', antt='', dntt='', stp='')
        page, = agreement.draw_metrics(self.pair())
        self.assertEqual([[line.get_xdata()[0] for line in axes.lines if line.get_marker() == 'x'] for axes in page.axes], [[3.19]] * 3)
        self.assertIn('starved: a client finished no job', [text.get_text() for text in page.legends[0].get_texts()])
        page = printed_bars.draw_metrics(self.pair())
        self.assertEqual([len([line for line in axes.lines if line.get_marker() == 'x']) for axes in page.axes], [1] * 3)
        self.assertIn('starved: a client finished no job', [text.get_text() for text in page.legends[0].get_texts()])

    def test_of_one_world_errors_are_b_less_a_as_compare_has_them(self):
        self.change(self.sides[0], 'cfs', antt=5)
        self.change(self.sides[1], 'cfs', antt=4)
        manifest = json.loads((self.sides[1] / 'manifest.json').read_text())
        (self.sides[1] / 'manifest.json').write_text(json.dumps({**manifest, 'world': 'sim'}))
        pair = self.pair()
        self.assertEqual(pair.error, '(B − A) / A')
        page, = agreement.draw_metrics(pair)
        self.assertEqual([text.get_text() for text in page.axes[0].texts], ['+0.0', '+0.0', '+0.0', '−20.0', '+0.0'])
        median = [text.get_text() for text in agreement.draw_errors(pair).legends[0].get_texts() if text.get_text().startswith('rr')]
        self.assertEqual(median, ['rr (+0.0 % of the 26 jobs in both)'])
        self.assertIn('(B − A) / A', agreement.draw_errors(pair).axes[1].get_xlabel())

    def test_a_sweep_has_a_row_of_panels_for_each_point_on_pages(self):
        for side in self.sides:
            synthetic.write_sweep(side, **{GAP: ['1 ms', '2 ms', '3 ms', '4 ms', '5 ms']})
        pages = agreement.draw_metrics(self.pair())
        self.assertEqual([len(page.axes) for page in pages], [6, 9])
        self.assertEqual(pages[1].axes[0].get_title('left'), 'arrivals gap 3 ms')

    def refused(self, *expected):
        with self.assertRaises(results.InputError) as caught:
            self.pair()
        for text in expected:
            self.assertIn(text, str(caught.exception))

    def test_what_cannot_be_compared_is_refused(self):
        text = (self.sides[1] / 'jobs.csv').read_text()
        (self.sides[1] / 'jobs.csv').write_text(text.replace(',ntt\n', ',speed\n', 1))
        self.refused("measured/jobs.csv:1: key 'ntt': found no such column")
        (self.sides[1] / 'jobs.csv').write_text(text + '0,rr,0,1,VA,0,-1\n')
        self.refused(f"jobs.csv:{len(text.splitlines()) + 1}: key 'ntt': found '-1', expected a number above 0")
        (self.sides[1] / 'jobs.csv').write_text(text)
        synthetic.write_sweep(self.sides[1], **{GAP: ['1 ms']})
        self.refused('measured/summary.csv:1: found swept', GAP)
        synthetic.write_sweep(self.sides[0], **{GAP: ['2 ms']})
        self.refused("found '1 ms' at point 0, expected '2 ms' as in")
        code, out, errors = finish(start('compare.py', self.sides[0]))
        self.assertEqual((code, out), (2, ''))
        self.assertRegex(errors, r'\Aerror: [^\n]*DIR_B\n\Z')

    def test_metrics_of_another_definition_are_refused(self):
        for key, usual, other in (('sigma', 'population', 'sample'), ('standalone', 'transformed', 'original')):
            manifests = [json.loads((side / 'manifest.json').read_text()) for side in self.sides]
            changed = {**manifests[1], 'configuration': {**manifests[1].get('configuration', {}), 'policies': [], key: other}}
            (self.sides[1] / 'manifest.json').write_text(json.dumps(changed))
            self.refused(f"measured/manifest.json: key 'configuration.{key}': found '{other}', expected '{usual}' as in ")
            (self.sides[1] / 'manifest.json').write_text(json.dumps(manifests[1]))

    def test_another_experiment_is_refused(self):
        for side, name in zip(self.sides, ('fig4', 'fig5')):
            manifest = json.loads((side / 'manifest.json').read_text())
            (side / 'manifest.json').write_text(json.dumps(manifest | {'experiment': name}))
        self.refused("measured/manifest.json: key 'experiment': found 'fig5', expected 'fig4' as in ")

    def test_folders_without_jobs_get_the_metrics(self):
        (self.sides[0] / 'jobs.csv').unlink()
        written = [path.name for path in compare.draw(*self.sides, self.folder / 'out')]
        self.assertEqual(written, [f'compare-{name}.{suffix}' for name in ('metrics', 'printed', 'clients') for suffix in ('png', 'pdf')])


class Calibrations(InAFolder):
    def setUp(self):
        super().setUp()
        synthetic.write_calibration(self.folder)

    def read(self):
        return readings.read(self.folder)

    def test_every_figure_the_same_bytes_when_drawn_again(self):
        self.check_drawn_alike(
            ('calibration.py', self.folder),
            [f'{name}.{suffix}' for name in ('eviction-delay', 'kernels', 'copies', 'polls', 'idle') for suffix in ('png', 'pdf')])

    def test_delays_are_medians_and_beside_them_less_the_longest_block_task(self):
        whole, rest = costs.draw_evictions(self.read()).axes
        medians = [series.lines[0].get_ydata() for series in whole.containers]  # one for each mechanism
        self.assertEqual([round(y, 3) for y in medians[0]], [9.725, 17.725, 32.725])
        beyond = [series.lines[0].get_ydata() for series in rest.containers]
        self.assertEqual([[round(y, 3) for y in series] for series in beyond],
                         2 * [[7.525, 7.525, -17.475]] + [[19.8, 19.8, -5.2], [13.8, 13.8, -11.2]])
        lows, highs = whole.containers[0].lines[1]
        self.assertEqual([round(y, 3) for y in highs.get_ydata()], [10.45, 18.45, 57.617])
        self.assertEqual([round(y, 3) for y in lows.get_ydata()], [9, 17, 7.833])

    def test_the_line_is_the_block_task_and_what_an_eviction_costs_at_the_shortest(self):
        lines = [line for line in costs.draw_evictions(self.read()).axes[0].lines if len(line.get_xdata()) > 5]
        self.assertEqual(len(lines), 2)
        for line in lines:
            for x, y in zip(line.get_xdata(), line.get_ydata()):
                self.assertAlmostEqual(y - x, 7.525)

    def test_the_overhead_stands_above_the_longest_kernel_first(self):
        times, lengths = costs.draw_kernels(self.read()).axes
        self.assertEqual([label.get_text() for label in times.get_xticklabels()], ['VA', 'RED'])
        self.assertEqual([text.get_text() for text in times.texts], ['+2.0 %', '+2.0 %'])
        self.assertEqual(lengths.get_yscale(), 'log')

    def test_the_legend_of_copies_tells_the_fit_and_the_axis_the_sizes(self):
        figure = costs.draw_copies(self.read())
        self.assertIn('host to device: 7.00 µs + size / (50.0 GB/s)',
                      [text.get_text() for text in figure.legends[0].get_texts()])
        self.assertEqual([label.get_text() for label in figure.axes[1].get_xticklabels()],
                         ['4\nKiB', '64\nKiB', '1\nMiB'])

    def test_launches_after_idle_times_are_medians_beside_those_one_after_the_other(self):
        axes, = costs.draw_idle(self.read()).axes
        self.assertEqual([round(x, 3) for x in axes.containers[0].lines[0].get_xdata()], [0.1, 10])
        self.assertEqual([round(y, 3) for y in axes.containers[0].lines[0].get_ydata()], [8, 30])
        line, = (line for line in axes.lines if len(set(line.get_ydata())) == 1 and len(line.get_ydata()) == 2)
        self.assertEqual(line.get_ydata()[0], 6)

    def test_polls_are_medians_with_the_lines_of_the_fits(self):
        figure = costs.draw_polls(self.read())
        for axes, slope, medians in ((figure.axes[0], 1, [1.3, 4, 16, 64, 132, 264, 528, 1056]),
                                     (figure.axes[1], 0.8, [20, 40, 80, 160])):
            self.assertEqual([round(y, 3) for y in axes.containers[0].lines[0].get_ydata()], medians)
            line, = (line for line in axes.lines if len(line.get_xdata()) > 10)
            for x, y in zip(line.get_xdata(), line.get_ydata()):
                self.assertAlmostEqual(y, slope * x)
        self.assertEqual(min(figure.axes[0].lines[-1].get_xdata()), 132)  # fewer blocks than SMs are not in the fit
        self.assertIn('device poll: 0.800 µs each, by the fit',
                      [text.get_text() for text in figure.legends[0].get_texts()])

    def test_what_was_not_measured_is_not_drawn(self):
        lines = (self.folder / 'samples.csv').read_text().splitlines()
        kept = [line for line in lines if not line.startswith(('copy', 'original', 'host poll', 'launch after'))]
        (self.folder / 'samples.csv').write_text('\n'.join(kept) + '\n')
        written = [path.name for path in calibration.draw(self.folder, self.folder / 'out')]
        self.assertEqual(written, ['eviction-delay.png', 'eviction-delay.pdf'])

    def test_one_mechanism_is_enough(self):
        synthetic.write_calibration(self.folder, ['flag-copy'])
        self.assertEqual(len(costs.draw_evictions(self.read()).axes[1].containers), 2)

    def test_every_mechanism_has_a_look_of_its_own(self):
        mechanisms = ['basic', 'flag-copy', 'microkernel', 'proxy', 'proxy-adaptive', 'slice', 'write-value']
        synthetic.write_calibration(self.folder, mechanisms)
        figure = costs.draw_evictions(self.read())
        drawn = {(series.lines[0].get_color(), series.lines[0].get_marker()) for series in figure.axes[0].containers}
        self.assertEqual(len(drawn), len(mechanisms))
        self.assertEqual([text.get_text() for text in figure.legends[0].get_texts()][:7], mechanisms)

    def refused(self, expected):
        with self.assertRaises(results.InputError) as caught:
            self.read()
        self.assertIn(expected, str(caught.exception))

    def test_what_is_no_calibration_is_refused(self):
        samples, about = ((self.folder / name).read_text() for name in ('samples.csv', 'calibration.json'))
        (self.folder / 'samples.csv').write_text(samples + 'eviction,flag-copy,VA,0,soon\n')
        self.refused(f"samples.csv:{len(samples.splitlines()) + 1}: key 'value_ns': found 'soon', expected a number")
        (self.folder / 'samples.csv').write_text(samples.splitlines()[0] + '\n')
        self.refused('samples.csv:1: found no rows')
        (self.folder / 'samples.csv').write_text(samples)
        (self.folder / 'calibration.json').write_text(about.replace('"slope"', '"rise"'))
        self.refused("calibration.json: key 'fits': found KeyError 'slope'")
        (self.folder / 'calibration.json').write_text('{"kind": "result"}')
        self.refused("calibration.json: key 'kind': found no calibration")
        (self.folder / 'calibration.json').unlink()
        code, out, errors = finish(start('calibration.py', self.folder))
        self.assertEqual((code, out), (2, ''))
        self.assertRegex(errors, r'\Aerror: [^\n]*calibration.json: found no such file, expected [^\n]*\n\Z')


class Reports(InAFolder):
    def test_evictions_of_clients_are_of_a_job_and_of_policies_of_a_run(self):
        synthetic.write_bars(self.folder)
        clients = page._file_table('Clients', self.folder / 'clients.csv', metrics.first('client'), 'client')
        self.assertEqual([name for name in clients['head'] if 'evictions' in name], ['evictions per job'])
        self.assertIn('| evictions per run |', report.text(results.read(self.folder, ['evictions'])))

    def test_the_tables_and_the_tally(self):
        synthetic.write_bars(self.folder)
        code, out, errors = finish(start('report.py', self.folder, '--write'))
        self.assertEqual((code, errors), (0, ''))
        self.assertRegex(out, r'\| sjf +\| 1\.89 ± 0\.04 \| 0\.63 ± 0\.03 \| 5\.23 ± 0\.05 \|')
        self.assertRegex(out, r'\| fig4 +\| cfs +\| ANTT +\| 6\.00 +\| 5\.82 +\| -3\.0 % +\| open +\| shown')
        self.assertEqual(out.strip().splitlines()[-1], '23 pass, 1 miss, 0 input, 1 shown')
        self.assertEqual((self.folder / 'report.md').read_text(), report.text(results.read(self.folder)))

    def test_what_the_run_said_of_its_results(self):
        synthetic.write_bars(self.folder)
        manifest = self.folder / 'manifest.json'
        said = json.loads(manifest.read_text()) if manifest.is_file() else {}
        notes, warnings = ['A: recorded elsewhere', 'A: recorded elsewhere', 7], ['warning: launches take 90 % of the time']
        manifest.write_text(json.dumps({**said, 'notes': notes, 'warnings': warnings}))
        lines = ['Note: A: recorded elsewhere.', 'Note: launches take 90 % of the time.']
        self.assertEqual([line for line in report.text(results.read(self.folder)).splitlines() if line.startswith('Note')], lines)
        found = report.tex(results.read(self.folder)).splitlines()
        self.assertEqual([line for line in found if 'Note' in line], ['% ' + line for line in lines])
        shown = page.page([self.folder])
        self.assertEqual([shown.count(line) for line in lines], [1, 1])
        manifest.write_text(json.dumps({'notes': [f'note {n}' for n in range(23)]}))
        self.assertEqual(notes_on(self.folder)[19:], ['note 19', '3 more in manifest.json'])
        for broken in ('{}', '[]', '{"notes": 3}', '{'):
            manifest.write_text(broken)
            self.assertEqual(notes_on(self.folder), [])


if __name__ == '__main__':
    unittest.main()
