"""Spelling of every page, and its longest sentences. Long sentences are warnings, printed with the sentence; spelling fails."""

import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import pages

CODESPELL = shutil.which('codespell') or shutil.which(str(pages.ROOT / 'build/venv/bin/codespell'))
KNOWN = 'simpy'  # codespell's words that are right here
LONG = 45  # words


def misspelt(folder):
    return subprocess.run([CODESPELL, '--ignore-words-list', KNOWN, folder], capture_output=True, text=True).stdout


def long_sentences(text):
    """Sentences of running text with more than LONG words."""
    prose = '\n'.join(line for line in pages.without_code(text).splitlines() if not re.match(r'\s*(\||#|!|<)', line))
    prose = re.sub(r'`[^`]*`', 'code', prose)
    sentences = re.split(r'(?<=[.!?])\s+(?=[A-Z*`\[])|\n\s*\n|\n\s*(?:[-*]|\d+\.)\s', prose)
    return [' '.join(sentence.split()) for sentence in sentences if len(sentence.split()) > LONG]


class Words(unittest.TestCase):
    @unittest.skipUnless(CODESPELL, 'codespell is missing: ./dev test installs it')
    def test_spelling(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in pages.names():
                (Path(folder) / name.replace('/', '__')).write_text(pages.read(name), encoding='utf-8')
            self.assertEqual(misspelt(folder), '')
            (Path(folder) / 'planted.md').write_text('A recieved word.\n', encoding='utf-8')
            self.assertIn('recieved', misspelt(folder))

    def test_long_sentences_are_told(self):
        found = [(len(sentence.split()), name, sentence) for name in pages.names() for sentence in long_sentences(pages.read(name))]
        for count, name, sentence in sorted(found, reverse=True)[:10]:
            print(f'warning: {name}: a sentence of {count} words: {sentence[:200]}')
        if found:
            print(f'warning: {len(found)} sentences of more than {LONG} words')

    def test_a_long_sentence_is_found(self):
        self.assertEqual(len(long_sentences(f'Short. {"Word " * 50}end.\n\nNext one.\n')), 1)


if __name__ == '__main__':
    unittest.main()
