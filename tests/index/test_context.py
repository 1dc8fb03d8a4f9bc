"""The text around an answer, and places that open."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rejoinder.engine.engine import Engine
from rejoinder.engine.texts import answer_text
from rejoinder.errors import UnknownNameError
from rejoinder.index.candidates import make_url
from rejoinder.index.index import Index
from rejoinder.index.sqlite import context
from rejoinder.models.lexical.scorers import Jaccard, RetrievalOrder
from rejoinder.types import Answer, Document

PAGE = """<title>Tea</title><h1>Tea</h1><p>Tea is a drink. It is old.</p>
<h2 id="brewing">Brewing</h2>
<p>The water decides. Hard water will spoil the tea.</p>
<p>Each kind has a temperature:</p>
<ul><li>Green tea is brewed at 75 degrees.</li><li>Black tea is boiled at 100 degrees.</li></ul>
<table><tr><th>Kind</th><th>Minutes</th></tr><tr><td>Sencha</td><td>2 minutes</td></tr>
<tr><td>Assam</td><td>4 minutes</td></tr></table>
<h2 id="storing">Storing</h2><p>Keep leaves in a dark tin.</p>"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "docs" / "tea page.html"
    path.parent.mkdir()
    path.write_text(PAGE, encoding="utf-8")
    return path


@pytest.fixture
def engine(tmp_path: Path, page: Path) -> Iterator[Engine]:
    index = Index(tmp_path / "index", create=True)
    index.add([page])
    with Engine(index, Jaccard()) as engine:
        yield engine


def ask(engine: Engine, question: str, **options: str) -> Answer:
    return engine.answer(question, **options).answers[0]  # type: ignore[arg-type]


def texts(answer: Answer) -> list[str]:
    return [block.text for block in answer.context]


def test_a_sentence_comes_with_its_paragraph(engine: Engine) -> None:
    answer = ask(engine, "will hard water spoil it?")

    assert answer.sentence == "Hard water will spoil the tea."
    (block,) = answer.context
    assert (block.kind, block.text) == (
        "paragraph",
        "The water decides. Hard water will spoil the tea.",
    )
    (document,) = engine.index.documents()
    whole = engine.index.get_text(document)
    assert whole[block.start : block.end] == block.text
    assert block.start <= answer.source.start < answer.source.end <= block.end


def test_an_item_comes_with_its_list_and_the_line_above(engine: Engine) -> None:
    answer = ask(engine, "when is green tea brewed?")

    assert [block.kind for block in answer.context] == ["paragraph", "item", "item"]
    assert texts(answer)[0] == "Each kind has a temperature:"
    assert texts(answer)[2] == "Black tea is boiled at 100 degrees."


def test_a_row_comes_with_its_table(engine: Engine) -> None:
    answer = ask(engine, "how many minutes does assam take?")

    assert [block.kind for block in answer.context] == ["row", "row"]
    assert ["Sencha" in text for text in texts(answer)] == [True, False]


@pytest.mark.parametrize(
    ("before", "is_shown"),
    [
        ("The water decides.", False),
        ("These are the times:", True),
        ("The table below has the times.", True),
        ("Each kind has its own time, as follows. It is short.", False),
        ("Type this:\n\n    kettle --hot:", False),
    ],
)
def test_a_paragraph_is_shown_with_a_table_that_it_introduces(
    tmp_path: Path, before: str, is_shown: bool
) -> None:
    path = tmp_path / "tea.md"
    table = "| Kind | Minutes |\n|---|---|\n| Sencha | 2 minutes |\n| Assam | 4 minutes |\n"
    path.write_text(f"# Tea\n\nTea is old.\n\n{before}\n\n{table}", encoding="utf-8")
    with Index(tmp_path / "index", create=True) as index:
        index.add([path])
        found = ask(Engine(index, Jaccard()), "how many minutes does assam take?")
        section = ask(
            Engine(index, Jaccard()), "how many minutes does assam take?", context="section"
        )

    kinds = [block.kind for block in found.context]
    assert kinds == ["paragraph"] * is_shown + ["row", "row"]
    assert [block.kind for block in section.context] == ["heading", "paragraph", "paragraph"] + [
        "row"
    ] * 2


