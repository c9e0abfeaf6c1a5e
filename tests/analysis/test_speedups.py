"""The figures of folders in which the number of GPUs is swept, and of families of lines."""
import json
import math
import unittest

from in_a_folder import InAFolder  # (which adds the path of the modules below)
from test_bounds import marks
from gangway.drawing import family
from gangway.drawing.commands import figures
from gangway.drawing import results
from gangway.drawing import speedups

GPUS, BUS = 'device.gpus', 'device.copy.bus'
PUBLISHED = 'figure,point,policy,client,metric,relation,published,measured,relative_error,class,group,verdict,note,as,take,last_point\n'


class OnSeveralGpus(InAFolder):
    def read(self, columns, points, ntts, published='', starved=(), bounds=()):
        """columns: the swept parameters; points: their values; ntts: (point, policy, client) -> NTT. starved and bounds: (point, client) of
        those that finished nothing, and of which the NTT is a lower bound."""
        policies = sorted({policy for _, policy, _ in ntts})
        stp = lambda point, policy: sum(1 / ntt for key, ntt in ntts.items() if key[:2] == (point, policy) and ntt)
        (self.folder / 'summary.csv').write_text(
            ','.join(['point,policy', *columns, 'antt,antt_ci95,dntt,dntt_ci95,stp,stp_ci95,evictions\n']) + ''.join(
                ','.join([f'{point},{policy}', *values, f'{40 / (point + 1)},,0,,{stp(point, policy)},,0\n'])
                for point, values in enumerate(points) for policy in policies))
        (self.folder / 'clients.csv').write_text('point,policy,client,ntt,ntt_ci95,standalone_ns,starved_runs,lower_bounds\n' + ''.join(
            f'{point},{policy},{client},{ntt or ""},,1000,{int((point, client) in starved)},{"ntt" * ((point, client) in bounds)}\n'
            for (point, policy, client), ntt in ntts.items()))
        (self.folder / 'published.csv').write_text(PUBLISHED + published)
        (self.folder / 'manifest.json').write_text(json.dumps(
            {'configuration': {'title': 'title', 'policies': policies}}))
        return results.read(self.folder)

    def together(self, ntts, counts=('1', '2'), **more):
        return self.read([GPUS], [[count] for count in counts],
                         {(point, 'p', client): ntt for client, found in ntts.items() for point, ntt in enumerate(found)}, **more)

    def alone(self, ntts, **more):
        """client -> NTT on one and on two GPUs"""
        points = [[count, client] for count in '12' for client in ntts]
        return self.read([GPUS, 'clients'], points, {
            (point, 'p', client): ntts[client][int(count) - 1] for point, (count, client) in enumerate(points)}, **more)

    def bars(self, axes):
        return {round(bar.get_x() + bar.get_width() / 2, 2): round(bar.get_y() + bar.get_height(), 6) for bar in axes.patches}

    def diamonds(self, axes):
        return [line.get_ydata()[0] for line in axes.lines if line.get_marker() == 'd']

    def legend(self, figure):
        return [text.get_text() for text in figure.legends[0].get_texts()]


