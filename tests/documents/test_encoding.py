import pytest

from rejoinder.documents.encoding import decode
from rejoinder.errors import InputError

GERMAN = "Größe und Höhe der Wälder sind überall verschieden; das weiß man für die Straßen auch. "
RUSSIAN = "Это предложение написано по-русски, и всем нужно прочесть правильно. "
JAPANESE = "日本語の文章です。これは正しく読まれなければなりません。"
CURLY = "“Curly quotes” and a dash – that’s what Windows writes in a naïve café. "


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (GERMAN, "utf-8"),
        (GERMAN, "utf-8-sig"),
        (GERMAN, "utf-16"),
        (GERMAN, "utf-32"),
        (GERMAN, "cp1252"),
        (CURLY, "cp1252"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
    ],
)
def test_common_encodings_are_detected(text: str, encoding: str) -> None:
    assert decode((text * 10).encode(encoding)) == text * 10


def test_a_declared_encoding_precedes_detection() -> None:
    assert decode("żółw".encode("cp1250"), declared="windows-1250") == "żółw"


def test_an_unknown_declared_encoding_is_ignored() -> None:
    assert decode((RUSSIAN * 10).encode("cp1251"), declared="klingon") == RUSSIAN * 10


@pytest.mark.parametrize("raw", [b"\x7fELF\2\1\1\0\0\0\0\0" * 50, bytes(range(256)) * 20])
def test_binary_is_not_text(raw: bytes) -> None:
    with pytest.raises(InputError, match="not text"):
        decode(raw)
