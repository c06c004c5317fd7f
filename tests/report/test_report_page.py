"""report.html: what a browser is given, whatever an attacker called a topic or an id."""

import hashlib
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import made_facts
import pytest

from jobs.report.facts import Facts
from jobs.report.page import render, style_digest
from jobs.report.visible import INVISIBLE

ROOT = Path(__file__).resolve().parents[2]
VOID = {"meta", "path", "use"}
MADE = [made_facts.clean, made_facts.hanging, made_facts.hostile]
LARGEST_PAGE = 4_000_000


class Page(HTMLParser):
    """Tags, ids and links of a page; complains where a tag is not closed by its own."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.names: set[str] = set()
        self.ids: list[str] = []
        self.references: set[str] = set()
        self.said: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._seen(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._seen(tag, attrs)

    def _seen(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            self.names.add(name)
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "aria-labelledby", "clip-path", "fill"):
                self.references |= set(re.findall(r"#([\w.-]+)", value or ""))
            if name == "aria-labelledby":
                self.references |= set((value or "").split())

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.said.append(data)

    @property
    def text(self) -> str:
        return "".join(self.said)


@pytest.fixture(scope="module", params=MADE, ids=lambda make: make.__name__)
def page(request: pytest.FixtureRequest) -> str:
    make: Callable[[], Facts] = request.param
    return render(make())


def test_the_page_is_well_formed_and_every_reference_leads_somewhere(page: str) -> None:
    read = Page(page)
    assert read.open == []
    assert len(read.ids) == len(set(read.ids))
    assert read.references - set(read.ids) == set()


def test_nothing_runs_and_nothing_is_fetched(page: str) -> None:
    read = Page(page)
    assert (
        read.tags & {"script", "iframe", "object", "embed", "img", "link", "form", "base"} == set()
    )
    assert [name for name in read.names if name.startswith("on")] == []
    assert not re.search(r"https?:|//\w|@import|url\((?!#)", page)


def test_the_policy_allows_the_one_style_sheet_and_no_inline_styles(page: str) -> None:
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    assert policy.startswith(f"default-src 'none'; style-src '{style_digest(style)}';")
    assert "style" not in Page(page).names


def test_no_character_hides(page: str) -> None:
    hidden = {c for c in page if unicodedata.category(c) in INVISIBLE and c != "\n"}
    assert hidden == set()


def test_what_an_attacker_wrote_is_text() -> None:
    read = Page(render(made_facts.hostile()))
    shown = "<script>alert('\"$x$&amp;\\x1b[2J\\u202e\\x00</script>"
    # The topic is also text of pictures, where it is shortened.
    assert read.text.count(shown) > 12
    assert "script" not in read.tags


def test_the_verdict_comes_first_and_beside_it_what_was_not_looked_at() -> None:
    page = render(made_facts.hanging())
    parts = ["VIOLATIONS: 1 proven", ">Looked at<", ">Not looked at<", ">Findings<", ">Coverage<"]
    places = [page.index(part) for part in parts]
    assert places == sorted(places)


def test_a_finding_is_told_with_all_that_belongs_to_it() -> None:
    text = Page(render(made_facts.hanging())).text
    for told in (
        "no marker; coordinator: CompleteAbort",
        "KIP-664, kafka-transactions.sh find-hanging",
        "read_committed consumers wait without end",
        "kafka-transactions.sh --bootstrap-server HOST:PORT abort --topic h",
        "--files \"$DUMP\"/broker-0/h-0/00000000000000000000.log | grep -F 'position: 4976 '",
        "12,345 findings, 1 shown",
        "Since audit "
        + "fedcba98" * 4
        + ": new findings: 1 violation; no longer there: 2 suspect.",
    ):
        assert told in text


def test_a_hundred_thousand_findings_make_a_page_of_bounded_size() -> None:
    assert len(render(made_facts.large()).encode()) < LARGEST_PAGE


def test_the_same_facts_give_the_same_bytes_in_another_process() -> None:
    code = "import made_facts as m, hashlib as h; from jobs.report.page import render as r; "
    code += "import sys; sys.stdout.write(h.sha256(r(m.hanging()).encode()).hexdigest())"
    environment = os.environ | {
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}",
        "PYTHONHASHSEED": "7",
        "TZ": "Asia/Tokyo",
        "LC_ALL": "C",
    }
    told = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    here = render(made_facts.hanging()).encode()
    assert told.stdout == hashlib.sha256(here).hexdigest()