class Speedups(OnSeveralGpus):
    def test_of_clients_together_the_time_on_one_gpu_over_that_on_two(self):
        found = self.together({'b': (3, 2), 'A': (4, 2)})
        self.assertTrue(speedups.applies(found))
        figure = speedups.draw(found)
        axes, = figure.axes
        self.assertEqual([label.get_text() for label in axes.get_xticklabels()], ['A', 'b', 'geometric\nmean'])
        self.assertEqual(self.bars(axes), {0: 2, 1: 1.5, 2: round(math.sqrt(3), 6)})
        self.assertEqual(sorted(text.get_text() for text in axes.texts), ['1.50', '1.73', '2.00'])
        self.assertEqual((axes.get_yscale(), axes.get_ylabel()), ('linear', 'speedup over one GPU'))
        self.assertEqual(self.legend(figure), ['2 GPUs', 'as fast as on one GPU', '2 times as fast: in proportion'])
        level = [line.get_ydata()[0] for line in axes.lines if len(set(line.get_ydata())) == 1]
        self.assertEqual(sorted(level), [1, 2])

    def test_of_clients_alone_the_standalone_time_over_that_on_one_and_two(self):
        found = self.alone({'A': (1.25, 0.5), 'B': (1, 1)})
        figure = speedups.draw(found)
        axes, = figure.axes
        self.assertEqual(self.bars(axes), {-0.2: 0.8, 0.2: 2, 0.8: 1, 1.2: 1, 1.8: 0.9, 2.2: 1.5})
        self.assertEqual(axes.get_xticklabels()[2].get_text(), 'mean')
        self.assertEqual(self.legend(figure)[:2], ['1 GPU', '2 GPUs'])
        self.assertIn('2 times as fast: ideal', self.legend(figure))

    def test_bars_stand_on_1_of_a_logarithmic_axis_where_they_are_far_apart(self):
        axes, = speedups.draw(self.together({'A': (12, 1), 'B': (1, 2)})).axes
        self.assertEqual(axes.get_yscale(), 'log')
        self.assertEqual({bar.get_y() for bar in axes.patches}, {1})
        self.assertEqual(self.bars(axes), {0: 12, 1: 0.5, 2: round(math.sqrt(6), 6)})
        self.assertLess(axes.get_ylim()[0], 0.5)

    def test_a_panel_for_each_policy_and_a_bar_for_each_number_of_gpus(self):
        ntts = {(point, policy, 'A'): ntt for policy, found in {'p': (4, 2, 1), 'q': (4, 4, 2)}.items()
                for point, ntt in enumerate(found)}
        ntts.update({(point, policy, 'B'): 1 for point in range(3) for policy in 'pq'})
        figure = speedups.draw(self.read([GPUS], [['1'], ['2'], ['4']], ntts))
        self.assertEqual([axes.get_ylabel() for axes in figure.axes], ['speedup over one GPU\np', 'speedup over one GPU\nq'])
        first, second = map(self.bars, figure.axes)
        self.assertEqual([first[-0.2], first[0.2], second[-0.2], second[0.2]], [2, 4, 1, 2])
        self.assertIn('as many times as fast as there are GPUs: in proportion', self.legend(figure))

    def crosses(self, axes):
        return [round(line.get_xdata()[0], 2) for line in axes.lines if line.get_marker() == 'x']

    def test_who_starved_on_one_or_several_gpus_has_a_cross_and_then_there_is_no_mean(self):
        for point, ntts in ((0, (None, 2)), (1, (2, None))):
            figure = speedups.draw(self.together({'A': (4, 2), 'B': ntts}, starved={(point, 'B')}))
            axes, = figure.axes
            self.assertEqual((self.bars(axes), self.crosses(axes)), ({0: 2}, [1, 2]), point)
            self.assertIn('starved: a client finished no job', self.legend(figure))

    def test_of_clients_alone_only_on_the_gpus_where_it_starved(self):
        axes, = speedups.draw(self.alone({'A': (1.25, 0.5), 'B': (None, 1)}, starved={(1, 'B')})).axes
        self.assertEqual(self.bars(axes), {-0.2: 0.8, 0.2: 2, 1.2: 1, 2.2: 1.5})
        self.assertEqual(self.crosses(axes), [0.8, 1.8])

    def test_where_all_starved_there_are_only_crosses(self):
        axes, = speedups.draw(self.together({'A': (None, 2), 'B': (None, 1)}, starved={(0, 'A'), (0, 'B')})).axes
        self.assertEqual((self.bars(axes), self.crosses(axes)), ({}, [0, 1, 2]))

    def test_a_lower_bound_of_either_time_makes_a_speedup_a_bound_and_the_mean_inherits_it(self):
        one, two = (0, 'A'), (1, 'A')
        for bounds, kinds in (({one}, ['up', 'up']), ({two}, ['down', 'down']), ({one, two}, ['wave', 'wave']),
                              ({one, (1, 'B')}, ['up', 'down', 'wave']), ({one, (0, 'B')}, ['up', 'up', 'up']), ((), [])):
            figure = speedups.draw(self.together({'A': (4, 2), 'B': (3, 2)}, bounds=bounds))
            found = sorted(marks(figure.axes[0]))
            self.assertEqual([kind for *_, kind in found], kinds, bounds)
            words = {'up': 'at least', 'down': 'at most', 'wave': 'could be more or less'}
            self.assertEqual({text.split(':')[0] for text in self.legend(figure) if 'unfinished' in text}, {words[kind] for kind in kinds})
        self.assertEqual(sorted(text.xyann[1] for text in figure.axes[0].texts), [1.5] * 3)

    def test_of_clients_alone_it_is_at_most_so_fast(self):
        axes, = speedups.draw(self.alone({'A': (1.25, 0.5), 'B': (1, 1)}, bounds={(0, 'A')})).axes
        self.assertEqual([(round(x, 2), y, kind) for x, y, kind in sorted(marks(axes))], [(-0.2, 0.8, 'down'), (1.8, 0.9, 'down')])

    def test_marks_of_bars_below_1_of_a_logarithmic_axis_stand_above_them(self):
        axes, = speedups.draw(self.together({'A': (12, 1), 'B': (1, 2)}, bounds={(1, 'B')})).axes
        self.assertEqual([(x, round(y, 3)) for x, y, _ in sorted(marks(axes))], [(1, 1), (2, round(math.sqrt(6), 3))])

    def test_who_had_nothing_to_do_has_no_bar(self):
        axes, = speedups.draw(self.together({'A': (4, 2), 'B': (2, None)})).axes
        self.assertEqual(self.bars(axes), {0: 2, 2: 2})

    def test_a_value_published_of_all_clients_is_a_line_and_others_are_diamonds(self):
        row = 'f,1,p,{},ntt/point 0,=,{},1,0,open,,shown,,,,\n'.format
        axes, = speedups.draw(self.together({'A': (4, 2), 'B': (2, 2)}, published=row('A', 0.625) + row('B', 0.625))).axes
        self.assertEqual(self.diamonds(axes), [])
        self.assertIn([1.6, 1.6], [list(line.get_ydata()) for line in axes.lines])
        median = 'f,1,p,median of all,ntt/point 0,=,1.55,1,0,open,,shown,,speedup,,\n'
        axes, = speedups.draw(self.together({'A': (4, 2), 'B': (2, 2)}, published=median)).axes
        self.assertIn([1.55, 1.55], [list(line.get_ydata()) for line in axes.lines])
        axes, = speedups.draw(self.together({'A': (4, 2), 'B': (2, 2)}, published=row('A', 0.5))).axes
        self.assertEqual(self.diamonds(axes), [2])
        other = row('A', 0.5).replace('point 0', 'point 1')
        axes, = speedups.draw(self.together({'A': (4, 2), 'B': (2, 2)}, published=other)).axes
        self.assertEqual(self.diamonds(axes), [])

    def test_a_mean_published_over_all_points_of_a_number_of_gpus_stands_beside_theirs(self):
        for over, shown in [('mean,3', [1.65]), ('max,3', []), ('mean,2', [])]:
            found = self.alone({'A': (1, 0.5), 'B': (1, 1)}, published=f'f,2,p,,stp,=,1.65,1,0,open,,shown,,,{over}\n')
            axes, = speedups.draw(found).axes
            self.assertEqual(self.diamonds(axes), shown)

    def test_only_where_one_gpu_is_among_a_few_numbers_and_each_client_has_one_value_on_each(self):
        for counts in (('2', '4'), ('1',), ('1', '2', '3', '4', '5')):
            self.assertFalse(speedups.applies(self.together({'A': range(1, 1 + len(counts)), 'B': [1] * len(counts)}, counts)), counts)
        twice = self.read([GPUS, BUS], [['1', '8 GB/s'], ['1', '16 GB/s'], ['2', '8 GB/s'], ['2', '16 GB/s']],
                          {(point, 'p', client): 2 for point in range(4) for client in 'AB'})
        self.assertFalse(speedups.applies(twice))
        self.assertFalse(speedups.applies(self.sweep(**{'mechanism.name': ['slice', 'proxy']})))

    def test_they_stand_for_the_sweep_of_clients_alone_and_beside_that_of_clients_together(self):
        found = {'A': (1.25, 0.5), 'B': (1, 1)}
        for read, expected in [(self.alone, ['speedups']), (self.together, ['speedups', 'sweep'])]:
            read(found)
            self.assertEqual([path.stem for path in figures.draw(self.folder, self.folder / 'out') if path.suffix == '.png'],
                             expected)


