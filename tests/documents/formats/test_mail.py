import io
from email.message import EmailMessage

import pytest

from rejoinder.documents.blocks import ExtractedDocument
from rejoinder.documents.formats.mail import read
from rejoinder.errors import InputError


def read_texts(raw: bytes) -> list[str]:
    return [block.text for document in read(io.BytesIO(raw)) for block in document.blocks]


def read_document(raw: bytes) -> ExtractedDocument:
    (document,) = read(io.BytesIO(raw))
    return document


def make_message(body: str, kind: str = "text/plain", head: str = "") -> bytes:
    return f"Subject: Tea\n{head}Content-Type: {kind}\n\n{body}".encode()


def test_headers_give_title_and_metadata() -> None:
    raw = (
        b"From: =?utf-8?q?J=C3=BCrgen?= <j@x.test>\nTo: a@x.test,\n b@x.test\nX-Spam: no\n"
        b"Date: Mon, 1 Jun 2020 12:00:00 +0000\nSubject: =?iso-8859-1?Q?Gr=FCner?=\n Tee\n\nHot.\n"
    )
    document = read_document(raw)

    assert document.title == "Grüner Tee"
    assert document.row == ""
    assert document.metadata == {
        "from": "Jürgen <j@x.test>",
        "to": "a@x.test, b@x.test",
        "date": "Mon, 1 Jun 2020 12:00:00 +0000",
    }
    assert [block.text for block in document.blocks] == ["Hot."]


@pytest.mark.parametrize(
    "subject",
    [
        "=?nope?q?Tea?=",
        "=?utf-8?b?!!!?=",
        "=?utf-8?q?=ff=fe?=",
        "\x80Tea",
        "=?utf-8?",
        "=?utf-8?b?QQQ?=",
    ],
)
def test_broken_headers_are_kept_as_they_are(subject: str) -> None:
    document = read_document(b"Subject: " + subject.encode("latin-1") + b"\n\nHot.\n")

    assert isinstance(document.title, str)
    assert [block.text for block in document.blocks] == ["Hot."]
    document.title.encode()  # without lone surrogates


def test_quotes_and_signature_are_left_out() -> None:
    body = (
        "It is hot\nnow.\n\nOn Mon, 1 Jun 2020, Ann Lee of the tea shop\n<a@x.test> wrote:\n\n"
        "> Is it hot?\n>> Quite.\nYes.\n\nBob wrote:\n> Why?\nBecause.\n-- \nAnn\n"
    )

    assert read_texts(make_message(body)) == ["It is hot now.", "Yes.", "Because."]


def test_what_follows_an_original_message_is_left_out() -> None:
    assert read_texts(make_message("Hot.\n\n-----Original Message-----\nFrom: x\n")) == ["Hot."]


def test_flowed_lines_are_joined() -> None:
    body = "Tea is \nhot.\n\n Fromage is not.\n\n-- \nAnn\n"

    assert read_texts(make_message(body, "text/plain; format=flowed")) == [
        "Tea is hot.",
        "Fromage is not.",
    ]
    assert read_texts(make_message("Gre \nen tea\n", 'text/plain; format="flowed"; delsp=yes')) == [
        "Green tea"
    ]


def test_plain_text_is_preferred_and_attachments_are_not_read() -> None:
    message = EmailMessage()
    message["Subject"] = "Tea"
    message.set_content("Plain tea.")
    message.add_alternative("<p>HTML tea.</p>", subtype="html")
    message.add_attachment("hidden", filename="a.txt")
    message.add_attachment(EmailMessage())

    assert read_texts(message.as_bytes()) == ["Plain tea."]


def test_html_is_read_where_there_is_no_plain_text() -> None:
    message = EmailMessage()
    message.set_content("<h1>Tea</h1><p>It is <b>hot</b>.</p><script>x</script>", subtype="html")
    (document,) = read(io.BytesIO(message.as_bytes()))

    assert [(block.kind, block.text, block.path) for block in document.blocks] == [
        ("heading", "Tea", ()),
        ("paragraph", "It is hot.", ("Tea",)),
    ]


@pytest.mark.parametrize(
    ("body", "charset", "expected"),
    [
        ("Grüner Tee".encode("latin-1"), "iso-8859-1", "Grüner Tee"),
        ("お茶は熱い".encode("iso-2022-jp"), "iso-2022-jp", "お茶は熱い"),
        ("Grüner Tee".encode(), "no-such-charset", "Grüner Tee"),
        (b"Tea \x1b$B\xff", "iso-2022-jp", "Tea"),
        (b"Tea \x00\x01\x02\x03\xff\xfe\x00\x05", "us-ascii", "Tea"),
    ],
)
def test_charsets(body: bytes, charset: str, expected: str) -> None:
    head = f"Content-Transfer-Encoding: 8bit\nContent-Type: text/plain; charset={charset}\n\n"

    assert read_texts(head.encode() + body)[0].startswith(expected)


def test_code_in_a_message_keeps_its_lines() -> None:
    _, code, _ = read_texts(make_message("Run:\n\n    boil()\n    pour()\n\nDone now.\n"))

    assert [line.strip() for line in code.splitlines()] == ["boil()", "pour()"]


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain; charset*=nope''%ff; charset*0=x; charset=y",
        "text/plain; charset=hex",
        'text/plain; charset="a\0b"',
        "text/plain; filename*=utf-8''%ff",
    ],
)
def test_broken_parameters_are_ignored(kind: str) -> None:
    assert read_texts(make_message("Hot\x80.\n", kind))[0].startswith("Hot")


def test_a_broken_message_does_not_hide_the_next() -> None:
    nested = "".join(
        f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(2_000)
    )
    raw = f"From a\n{nested}\n\nFrom b\nSubject: Tea\n\nHot.\n".encode()

    assert [document.title for document in read(io.BytesIO(raw))] == ["Tea"]


def test_a_mailbox_holds_one_document_per_message() -> None:
    raw = (
        b"From a@x.test Mon Jun  1 12:00:00 2020\nSubject: One\n\nHot.\n>From here on.\n"
        b"From now on too.\n\nFrom b@x.test Mon Jun  1 12:00:00 2020\nSubject: Two\n\nCold.\n"
    )
    documents = [
        (document.title, document.row, [block.text for block in document.blocks])
        for document in read(io.BytesIO(raw))
    ]

    assert documents == [
        ("One", "1", ["Hot. From here on. From now on too."]),
        ("Two", "2", ["Cold."]),
    ]


def test_what_is_no_message_is_refused() -> None:
    with pytest.raises(InputError, match="no headers"):
        read_document(b"\nTea is hot.\n")


def test_deeply_nested_parts_do_not_crash() -> None:
    part = "".join(
        f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(2_000)
    )

    with pytest.raises(InputError, match="cannot be read"):
        read_document(part.encode())
