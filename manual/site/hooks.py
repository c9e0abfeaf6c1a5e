"""What MkDocs calls while it builds the site."""

import re

CELL = re.compile(r'<td.*?</td>', re.DOTALL)
CODE = re.compile(r'<code>([^<]*)</code>')


def on_page_content(html, **_):
    """Lists and paths in the code of a table's cell may break after a comma or slash."""
    def code(match):
        broken = re.sub(r'([,/])(?=[^ ])', r'\1<wbr>', match[1])
        return f'<code>{broken}</code>'
    return CELL.sub(lambda cell: CODE.sub(code, cell[0]), html)
