from rejoinder.adapters.pruning import prune
from rejoinder.cascade.cascade import Cascade
from tests.adapters.texts import BEES, EVERYTHING_PRUNED, PRUNED, QUESTION, TEA


def test_texts_keep_their_order_and_their_place(lexical: Cascade) -> None:
    found = prune(QUESTION, [BEES, TEA, "", TEA], scorer=lexical)

    assert [(item.place, item.text) for item in found] == [(1, PRUNED), (3, PRUNED)]
    assert found[0].metadata == EVERYTHING_PRUNED
    spans = found[0].metadata["rejoinder_spans"]
    assert "\n\n".join(TEA[start:end] for start, end in spans) == PRUNED


def test_a_text_that_is_html_is_left_as_it_is(lexical: Cascade) -> None:
    page = "<!DOCTYPE html><p>Bees dance.</p>"

    tea, left = prune(QUESTION, [TEA, page], scorer=lexical)

    assert tea.text == PRUNED
    assert (left.place, left.text) == (1, page)
    assert left.metadata["rejoinder_probability"] is None
    assert left.metadata["rejoinder_compression"] == 0
    assert "is HTML; give its text" in left.metadata["rejoinder_note"]


def test_a_threshold_decides_and_no_texts_are_no_error(lexical: Cascade) -> None:
    strict = prune(QUESTION, [TEA], scorer=lexical, threshold=0.9, budget_ms=60_000)

    assert strict == []
    assert [item.text for item in prune(QUESTION, [BEES], scorer=lexical, threshold=0)] == [BEES]
    assert prune(QUESTION, [], scorer=lexical) == []