class Family(OnSeveralGpus):
    def family(self, buses=('16 GB/s', '8 GB/s', '450 GB/s'), counts=('1', '2', '3', '4'), policies='p', clients='AB', **more):
        points = [[bus, count] for bus in buses for count in counts]
        return self.read([BUS, GPUS], points, {(point, policy, client): 1 + point for point in range(len(points))
                                               for policy in policies for client in clients}, **more)

    def test_a_line_for_each_value_of_the_second_quantity_the_smallest_first(self):
        found = self.family()
        self.assertTrue(family.applies(found))
        figure = family.draw(found)
        self.assertEqual(self.legend(figure), ['bus 8 GB/s', 'bus 16 GB/s', 'bus 450 GB/s'])
        self.assertEqual([axes.get_xlabel() for axes in figure.axes], ['GPUs'] * 3)
        antt, _, stp = figure.axes
        self.assertEqual([list(line.get_xdata()) for line in stp.lines], [[1, 2, 3, 4]] * 3)
        self.assertEqual([list(line.get_ydata()) for line in stp.lines],
                         [[2 / (1 + point) for point in points] for points in (range(4, 8), range(4), range(8, 12))])
        self.assertEqual(len({line.get_color() for line in stp.lines}), 3)
        self.assertEqual([line.get_color() for line in antt.lines], [line.get_color() for line in stp.lines])
        self.assertEqual([label.get_text() for label in stp.get_xticklabels()], ['1', '2', '3', '4'])

    def test_published_values_have_the_colour_of_their_line(self):
        figure = family.draw(self.family(published='f,5,p,,stp,=,30,1,0,moderate,,pass,,,,\n'))
        stp = figure.axes[2]
        mark, = (line for line in stp.lines if line.get_marker() == 'd')
        self.assertEqual((list(mark.get_xdata()), list(mark.get_ydata())), ([2], [30]))
        self.assertEqual(mark.get_markerfacecolor(), stp.lines[0].get_color())
        self.assertGreater(stp.get_ylim()[1], 30)

    def test_only_of_two_quantities_under_one_policy_with_clients_together(self):
        for more in ({'policies': 'pq'}, {'clients': 'A'}, {'counts': ('1', '2'), 'buses': ('8 GB/s', '16 GB/s')},
                     {'buses': ('8 GB/s',)}, {'buses': ('8 GB/s', 'none')}):
            self.assertFalse(family.applies(self.family(**more)), more)
        self.assertFalse(family.applies(self.family(buses=[f'{bus} GB/s' for bus in range(1, 9)],
                                                    counts=[str(count) for count in range(1, 10)])))

    def test_it_is_the_sweep_of_its_folder(self):
        self.family()
        names = [path.name for path in figures.draw(self.folder, self.folder / 'out')]
        self.assertEqual(names, ['sweep.png', 'sweep.pdf'])


if __name__ == '__main__':
    unittest.main()
