from rejoinder.text.packed import PackedTexts


def test_texts_are_returned_as_they_were_added() -> None:
    texts = PackedTexts()

    assert [texts.add(ids) for ids in ([5, 6], [], [65_535])] == [0, 1, 2]

    assert [texts[number] for number in range(3)] == [[5, 6], [], [65_535]]
    assert len(texts) == 3


def test_ids_above_16_bits_widen_the_array() -> None:
    texts = PackedTexts()
    texts.add([7, 8])
    texts.add([9, 65_536])
    texts.add([10])

    assert [texts[number] for number in range(3)] == [[7, 8], [9, 65_536], [10]]
    assert texts.sum_ids() == 65_570


def test_consecutive_texts_are_returned_together() -> None:
    texts = PackedTexts()
    for ids in ([1], [2, 3], [4]):
        texts.add(ids)

    joined, lengths = texts.get_range(1, 3)

    assert (joined.tolist(), lengths.tolist()) == ([2, 3, 4], [2, 1])
    assert texts.get_range(1, 1)[0].tolist() == []


def test_tokens_are_counted() -> None:
    texts = PackedTexts()
    for ids in ([1], [2, 3], []):
        texts.add(ids)

    assert texts.count_tokens() == 3
    assert texts.count_tokens([1, 1, 2]) == 4