def test_a_section_is_everything_below_its_heading(engine: Engine) -> None:
    answer = ask(engine, "will hard water spoil it?", context="section")

    assert texts(answer)[0] == "Brewing"
    assert answer.context[0].kind == "heading"
    assert "Assam" in texts(answer)[-1]
    assert not any("tin" in text or "old" in text for text in texts(answer))


def test_a_sentence_alone_has_no_context(engine: Engine) -> None:
    assert ask(engine, "will hard water spoil it?", context="sentence").context == ()
    with pytest.raises(UnknownNameError, match="unknown context 'page'; known: sentence"):
        ask(engine, "will hard water spoil it?", context="page")


def test_sentences_of_one_passage_take_one_place(tmp_path: Path) -> None:
    with Index(tmp_path / "index", create=True) as index:
        index.add_documents(
            [
                Document(
                    "a",
                    text="Bees can dance well. All bees can dance often. Bees will dance at noon.",
                ),
                Document(
                    "b", text="Few bees will dance in winter, when it is cold and dark outside."
                ),
            ]
        )
        engine = Engine(index, Jaccard())

        merged = engine.answer("when can bees dance?", top=2)
        alone = engine.answer("when can bees dance?", top=2, context="sentence")
        more = engine.answer("when can bees dance?", top=10)

    assert [answer.source.document for answer in merged.answers] == ["a", "b"]
    assert {answer.source.document for answer in alone.answers} == {"a"}
    assert len(more.answers) == 4, "too few passages: the sentences that they show follow"
    assert [answer.rank for answer in more.answers] == [1, 2, 3, 4]
    assert sorted((item.score for item in more.answers), reverse=True) == [
        item.score for item in more.answers
    ]


def test_near_duplicates_are_listed_under_the_best(tmp_path: Path) -> None:
    with Index(tmp_path / "index", create=True) as index:
        index.add_documents(
            [
                Document("a", text="The green tea is brewed slowly at 75 degrees in a warm pot."),
                Document("b", text="Green tea is brewed slowly at 75 degrees in a warm pot."),
            ]
        )

        found = Engine(index).answer("how is green tea brewed?", top=2)

    (answer,) = found.answers
    documents = [answer.source.document, *(item.document for item in answer.other_sources)]
    assert sorted(documents) == ["a", "b"]


def test_a_long_block_is_cut_around_the_sentence(tmp_path: Path) -> None:
    filler = " ".join(f"Line {number} says nothing." for number in range(400))
    with Index(tmp_path / "index", create=True) as index:
        index.add_documents([Document("a", text=f"{filler} Bees can dance well. {filler}")])
        answer = ask(Engine(index, Jaccard()), "who can dance?")

    (block,) = answer.context
    assert len(block.text) <= 2 * context.MARGIN + len(answer.sentence)
    first = answer.source.start - block.start
    assert block.text[first : first + len(answer.sentence)] == "Bees can dance well."


