"""Arguments that parse, and mean what the caller cannot have meant, are refused in a sentence."""

from pathlib import Path

import pytest

from jobs.cli.arguments import parse

AUDIT = ("audit", "--dump", "copy", "--out", "tables")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("audit", "--dump", "", "--out", "tables"), "--dump: it is empty"),
        (("audit", "--dump", "copy", "--out", ""), "--out: it is empty"),
        (("report", "--out", "tables", "--to", " "), "--to: it is empty"),
        (("explain", "--out", "tables", "--incident", "1", "--topic", "t"), "--topic does not go"),
        (("explain", "--out", "tables", "--incident", "1", "--partition", "0"), "--partition does"),
        (("audit", "--bootstrap", "b:1", "--out", "tables", "--max-rate", "fast"), "such as 20M"),
    ],
)
def test_what_nobody_can_mean_is_refused(
    words: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        parse([*words])
    said = capsys.readouterr().err
    assert end.value.code == 2 and told in said and said.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ("audit", "--out", "tables", "--dump", "loop"),
        ("audit", "--out", "tables", "--dump", "loop/below"),
        ("export", "--out", "tables", "--dump", "loop"),
        ("report", "--out", "tables", "--dump", "loop"),
        ("audit", "--dump", "copy", "--out", "loop"),
    ],
)
def test_a_loop_of_links_is_refused_and_a_link_is_not(
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(SystemExit) as end:
        parse([*words])
    said = capsys.readouterr().err
    assert end.value.code == 2 and "is a loop of symbolic links" in said and said.count("\n") == 1
    (tmp_path / "copy").mkdir()
    (tmp_path / "loop").unlink()
    (tmp_path / "loop").symlink_to("elsewhere")
    (tmp_path / "elsewhere").mkdir()
    assert parse([*words]).command == words[0]


def test_a_copy_that_is_named_twice_is_one(tmp_path: Path) -> None:
    assert parse([*AUDIT, "--dump", "copy", "--dump", "other"]).dump == [
        Path("copy").absolute(),
        Path("other").absolute(),
    ]
    assert parse(["checks"]).dump == []


def test_a_rate_has_a_unit_or_none() -> None:
    live = ("audit", "--bootstrap", "b:1", "--out", "tables", "--max-rate")
    for rate in ("20M", "1.5G", "800k", "5000"):
        assert parse([*live, rate]).max_rate == rate
