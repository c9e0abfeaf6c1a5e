"""Files that are there whole or not at all."""
import unittest

from in_a_folder import InAFolder

from gangway.whole_file import write_whole


class WholeFiles(InAFolder):
    def test_a_file_takes_its_name_at_the_end(self):
        write_whole(self.folder / 'page.html', 'new')
        self.assertEqual([(path.name, path.read_text()) for path in self.folder.iterdir()], [('page.html', 'new')])

    def test_what_cannot_be_written_is_named_and_leaves_nothing(self):
        (self.folder / 'page.html').mkdir()
        with self.assertRaisesRegex(OSError, "Is a directory: '[^']*/page.html'"):
            write_whole(self.folder / 'page.html', 'new')
        self.assertEqual([path.name for path in self.folder.iterdir()], ['page.html'])


if __name__ == '__main__':
    unittest.main()
