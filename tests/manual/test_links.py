"""Local links of every page lead somewhere: to a file, and to a heading of it."""

import re
import unittest

import pages

LINK = re.compile(r'\]\(([^)\s]+)\)')


def slugs(text):
    """The anchors of a page's headings, as repositories' hosts make them."""
    found = []
    for heading in re.findall(r'^#+ (.+)$', pages.without_code(text), re.MULTILINE):
        slug = re.sub(r'[^\w\- ]', '', re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', heading).lower()).replace(' ', '-')
        found.append(slug if slug not in found else f'{slug}-{found.count(slug)}')
    return set(found)


def broken(name, text):
    """The links of a page, given its text, that lead nowhere."""
    wrong = []
    for goal in LINK.findall(re.sub(r'`[^`]*`', '', pages.without_code(text))):
        if re.match(r'\w+:', goal):
            continue
        path, _, anchor = goal.partition('#')
        target = (pages.ROOT / name).parent / path if path else pages.ROOT / name
        if not target.exists():
            wrong.append(goal)
        elif anchor and anchor not in slugs(text if not path else target.read_text(encoding='utf-8')):
            wrong.append(goal)
    return wrong


class Links(unittest.TestCase):
    def test_every_local_link_leads_somewhere(self):
        wrong = {name: found for name in pages.names() if (found := broken(name, pages.read(name)))}
        self.assertEqual(wrong, {})

    def test_broken_links_are_found(self):
        text = '# A title\n[a](nowhere.md) [b](LICENSE) [c](#a-title) [d](#another) [e](README.md#set-up) [f](README.md#no)\n'
        self.assertEqual(broken('README.md', text), ['nowhere.md', '#another', 'README.md#no'])

    def test_questions_are_two_clicks_from_the_front(self):
        """README.md leads to the answers' page, whose headings are the questions."""
        self.assertIn('(manual/how-to.md)', pages.read('README.md'))
        self.assertGreaterEqual(len([slug for slug in slugs(pages.read('manual/how-to.md'))]), 8)

    def test_the_front_page_is_short(self):
        self.assertLessEqual(len(pages.read('README.md').splitlines()), 120)


if __name__ == '__main__':
    unittest.main()
