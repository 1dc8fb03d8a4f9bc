import pytest

from rejoinder.text.language import describe_language, is_foreign


@pytest.mark.parametrize(
    "text",
    [
        "Wie heiß wird grüner Tee gebrüht?",
        "Wie drucke ich zwei Kopien?",
        "Was kostet das?",
        "Comment imprimer deux copies ?",
        "Comment configurer le serveur ?",
        "Où sont les journaux de CUPS ?",
        "Qui a écrit ce livre ?",
        "¿Dónde están los registros?",
        "Qué es CUPS?",
        "Como imprimir dos copias?",
        "Como configurar o servidor?",
        "Quanto custa um bilhete?",
        "Posso mudar a porta?",
        "Come stampo due copie?",
        "Come installo CUPS?",
        "Dove sono i file di log?",
        "Waar staat het logboek?",
        "Hoe druk ik twee kopieën af?",
        "Wie heeft dit boek geschreven?",
        "Hur skriver jag ut en fil?",
        "Var ligger konfigurationsfilen?",
        "Vem skrev boken?",
        "Hvordan udskriver jeg to kopier?",
        "Hva koster en billett?",
        "Jak wydrukować dwie kopie?",
        "Gdzie jest plik konfiguracyjny?",
        "Co to jest CUPS?",
        "Nasıl iki kopya yazdırırım?",  # noqa: RUF001
        "Bu dosya nerede?",
        "Yazıcı neden çalışmıyor?",  # noqa: RUF001
        "Как напечатать файл?",
        "文件如何打印?",
        "كيف أطبع ملفا؟",
    ],
)
def test_other_languages_are_told_from_english(text: str) -> None:
    assert is_foreign(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "CUPS",
        "ls -la",
        "du -sh /var",
        "How do I print two copies?",
        "What does das Boot mean?",
        "Who was born in São Paulo?",
        "The angle θ is 30° wide.",
        "print duplex",
        "Comment syntax in CMake",
        "Rio de la Plata",
        "due date per user installer",
        "chi square test",
        "São Paulo café",
        "was nerve gas used in world war 1?",
        "Daly et al.",
        "-u allow:all -u deny:none -u allow:all",
    ],
)
def test_english_and_names_are_not_foreign(text: str) -> None:
    assert not is_foreign(text)


def test_the_note_says_what_is_foreign() -> None:
    english, german = "How hot is green tea?", "Wie heiß ist der Tee?"
    end = "to be in another language; rejoinder was measured on English alone"

    assert describe_language(english, english) == ""
    assert describe_language(german, "") == f"the question seems {end}"
    assert describe_language(english, german) == f"the answer seems {end}"
    assert describe_language(german, german) == f"the question and the answer seem {end}"
