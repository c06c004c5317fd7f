"""A case file that is written wrongly says where and why; it never ends in a stack trace."""

import io
from contextlib import redirect_stderr
from pathlib import Path

import pytest
from cases import main

WRONG = {
    "": "not a list of cases",
    "a: 1": "not a list of cases",
    "- {name: a, log: [plain]": "no readable YAML",
    "- {name: 5, log: [plain], finds: []}": "the name of a case is a sentence",
    "- {name: a, log: [5], finds: []}": "`log` is a list of lines",
    "- {name: a, log: [plain], finds: }": "`finds` is a list of findings",
    "- {name: a, log: [plain], finds: [sequence_gap]}": "each with a `code`",
    "- {name: a, log: [plain], finds: [{code: x, ofset: 3}]}": "does not know ['ofset']",
    "- {name: a, log: [frobnicate], finds: []}": "unknown verb frobnicate",
    "- {name: a, log: [data pid=x], finds: []}": "invalid literal",
    "- {name: a, log: [plain], brokr: live, finds: []}": "unknown options ['brokr']",
    "- {name: a, log: [plain], broker: nowhere, finds: []}": "a: its log or an option",
    "- {name: a, log: [plain], index: [batch=9], finds: []}": "cannot be read (IndexError",
    "- {name: a, log: [plain], coordinator: [id=x pid=1 state=No], finds: []}": "a: coordinator:",
}


@pytest.mark.parametrize("content", WRONG)
def test_what_is_wrong_in_a_case_is_told_before_anything_is_audited(
    content: str, tmp_path: Path
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(content, encoding="utf-8")
    with redirect_stderr(io.StringIO()) as told:
        assert main([str(file)]) == 2
    assert WRONG[content] in told.getvalue()


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with redirect_stderr(io.StringIO()) as told:
        assert main([str(tmp_path / "none.yaml")]) == 2
    assert "none.yaml: no readable YAML" in told.getvalue()
