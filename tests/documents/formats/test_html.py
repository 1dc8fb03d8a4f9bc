"""HTML: the main content of pages as blocks."""

import io
from pathlib import Path

import pytest

from rejoinder.documents.blocks import Block, ExtractedDocument
from rejoinder.documents.formats.html import read
from rejoinder.errors import InputError

PAGES = Path(__file__).parents[1] / "pages"


def read_page(page: str | bytes) -> tuple[ExtractedDocument, list[Block]]:
    raw = page.encode() if isinstance(page, str) else page
    (document,) = read(io.BytesIO(raw))
    return document, list(document.blocks)


def read_texts(page: str | bytes) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in read_page(page)[1]]


def read_paths(page: str) -> list[tuple[str, str]]:
    return [(" > ".join(block.path), block.text) for block in read_page(page)[1]]


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.html")), ids=lambda page: page.stem)
def test_pages_of_each_generator_yield_the_blocks_that_a_person_sees(page: Path) -> None:
    document, blocks = read_page(page.read_bytes())
    lines = [f"title | {document.title}"]
    for block in blocks:
        path = " > ".join(block.path)
        lines.append(f"{block.kind} | {path} | #{block.anchor} | {block.text!r}")
    assert lines == page.with_suffix(".txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    "navigation",
    [
        "<nav>Go home</nav>",
        "<div role=navigation>Go home</div>",
        "<div role=doc-toc>Go home</div>",
        "<header><p>Go home</p></header>",
        "<footer>Go home</footer>",
        "<aside>Go home</aside>",
        "<div role=complementary>Go home</div>",
        "<div hidden>Go home</div>",
        "<p aria-hidden=true>Go home</p>",
        "<p style='display : none'>Go home</p>",
        "<div id=nav-tree>Go home</div>",
        "<div class='x navheader'>Go home</div>",
        "<script>go()</script><style>a{}</style><noscript>Go</noscript><template>Go</template>",
        "<svg><text>Go</text></svg><iframe>Go</iframe><button>Go</button><label>Go</label>",
        "<select><option>Go</option></select><textarea>Go</textarea><img alt=Go>",
        "<ul><li><a href=a>Home</a></li></ul>",
        "<ul><li>Teas: <a href=a>Green</a> | <a href=b>Black</a> | <a href=b>White</a></ul>",
        "<ul><li>Teas <ul><li><a href=a>Green</a></li></ul></li></ul>",
        "<table><tr><td><a href=a>A</a></td><td><a href=b>B</a></td><td>|</td></tr></table>",
        "<table><tr><th>Contents</th></tr><tr><td><ul><li><a href=a>A</a></ul></td></tr></table>",
        "<div><a href=a>A</a> | <a href=b>B</a> | <a href=c>C</a></div>",
        "<div><a href=a>Docs</a> &gt; <a href=b>Tea</a> &gt; Pot</div>",
        "<p>Languages: <a href=a>en</a> | <a href=b>fr</a> | <a href=c>ja</a></p>",
        "<p>Next: <a href=a>Boiling water</a>, Previous: <a href=b>Cups</a></p>",
        "<p><a rel=next href=a>Boiling water</a> comes after <a rel=prev href=b>Cups</a></p>",
        "<div>Chapter 1 <a href=a>Prev</a> Chapter 3 <a href=b>Next</a></div>",
        "<div><a href=up.html>up</a></div>",
        "<dl><dt><a href=a>One</a><dd><a href=b>Two</a></dl>",
        "<h2>Table of Contents</h2><ul><li><a href=a>A</a><li><a href=b>B</a></ul><h2></h2>",
        "<div><p><a href=a>A</a> | <a href=b>B</a></p><p>Tea 2.0</p></div>",
        "<div><p>On this page</p><ul><li><a href=a>A</a></li></ul></div>",
        "<div><h3>Topics</h3><ul><li><a href=a>A</a></li></ul></div>",
    ],
)
def test_navigation_and_hidden_elements_are_no_blocks(navigation: str) -> None:
    page = f"<title>T</title><body>{navigation}<h2>Tea</h2><p>Tea is hot.</p></body>"
    assert read_texts(page) == [("heading", "Tea"), ("paragraph", "Tea is hot.")]


def test_links_in_sentences_cells_and_headings_are_content() -> None:
    page = """<h2><a href="#tea">Tea</a></h2>
    <p>See <a href=a>cups</a> and <a href=b>pots</a>.</p><p><a href=c>Hot water</a></p>
    <ul><li><a href=d>Sencha</a> grows in the shade for three weeks.</li></ul>
    <table><tr><td><a href=e>Cup</a></td><td>holds two hundred millilitres</td></tr></table>"""
    assert read_texts(page) == [
        ("heading", "Tea"),
        ("paragraph", "See cups and pots."),
        ("paragraph", "Hot water"),
        ("item", "Sencha grows in the shade for three weeks."),
        ("row", "Cup: holds two hundred millilitres"),
    ]


