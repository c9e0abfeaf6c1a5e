"""Figures as a library: from results in memory, in any notebook."""

import io
import tempfile
import unittest
from pathlib import Path

import matplotlib
matplotlib.use('Agg')

import gangway  # noqa: E402
from gangway import figures  # noqa: E402


def png(figure):
    out = io.BytesIO()
    figure.savefig(out, format='png', dpi=50, metadata={'Software': None})
    return out.getvalue()


class Figures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        experiment = gangway.Experiment('frs/fig4')
        experiment['replications'] = 3
        cls.experiment, cls.result = experiment, experiment.run()

    def test_from_memory_as_from_a_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            kept = self.experiment.run(out=Path(folder) / 'out')
            for draw in (figures.metrics, figures.clients):
                self.assertEqual(png(draw(self.result)), png(draw(kept)))
                self.assertEqual(png(draw(kept)), png(draw(Path(folder) / 'out')))
            self.assertEqual(figures.kinds(kept), figures.kinds(self.result))

    def test_every_kind_that_applies_is_drawn(self):
        swept = gangway.Experiment('frs/fig4')
        swept['published'], swept['replications'] = [], 2
        swept['sweep'] = {'policies.rr.params.quantum': ['0.5 ms', '1 ms', '2 ms']}
        for result in (self.result, swept.run()):
            kinds = figures.kinds(result)
            self.assertGreaterEqual(len(kinds), 1)
            for kind in kinds:
                self.assertGreater(len(png(figures.draw(result, kind))), 1000, kind)

    def test_maps_and_distributions_wherever_they_can_be_drawn(self):
        experiment = gangway.Experiment({
            'kind': 'experiment', 'version': 1, 'name': 'unseen', 'mechanism': 'ideal', 'horizon': '60 ms', 'replications': 2,
            'device': {'kind': 'device', 'version': 1, 'name': 'eight', 'layout': 'pool', 'm': 8},
            'workload': {'kind': 'workload', 'version': 1, 'name': 'w', 'jitter': {'kernel_time': '10 %'}, 'clients': [
                {'name': 'shop', 'slo': '5 ms', 'repeat': {'jobs': 20, 'arrivals': {'process': 'poisson', 'rate': '400/s'}},
                 'kernels': [{'name': 's', 'block_tasks': 8, 'block': [1], 'time': '1 ms'}]},
                {'name': 'nightly', 'kernels': [{'name': 'n', 'block_tasks': 80, 'block': [1], 'time': '20 ms'}]}]},
            'policies': ['fcfs', {'name': 'srt', 'label': 'of-mine-with-a-name-that-is-long'}],
            'sweep': {'workload.clients.nightly.kernels.0.time': ['0.1 ms', '1 ms', '80 ms'],
                      'workload.clients.shop.repeat.arrivals.rate': ['4/s', '40/s', '400/s']}})
        with self.assertRaises(gangway.RunError) as caught:  # where nobody finishes anything
            experiment.run()
        result = caught.exception.result
        self.assertTrue(any(result.summary.starved) and any(result.summary.error), 'so that cells have no value')
        self.assertNotIn('heat-map', figures.kinds(result))
        for draw in (figures.heat_map, figures.response_distribution, figures.latency_distribution, figures.responses, figures.latency):
            self.assertGreater(len(png(draw(result))), 1000, draw)
        single = experiment.copy()
        single['sweep'] = {'workload.clients.nightly.kernels.0.time': ['1 ms'], 'workload.clients.shop.repeat.arrivals.rate': ['400/s', '40/s']}
        single = single.run()
        with self.assertRaises(gangway.InputError):
            figures.heat_map(single)  # one value makes no map
        self.assertGreater(len(png(figures.latency_distribution(single, page=1))), 1000)

    def test_looks(self):
        settings = dict(matplotlib.rcParams)
        narrow = figures.metrics(self.result, width=3.5, title=False)
        self.assertEqual(narrow.get_figwidth(), 3.5)
        self.assertFalse(any(self.result.manifest['configuration']['title'] in text.get_text() for text in narrow.texts))
        usual = figures.metrics(self.result)
        self.assertEqual(usual.get_figwidth(), 7.2)
        chosen = figures.metrics(self.result, metrics=['utilisation', 'jain'])
        self.assertEqual([axes.get_ylabel() for axes in chosen.axes], ['utilisation (higher is better)', 'Jain (higher is better)'])
        self.assertEqual(dict(matplotlib.rcParams), settings)  # the caller's own
        self.assertEqual(matplotlib.pyplot.get_fignums(), [])

    def test_wrong_input(self):
        for call in (lambda: figures.sweep(self.result), lambda: figures.metrics(self.result, page=1), lambda: figures.metrics(self.result, width=0),
                     lambda: figures.metrics(self.result, metrics=['nonsense']), lambda: figures.metrics('/nowhere')):
            with self.assertRaises(gangway.InputError) as caught:
                call()
            self.assertEqual(len(str(caught.exception).splitlines()), 1)

    def test_a_comparison(self):
        other = self.experiment.copy()
        other['seed'] = 2
        other = other.run()
        self.assertIn('compare-metrics', figures.comparison_kinds(self.result, other))
        self.assertGreater(len(png(figures.comparison(self.result, other, 'compare-errors'))), 1000)


if __name__ == '__main__':
    unittest.main()