def test_a_long_list_is_limited(tmp_path: Path) -> None:
    path = tmp_path / "list.md"
    items = [f"- Number {number} is of {'no ' * 20}use.\n" for number in range(200)]
    items[100] = "- Bees can dance well.\n"
    path.write_text("".join(items), encoding="utf-8")
    with Index(tmp_path / "index", create=True) as index:
        index.add([path])
        answer = ask(Engine(index, Jaccard()), "who can dance?")

    assert 3 < len(answer.context) < 60
    assert sum(map(len, texts(answer))) <= context.LIMITS["paragraph"].characters
    place = texts(answer).index("Bees can dance well.")
    assert abs(place - len(answer.context) // 2) <= 1, "as many before as after"


def test_a_text_is_read_by_paragraphs() -> None:
    text = "Bees fly.\nBees can dance well.\n\nTea is very hot.\n \nIt rains."

    def find(form: str) -> Answer:
        return answer_text("who can dance?", text, scorer=Jaccard(), context=form).answers[0]

    (paragraph,), (section,) = find("paragraph").context, find("section").context
    assert paragraph.text == "Bees fly.\nBees can dance well."
    assert section.text == text
    assert find("sentence").context == ()
    last = answer_text("is it?", "It is.\n\nIt rains.", scorer=RetrievalOrder(), top=2).answers[1]
    assert [block.text for block in last.context] == ["It rains."]


def test_an_answer_opens_at_its_place(engine: Engine, page: Path) -> None:
    source = ask(engine, "will hard water spoil it?").source

    (document,) = engine.index.store.get_documents()
    assert source.document_id == document.id
    assert source.url == f"{page.as_uri()}#brewing"
    assert "tea%20page.html" in source.url


def test_urls() -> None:
    assert make_url("", b"/docs/tea.pdf", page=7) == "file:///docs/tea.pdf#page=7"
    assert make_url("", b"/docs/tea.md", anchor="green") == "file:///docs/tea.md"
    assert make_url("", b"uploaded:/etc/tea.html", anchor="a") == ""
    assert make_url("", b"") == ""
    assert make_url("javascript:alert(1)", b"") == ""
    assert make_url("http://example.org/tea#old", b"", anchor="new") == "http://example.org/tea#old"
    assert make_url("https://example.org/t", b"/t.html", page=2) == "https://example.org/t#page=2"
    assert make_url("", b"/t.html", anchor='a"><b') == "file:///t.html#a%22%3E%3Cb"


def test_a_document_brings_its_url(tmp_path: Path) -> None:
    with Index(tmp_path / "index", create=True) as index:
        metadata = {"url": "https://example.org/bees"}
        index.add_documents([Document("a", text="Bees can dance well.", metadata=metadata)])

        assert ask(Engine(index, Jaccard()), "who dances?").source.url == "https://example.org/bees"


MAN = """.TH FETCH 1
.SH OPTIONS
.TP
.BR \\-L ", " \\-\\-location
Follow redirects to another host. A limit is set with \\-\\-max\\-redirs here.
.IP
Each redirect takes one more request.
.TP
.B \\-\\-long
Write every step.
"""


@pytest.fixture
def manual(tmp_path: Path) -> Iterator[Engine]:
    path = tmp_path / "fetch.1"
    rest = "This sentence makes the definition longer than one block of the index may be. " * 30
    path.write_text(f"{MAN}{rest}\nNote: the very last step is secret.\n", encoding="utf-8")
    index = Index(tmp_path / "index", create=True)
    index.add([path])
    with Engine(index, Jaccard()) as engine:
        yield engine


@pytest.mark.parametrize(
    ("question", "sentence", "headings"),
    [
        (
            "follow redirects to another host",
            "-L, --location: Follow redirects to another host.",
            ("OPTIONS",),
        ),
        (
            "a limit is set with max-redirs",
            "A limit is set with --max-redirs here.",
            ("OPTIONS", "-L, --location"),
        ),
        (
            "each redirect takes one more request",
            "Each redirect takes one more request.",
            ("OPTIONS", "-L, --location"),
        ),
        ("write every step", "--long: Write every step.", ("OPTIONS",)),
        ("the very last step is secret", "Note: the very last step is secret.", ("OPTIONS",)),
    ],
)
def test_every_sentence_of_an_option_names_it(
    manual: Engine, question: str, sentence: str, headings: tuple[str, ...]
) -> None:
    answer = ask(manual, question)

    assert (answer.sentence, answer.source.headings) == (sentence, headings)


def test_the_rest_of_a_long_definition_has_no_made_up_term(manual: Engine) -> None:
    rest = [
        source.headings
        for hit in manual.index.search("this sentence makes the definition longer", 9)
        if hit.candidate.text.startswith("This sentence")
        for source in [
            manual.index.locate(hit.candidate),
            *manual.index.locate_copies(hit.candidate),
        ]
        if source
    ]

    assert rest
    assert set(rest) <= {("OPTIONS",), ("OPTIONS", "--long")}


def test_a_definition_without_a_colon_has_no_term(tmp_path: Path) -> None:
    path = tmp_path / "faq.html"
    path.write_text("<title>FAQ</title><dl><dt>Why?</dt><dd>It is hot. Tea cools slowly.</dd></dl>")
    index = Index(tmp_path / "index", create=True)
    index.add([path])
    with Engine(index, Jaccard()) as engine:
        assert ask(engine, "tea cools slowly").source.headings == ()