def test_main_content_is_all_if_it_holds_most_of_the_text() -> None:
    page = "<p>Buy now</p><{0}><p>Tea is hot, and ice is not.</p></{0}><p>Subscribe</p>"
    for tag in ("main", "article", "div role=main", "div class=body"):
        found = read_texts(page.format(tag).replace("</div role=main>", "</div>"))
        assert found == [("paragraph", "Tea is hot, and ice is not.")]
    before = "<h1>Tea</h1><p>Buy now</p><main><h2>Cups</h2><p>Cups are small.</p></main>"
    assert [text for _, text in read_texts(before)] == ["Tea", "Cups", "Cups are small."]
    short = "<article><p>Tea.</p></article><p>A long paragraph stands outside of it.</p>"
    assert len(read_texts(short)) == 2


def test_the_title_in_the_header_of_a_page_is_kept_and_asides_in_the_main_content() -> None:
    page = """<header><h1>Tea</h1><p>Buy now</p></header>
    <section><header><h2>Cups</h2></header><p>Cups are small.</p></section>"""
    assert [text for _, text in read_texts(page)] == ["Tea", "Cups", "Cups are small."]
    page = "<div><h1>Tea</h1><p>J. Roe</p><div class=toc>x</div></div><h2>Cups</h2>Cups are small."
    assert [text for _, text in read_texts(page)] == ["Tea", "Cups", "Cups are small."]
    page = "<main><p>Tea is hot.</p><aside>Ice is not.</aside><footer>So.</footer></main>"
    assert [text for _, text in read_texts(page)] == ["Tea is hot.", "Ice is not.", "So."]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("2<sup>31</sup>-1", "2³¹-1"),
        ("2<sup>n+k</sup>", "2^(n+k)"),
        ("CO<sub>2</sub>", "CO₂"),
        ("x<sub>max</sub>", "x_max"),
        ("20 m<sup>2</sup>", "20 m²"),
        ("grams per square metre<sup>2</sup>", "grams per square metre²"),
        ("the 5<sup>th</sup>", "the 5th"),
        ("Tea<sup>TM</sup>", "Tea™"),
        ("hot<sup>[1]</sup>", "hot"),
        ("hot<sup><a href='#f'>1</a></sup>", "hot"),
        ("hot<a href='#f'><sup>1</sup></a>", "hot"),
        ("is served<sup>1</sup> hot.<sup>2</sup>", "is served hot."),
        ("hot<sup>*</sup>", "hot"),
        ("<sup>1</sup>Or cold", "Or cold"),
        ("hot<a href='#x'>¶</a>", "hot"),
        ("hot <a class=headerlink href='#x'>x</a>", "hot"),
        ("a<br>b", "a b"),
        ("a <code>b  c</code>, d", "a b c, d"),
        ("<math><msup><mi>x</mi><mn>2</mn></msup><mo>/</mo><mfrac><mi>a</mi><mn>3</mn></mfrac>"
         "</math>", "x² / a/3"),
        ("<math><msub><mi>x</mi><mn>2</mn></msub><msqrt><mi>a</mi><mi>b</mi></msqrt></math>",
         "x₂ √(ab)"),
        ("<math><mi>x</mi><annotation>\\x</annotation></math>", "x"),
        (f"<math>{'<mrow>' * 22}<msup><mi>x</mi><mn>2</mn></msup></math>", "x2"),  # too deep
        ("<![CDATA[x]]><?php x ?><!-- x -->a", "a"),
    ],
)  # fmt: skip
def test_text_inside_a_paragraph(source: str, text: str) -> None:
    assert read_texts(f"<p>{source}</p>") == [("paragraph", text)]


def test_control_characters_are_white_space() -> None:
    page = "<meta charset=utf-8><p>a\x07b&nbsp;c\0d</p>e"
    assert [text for _, text in read_texts(page)] == ["a b c d", "e"]


def test_two_line_breaks_divide_a_paragraph() -> None:
    assert [text for _, text in read_texts("<p>a<br>b<br> <br/>c<br><br><br>d")] == [
        "a b",
        "c",
        "d",
    ]


def test_items_are_blocks_and_their_further_paragraphs_too() -> None:
    page = "<ul><li><p>One</p><p>more</p></li><li>two<ol><li>three</ol>end<li><b>Four</b><p>it is"
    assert read_texts(page) == [
        ("item", "One"),
        ("paragraph", "more"),
        ("item", "two"),
        ("item", "three"),
        ("paragraph", "end"),
        ("definition", "Four: it is"),
    ]


