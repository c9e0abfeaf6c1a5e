"""What is read of a result folder."""
import contextlib
import hashlib
import io
import json
import unittest

from in_a_folder import InAFolder, finish, start  # (which adds the path of the modules below)
from gangway.drawing import results
import synthetic

SUMMARY = ('point,policy,device.name,gap,gap_ns,size,size_bytes,antt,antt_ci95,dntt,dntt_ci95,stp,stp_ci95,makespan_ns,evictions,error\n'
           '0,rr,a,1 ms,1000000,1 kB,1000,2,,0,,1,,5,0,\n'
           '1,rr,b,2 ms,2000000,2 kB,2000,,,,,,,,,"no job finished, none"\n')
CLIENTS = 'point,policy,device.name,gap,gap_ns,size,size_bytes,client,ntt,ntt_ci95,standalone_ns\n0,rr,a,1 ms,1000000,1 kB,1000,NA,2,,7\n'


class Read(InAFolder):
    def read(self):
        (self.folder / 'summary.csv').write_text(SUMMARY)
        (self.folder / 'clients.csv').write_text(CLIENTS)
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            return results.read(self.folder), said.getvalue()

    def test_columns_in_base_units_are_no_swept_paths(self):
        found, _ = self.read()
        self.assertEqual(found.swept, ('device.name', 'gap', 'size'))
        self.assertEqual(found.summary[0].swept, ('a', '1 ms', '1 kB'))

    def test_results_that_failed_are_left_out_and_counted(self):
        found, said = self.read()
        self.assertEqual([row.point for row in found.summary], [0])
        self.assertEqual(said, f'note: {self.folder}/summary.csv: 1 of 2 results failed and are left out\n')


class Changed(InAFolder):
    def test_every_command_tells_of_a_table_that_was_edited(self):
        folders = [self.folder / 'experiment' / side for side in ('sim', 'cuda')]
        for folder, world in zip(folders, ('sim', 'cuda')):
            synthetic.write_bars(folder)
            tables = {name: (folder / name).read_bytes() for name in ('summary.csv', 'clients.csv')}
            listed = {name: {'bytes': len(text), 'sha256': hashlib.sha256(text).hexdigest()} for name, text in tables.items()}
            manifest = json.loads((folder / 'manifest.json').read_text())
            (folder / 'manifest.json').write_text(json.dumps({**manifest, 'world': world, 'files': listed}))
        rows = 'point,policy,client,' + ','.join(f'latency_ns_{p}' for p in ('p50', 'p90', 'p95', 'p99', 'p999')) + ',attainment,throughput_per_s'
        for folder in folders:
            (folder / 'services.csv').write_text(f'{rows}\n0,rr,VA,1,1,1,1,1,,1\n')
        edited = folders[1] / 'summary.csv'
        self.assertEqual(finish(start('report.py', folders[1]))[2], '')
        edited.write_text(edited.read_text().replace('0.93', '0.94'))
        out = self.folder / 'out'
        for command in (['report.py', folders[1]], ['rankings.py', folders[1], '--out', out], ['compare.py', *folders, '--out', out],
                        ['figures.py', folders[1], '--figure', 'metrics', '--out', out], ['hw_report.py', self.folder],
                        ['printed.py', folders[1]], ['service_agreement.py', *folders]):
            code, _, errors = finish(start(*command))
            self.assertEqual((code, errors), (0, f'note: {edited} is not as it was written (manifest.json)\n'), command[0])


if __name__ == '__main__':
    unittest.main()
