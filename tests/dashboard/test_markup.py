"""Whatever comes from others arrives as text, never as markup."""

import unicodedata
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from martfl.dashboard.markup import LONGEST, Html, h, join, name_text

words = st.text(st.characters(exclude_categories=["Cs", "Cc"]))


class Seen(HTMLParser):
    def __init__(self, document):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.text = [], {}, ""
        self.feed(document)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= dict(attrs)

    def handle_data(self, data):
        self.text += data


@given(words, words)
def test_text_and_attributes_come_back_as_they_were(text, title):
    seen = Seen(h("p", text, title=title))
    assert seen.tags == ["p"] and seen.text == text and seen.attributes["title"] == title


def test_elements_nest_and_plain_strings_do_not():
    assert h("p", h("b", "<"), ["&", 3, None]) == "<p><b>&lt;</b>&amp;3</p>"
    assert join(["<b>", Html("<b>")]) == "&lt;b&gt;<b>"
    assert h("input", required=True, disabled=False, class_="a", data_label=None, x=0.12345678) == (
        '<input required class="a" x="0.123457">'
    )


@given(st.text())
def test_a_name_is_short_and_visible(name):
    shown = name_text(name)
    assert len(shown) <= LONGEST
    assert not any(unicodedata.category(char) in ("Cc", "Cf") for char in shown)


def test_directions_cannot_be_overridden():
    assert name_text("abc\u202edef\u2066") == "abc�def�"
    assert name_text("Zoë") == "Zoë"