def test_definitions_are_a_term_with_its_body() -> None:
    long = "word " * 70
    page = f"""<dl><dt>-q<dd>Be quiet.<dt>-v<dt>--verbose<dd><p>{long}</p><p>More.</p>
    <dt>Why?<dd>So.<dt>Form<dd><pre>a</pre><dt>List<dd><ul><li>b</ul>
    <dt>Yes<dd><dt>No<dd>Both<dd>Again<dt>Alone</dl>after"""
    blocks = read_page(page)[1]
    assert [(block.kind, " ".join(block.path), block.text) for block in blocks] == [
        ("definition", "", "-q: Be quiet."),
        ("definition", "", "-v, --verbose: " + long.strip()),
        ("paragraph", "-v, --verbose", "More."),
        ("definition", "", "Why? So."),
        ("definition", "", "Form"),
        ("code", "Form", "a"),
        ("heading", "", "List"),
        ("item", "List", "b"),
        ("definition", "", "Yes, No: Both"),
        ("paragraph", "Yes, No", "Again"),
        ("heading", "", "Alone"),
        ("paragraph", "", "after"),
    ]


@pytest.mark.parametrize(
    ("rows", "texts"),
    [
        (
            "<tr><th>Tea<th>Cup<tr><td>Green<td><tr><td>Black.<td>big",
            "Tea: Green/Tea: Black; Cup: big",
        ),
        ("<thead><tr><td>Tea<td>Cup</thead><tr><td>a<td>b", "Tea: a; Cup: b"),
        ("<tr><td><b>Tea</b><td><b>Cup</b><tr><td>a<td>b", "Tea: a; Cup: b"),
        ("<tr><th>Tea:<td>green<td>hot", "Tea: green; hot"),
        ("<tr><td>a b c d e<td>f<td>g", "a b c d e; f; g"),
        ("<tr><th>A<th colspan=2>B<tr><th><th>x<th>y<tr><td>1<td>2<td>3", "A: 1; B x: 2; B y: 3"),
        ("<tr><th>A<th>B<tr><td rowspan=2>1<td>2<tr><td>3", "A: 1; B: 2/A: 1; B: 3"),
        ("<tr><th>A<th>B<tr><td colspan=2>all", "all"),
        ("<tr><td>a<td><table><tr><td>b<td>c<td>d</table>", "a/b; c; d"),
        ("<tr><td>one cell only", "one cell only"),
        ("<tr><td><h2>H</h2><p>p<td>side", "H/p/side"),
        ("<tr><td rowspan=9999999999999 colspan=99999999>a<td>b", "a; b"),
        ("<td>a<td>b<td>c", "a; b; c"),
        ("<tr><th>Key<td><p>one<p>two<p>three", "Key: one two three"),
    ],
)
def test_tables_are_rows_with_their_headings(rows: str, texts: str) -> None:
    assert "/".join(text for _, text in read_texts(f"<table>{rows}</table>")) == texts


def test_a_layout_table_is_the_blocks_it_holds() -> None:
    page = "<table role=presentation><tr><th>Tea<td>is hot.<td><pre>a\n b</pre></table>"
    assert read_texts(page) == [("caption", "Tea"), ("paragraph", "is hot."), ("code", "a\n b")]


def test_code_keeps_its_lines_without_numbers() -> None:
    page = """<pre>
      <span class=lineno>1</span>  if a:
      <span class=lineno>2</span>    b  <br>        x
    </pre>
    <p><code>c<br>&nbsp; d
    e</code></p><div class=fragment><div class=line>e</div><div class=line> f</div>
    </div><xmp><b></xmp><div class=code><p>text</p></div>"""
    assert [text for kind, text in read_texts(page) if kind == "code"] == [
        "if a:\n  b\nx",
        "c\n  d e",
        "e\n f",
        "<b>",
    ]
    assert read_texts(page)[-1] == ("paragraph", "text")


