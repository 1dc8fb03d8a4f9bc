import csv
import io
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.cli import main
from rejoinder.cli.tables import FORMATS, Output, escape_latex, to_csv, to_latex

MINUS, DASH = "\N{MINUS SIGN}", "\N{EN DASH}"
HEADER = ["model", "MAP measured", "parameters"]
ROWS = [["has, 128 bits", "75.62 ±0.80", "22,565,376"], ["word_overlap & 50 %", "51.08", DASH]]
SHOWN = {
    **{r"\textbackslash{}": "\\", r"\textasciitilde{}": "~", r"\textasciicircum{}": "^"},
    **{r"\textless{}": "<", r"\textgreater{}": ">", r"\textbar{}": "|", "{[}": "[", "{]}": "]"},
    **{r"\textquotedbl{}": '"', r"\textquotesingle{}": "'", r"\textasciigrave{}": "`"},
    **{"{*}": "*", r"\ldots{}": "…", r"$\pm$": "±", r"$\times$": "×"},
    **{"$-$": MINUS, "-{}": "-", "--": DASH, r"\&": "&", r"\%": "%", r"\$": "$", r"\#": "#"},
    **{r"\_": "_", r"\{": "{", r"\}": "}"},
}
"""What LaTeX prints for the commands that we write."""
COMMAND = re.compile("|".join(re.escape(text) for text in sorted(SHOWN, key=len, reverse=True)))


def read_latex(text: str) -> str:
    """Return what LaTeX prints; fail where a sign would have a meaning of its own."""
    shown, place = "", 0
    while place < len(text):
        if found := COMMAND.match(text, place):
            shown += SHOWN[found[0]]
            place = found.end()
        else:
            assert text[place] not in "\\{}$&#^_~%<>|[]*\"'`", f"{text!r} at {place}"
            shown += text[place]
            place += 1
    return shown


@given(st.text())
def test_latex_prints_every_text_as_it_is(text: str) -> None:
    assert read_latex(escape_latex(text)).replace(MINUS, "-") == text.replace(MINUS, "-")


def test_a_hyphen_before_a_number_is_a_minus() -> None:
    assert escape_latex("-1.20 to +0.40") == "$-$1.20 to +0.40"
    assert escape_latex("all-MiniLM-L6-v2") == "all-MiniLM-L6-v2"
    assert escape_latex("selector-3-layers --train") == "selector-3-layers -{}-train"


def test_a_latex_table_has_the_rules_of_booktabs() -> None:
    assert to_latex(HEADER, ROWS, caption="WikiQA, P@1 of 243.").splitlines() == [
        r"\begin{table}",
        r"\caption{WikiQA, P@1 of 243.}",
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"model & MAP measured & parameters \\",
        r"\midrule",
        r"has, 128 bits & 75.62 $\pm$0.80 & 22,565,376 \\",
        r"word\_overlap \& 50 \% & 51.08 & -- \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    assert r"\caption" not in to_latex(HEADER, [])
    # A bracket after a line break would be its optional argument.
    assert r"{[}CLS{]} & {*}" in to_latex(["a", "b"], [["[CLS]", "*"]])


def test_csv_has_a_column_for_the_deviation() -> None:
    header, first, second = csv.reader(io.StringIO(to_csv(HEADER, ROWS)))

    assert header == ["model", "MAP measured", "MAP measured ±", "parameters"]
    assert first == ["has, 128 bits", "75.62", "0.80", "22565376"]
    assert second == ["word_overlap & 50 %", "51.08", "", DASH]
    assert to_csv(["a", "b"], []) == "a,b\n"


CELLS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Nd"]))


@given(st.lists(st.tuples(CELLS, CELLS)))
def test_csv_is_read_back_as_it_was(rows: list[tuple[str, str]]) -> None:
    read = list(csv.reader(io.StringIO(to_csv(["a", "b"], rows), newline="")))

    assert [tuple(row) for row in read] == [("a", "b"), *rows]


@pytest.mark.parametrize("format_", FORMATS)
def test_protocol_and_notes_go_where_they_cannot_break_a_table(
    format_: str, capsys: pytest.CaptureFixture[str]
) -> None:
    output = Output(format_)

    for _ in range(2):
        output.show(["a"], [["1"]], title="a title", notes=["a note"], footer=["a footer"])
    output.show_json({"a": 1})

    shown = capsys.readouterr()
    one = {
        "table": "a title\na\n1\na footer\n",
        "csv": "a\n1\n",
        "latex": to_latex(["a"], [["1"]], caption="a note. a title. a footer."),
        "json": "",
    }[format_]
    assert shown.out == ('{"a": 1}\n' if format_ == "json" else f"{one}\n{one}")
    assert shown.err == {
        "table": "a note\n" * 2,
        "csv": "a note\na title\na footer\n" * 2,
    }.get(format_, "")


@pytest.mark.parametrize(
    "command",
    [
        "evaluate bm25 examples/questions.jsonl",
        "compare bm25 jaccard examples/questions.jsonl",
        "data list",
        "models list",
    ],
)
def test_commands_with_tables_print_all_formats(command: str) -> None:
    root = Path(__file__).parents[2]
    arguments = [str(root / word) if "/" in word else word for word in command.split()]
    shown = {
        name: CliRunner().invoke(main, [*arguments, "--format", name]).stdout for name in FORMATS
    }

    rows = list(csv.reader(io.StringIO(shown["csv"])))
    assert len({len(row) for row in rows}) == 1
    assert len(rows) == len(shown["table"].splitlines())
    assert shown["latex"].count(r" \\") == len(rows)
    assert shown["json"] == CliRunner().invoke(main, [*arguments, "--json"]).stdout
