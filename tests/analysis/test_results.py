"""What is read of a result folder."""
import contextlib
import io
import unittest

from in_a_folder import InAFolder  # (which adds the path of the modules below)
from gangway.drawing import results

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


if __name__ == '__main__':
    unittest.main()