def test_a_manual_page_in_pre_has_headings_and_definitions() -> None:
    page = """<pre>
BREW(1)                          BREW(1)

<b>NAME</b>
       brew - make tea out of leaves

<b>OPTIONS</b>
   <b>Common options</b>
       These are the options that ev-
       ery cook  knows.

       <b>-t</b> minutes
              Wait so many minutes for the tea to be ready.

              Green tea needs two.

       o      Black tea is strong, says the
              cook.

       Run it every day:

           brew -t 2
           drink

<b>AUTHOR</b>
       A cook
</pre>"""
    assert read_paths(page) == [
        ("", "NAME"),
        ("NAME", "brew - make tea out of leaves"),
        ("", "OPTIONS"),
        ("OPTIONS", "Common options"),
        ("OPTIONS > Common options", "These are the options that every cook knows."),
        ("OPTIONS > Common options", "-t minutes: Wait so many minutes for the tea to be ready."),
        ("OPTIONS > Common options > -t minutes", "Green tea needs two."),
        ("OPTIONS > Common options", "Black tea is strong, says the cook."),
        ("OPTIONS > Common options", "Run it every day:"),
        ("OPTIONS > Common options", "brew -t 2\ndrink"),
        ("", "AUTHOR"),
        ("AUTHOR", "A cook"),
    ]


def test_headings_head_what_follows_up_to_the_end_of_their_box() -> None:
    page = """<h1>A</h1><div role=heading aria-level=2>B</div><div class=note><h3>Note</h3>n</div>
    b<p class=rubric>C</p>c<h2>D</h2>d"""
    assert read_paths(page) == [
        ("", "A"),
        ("A", "B"),
        ("A > B", "Note"),
        ("A > B > Note", "n"),
        ("A > B", "b"),
        ("A > B", "C"),
        ("A > B > C", "c"),
        ("A", "D"),
        ("A > D", "d"),
    ]


def test_a_block_has_its_line_and_the_nearest_anchor() -> None:
    page = """<html><body>

<a name="one"></a><h2>A</h2>
<p>

a</p><p id="own">b</p>
<div class="section" id="two"><h2>B</h2><p>c</p></div><nav id="no"></nav>
<h2 id="three">C</h2>text"""
    blocks = read_page(page)[1]
    assert [(block.text, block.line, block.anchor) for block in blocks] == [
        ("A", 3, "one"),
        ("a", 6, "one"),
        ("b", 6, "own"),
        ("B", 7, "two"),
        ("c", 7, "two"),
        ("C", 8, "three"),
        ("text", 8, "three"),
    ]


@pytest.mark.parametrize(
    "raw",
    [
        "<meta charset=windows-1250><p>żółw</p>".encode("cp1250"),
        "<?xml version='1.0' encoding='iso-8859-2'?><p>żółw</p>".encode("iso-8859-2"),
        "<meta charset=latin-1><p>żółw</p>".encode(),
        "<p>żółw</p>".encode("utf-16"),
    ],
)
def test_the_declared_encoding_counts_where_it_can_be_right(raw: bytes) -> None:
    assert read_texts(raw) == [("paragraph", "żółw")]


@pytest.mark.parametrize(
    "page", ["", " \n", "<!-- x -->", "<html></html>", "<?xml version='1.0'?>"]
)
def test_an_empty_page_is_a_document_without_blocks(page: str) -> None:
    document, blocks = read_page(page)
    assert (document.title, blocks) == ("", [])


def test_the_title_is_that_of_the_page() -> None:
    page = "<html><head><title> Hot\n tea &amp; ice</title></head><svg><title>x</title></svg>a"
    document, blocks = read_page(page)
    assert (document.title, [block.text for block in blocks]) == ("Hot tea & ice", ["a"])
    document, blocks = read_page("<body><html><head><title>Tea</title></head><body>a")
    assert (document.title, [block.text for block in blocks]) == ("Tea", ["a"])


def test_formatting_that_is_never_closed_does_not_end_the_page() -> None:
    assert len(read_page("<p><font size=2>Tea is hot." * 3_000)[1]) == 3_000


@pytest.mark.parametrize(
    "tags",
    [
        "<div>",
        "<table><tr><td>",
        "<dl><dt>t<dd>",
        "<ul><li>",
        "<b><a href=x><sup>",
        "<math><mrow>",
    ],
)
def test_pages_that_would_lose_what_is_deep_are_refused(tags: str) -> None:
    with pytest.raises(InputError, match="nested too deep"):
        read_page(tags * 30_000 + "x")


@pytest.mark.parametrize(
    "page",
    [
        "<p>" + "<br> " * 100_000 + "x",
        "<pre>" + "\n " * 100_000 + "x</pre>",
        "</div>" * 10_000 + "<" * 10_000,
        "<td rowspan=65000 colspan=1000>x" * 2_000,
    ],
)
def test_hostile_pages_end_in_time(page: str) -> None:
    read_page(page)


def test_scripts_in_code_stay_scripts() -> None:
    (document,) = read(io.BytesIO(b"<pre>y = x<sup>2</sup> + 1\nz = a<sub>i</sub></pre>"))

    assert [block.text for block in document.blocks] == ["y = x² + 1\nz = a_i"]
