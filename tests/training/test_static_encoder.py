"""The training of a static encoder: pool, cached vectors of the teacher, loss and bundle."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime")

from rejoinder.bundle.folder import open_bundle  # noqa: E402
from rejoinder.datasets.readers.judged import Judged, to_ordered_example  # noqa: E402
from rejoinder.errors import BundleError, InputError, TrainingError  # noqa: E402
from rejoinder.models.importing import ImportOptions, import_model  # noqa: E402
from rejoinder.models.registry import open_scorer  # noqa: E402
from rejoinder.models.sentence_encoder.module import StaticTable, make_bags  # noqa: E402
from rejoinder.models.sentence_encoder.static import StaticEncoder  # noqa: E402
from rejoinder.models.sentence_encoder.transformer import TransformerEncoder  # noqa: E402
from rejoinder.text.wordpiece import WordPiece  # noqa: E402
from rejoinder.training import fit as fitting  # noqa: E402
from rejoinder.training.devices import choose_compute  # noqa: E402
from rejoinder.training.loop import Step  # noqa: E402
from rejoinder.training.options import StaticEncoderOptions, Trained  # noqa: E402
from rejoinder.training.static_encoder import (  # noqa: E402
    MAX_WRONG,
    PooledSentence,
    SentencePool,
    StepBatch,
    Steps,
    Taught,
    make_table,
    measure_loss,
    open_teacher,
    train_static_encoder,
)
from rejoinder.training.teacher import KEY, VectorCache  # noqa: E402
from rejoinder.types import Candidate, Document, Example  # noqa: E402
from tests.models.selectors import VOCABULARY, write_encoder  # noqa: E402
from tests.models.static_encoders import make_passage, write_static  # noqa: E402

WORDS = ["ice", "water", "cave", "glacier", "rock", "summer", "winter", "river", "stone", "valley"]
EXAMPLES = [
    to_ordered_example(
        f"q{at}",
        f"where is the {word}",
        [Judged(f"the {word} is here", True), Judged(f"it rained in {WORDS[at - 1]}", False)],
        title=word,
    )
    for at, word in enumerate(WORDS)
]


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("teacher")
    pretrained = write_encoder(folder / "tiny", width=64)
    import_model(
        ImportOptions(to=folder / "teacher", source=str(pretrained), question_prefix="who: ")
    )
    return folder / "teacher"


def train(target: Path, teacher: Path, **options: Any) -> Trained:
    chosen = {"epochs": 1, "questions_per_step": 5, "width": 64, **options}
    return train_static_encoder(
        StaticEncoderOptions(to=target, teacher=teacher, **chosen), EXAMPLES
    )


def make_example(*candidates: Candidate, answers: int = 1) -> Example:
    labels = tuple(place < answers for place in range(len(candidates)))
    return Example("q", "who?", candidates, labels)


def test_a_pool_keeps_each_sentence_once() -> None:
    page = Document("d", "Big_cats", ("A lion.", "A tiger."))
    lion, tiger = Candidate("a", "A lion.", page, 0), Candidate("b", "A tiger.", page, 1)
    other = Candidate("c", "A lion.", Document("e", "Zoos", ("A lion.",)), 0)

    pool = SentencePool(
        [make_example(lion, tiger), make_example(tiger, lion), make_example(other)], seed=0
    )

    assert pool.sentences == [
        PooledSentence("Big cats", "A lion.", ("A tiger.",)),
        PooledSentence("Big cats", "A tiger.", ("A lion.",)),
        PooledSentence("Zoos", "A lion.", ()),
    ]
    assert pool.answers == [[0], [1], [2]]
    assert pool.wrong == [[1], [0], []]


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [("A lion", "A lion sleeps.", ""), ("Lions", "A lion sleeps.", "Lions"), ("", "It is.", "")],
)
def test_a_title_that_only_repeats_the_text_is_dropped(
    title: str, text: str, expected: str
) -> None:
    page = Document("d", title, (text,))

    pool = SentencePool([make_example(Candidate("a", text, page, 0))], seed=0)

    assert [item.title for item in pool.sentences] == [expected]


def test_a_pool_keeps_few_wrong_sentences_of_a_list() -> None:
    loose = [Candidate(str(at), f"sentence {at}") for at in range(30)]

    pool = SentencePool([make_example(*loose)], seed=0)

    assert len(pool.wrong[0]) == MAX_WRONG
    assert len(pool.sentences) == MAX_WRONG + 1
    assert all(item.near == () for item in pool.sentences)  # they are of no document


def test_one_batch_is_learnt_by_heart() -> None:
    pool = SentencePool(EXAMPLES, seed=0)
    order = [*(places[0] for places in pool.answers), *(places[0] for places in pool.wrong)]
    # A teacher for which each question is its answer, and unlike all other sentences.
    taught = Taught(torch.eye(10, 20), torch.eye(20)[torch.tensor(order).argsort()])
    steps = Steps(pool, taught, WordPiece(VOCABULARY))
    torch.manual_seed(0)
    model = StaticTable(torch.randn(len(VOCABULARY), 64))
    batch = steps.batch(torch.arange(len(EXAMPLES)))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    losses = []
    for _ in range(100):
        loss = measure_loss(model, batch, "distillation", compute=choose_compute("cpu", "fp32"))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

    assert losses[-1] < losses[0] / 5
    sentences = model.encode_sentences(batch.sentences)
    best = (model.encode_questions(batch.questions) @ sentences.T).argmax(dim=1)
    # A sentence may be drawn for several questions: all its places have the same vector.
    assert torch.equal(sentences[best], sentences[batch.answers])
    assert not torch.equal(model.log_gains, torch.zeros_like(model.log_gains))


def test_another_answer_of_a_list_is_not_wrong() -> None:
    loose = [Candidate(str(at), f"the {word}") for at, word in enumerate(WORDS[:3])]
    pool = SentencePool([make_example(*loose, answers=2), *EXAMPLES[:1]], seed=0)
    taught = Taught(torch.ones(2, 4), torch.ones(len(pool.sentences), 4))

    batch = Steps(pool, taught, WordPiece(VOCABULARY)).batch(torch.tensor([0, 1]))

    is_answer = torch.from_numpy(np.isin(find_numbers(pool, batch), pool.answers[0]))
    is_answer[batch.answers[0]] = False
    assert is_answer.any()
    assert torch.equal(batch.is_other[0], is_answer)


def find_numbers(pool: SentencePool, batch: StepBatch) -> list[int]:
    """Return the number in the pool of each sentence of a batch, by its pieces."""
    pieces = WordPiece(VOCABULARY)
    known = {
        tuple(
            sorted(
                {
                    piece
                    for word in pieces.tokenize(
                        item.text + " " + item.title + " " + " ".join(item.near)
                    )
                    for piece in word
                }
            )
        ): number
        for number, item in enumerate(pool.sentences)
    }
    starts = [0, *batch.sentences.ends[:-1].tolist()]
    return [
        known[tuple(batch.sentences.pieces[start:end].tolist())]
        for start, end in zip(starts, batch.sentences.ends.tolist(), strict=True)
    ]


def test_a_sentence_is_taught_after_its_title_and_a_question_after_the_prefix(
    teacher: Path, tmp_path: Path
) -> None:
    encoder = open_teacher(teacher)
    pool = SentencePool(EXAMPLES[:1], seed=0)

    taught = pool.teach(encoder, VectorCache(tmp_path / "cache", encoder.width))

    np.testing.assert_allclose(
        taught.questions[0], encoder.encode("who: where is the ice"), atol=2e-3
    )
    np.testing.assert_allclose(
        taught.sentences[0], encoder.encode("ice. the ice is here"), atol=2e-3
    )


def test_the_first_table_weighs_rare_pieces_more(teacher: Path) -> None:
    encoder = open_teacher(teacher)
    pieces = encoder.vocabulary
    counts = {pieces.index("the"): 99, pieces.index("ice"): 9}

    table = make_table(encoder, (Counter(counts), 99), 128)

    assert table.shape == (len(pieces), 128)
    lengths = np.linalg.norm(table, axis=1)
    assert lengths[pieces.index("the")] == pytest.approx(0, abs=1e-6)
    assert lengths[pieces.index("ice")] == pytest.approx(np.log(10) / 8, rel=1e-4)
    assert lengths[pieces.index("cave")] == pytest.approx(np.log(100) / 8, rel=1e-4)


def test_the_bundle_opens_measures_dev_and_gives_the_cosines_of_torch(
    teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained_models: list[Any] = []
    monkeypatch.setattr(
        "rejoinder.training.static_encoder.write_static_encoder", _spy(trained_models)
    )

    trained = train(tmp_path / "static", teacher, epochs=8, dev=EXAMPLES, learning_rate=0.03)

    assert trained.steps == 16
    assert trained.means
    assert set(trained.means) >= {"MAP", "P@1"}
    assert trained.means["P@1"] == 1
    bundle = open_bundle(tmp_path / "static", kind="static-encoder")
    assert bundle.manifest.training["data"] == ["10 examples"]
    assert "teacher" in (tmp_path / "static" / "README.md").read_text(encoding="utf-8")
    (table, gains, weights), encoder = trained_models[-1], StaticEncoder(bundle)
    model = StaticTable(torch.from_numpy(table))
    model.log_gains.data = torch.from_numpy(np.log(gains))
    pieces = WordPiece(open_teacher(teacher).vocabulary)

    def read(text: str) -> Any:
        return np.array([piece for word in pieces.tokenize(text) for piece in word], np.int64)

    texts = ["the ice is here", "it rained in winter"]
    sentences = model.encode_sentences(
        make_bags([[(read(text), 1.0), (read("ice"), weights.title)] for text in texts])
    )
    asked = model.encode_questions(make_bags([[(read("where is the ice"), 1.0)]]))
    cosines = encoder.encode_passages("ice", [make_passage(text) for text in texts])
    np.testing.assert_allclose(
        cosines @ encoder.encode_question("where is the ice"),
        (sentences @ asked.T)[:, 0].detach(),
        atol=0.01,
    )
    scorer = open_scorer(tmp_path / "static")
    assert scorer.score("where is the ice", ["it rained in stone", "the ice is here"])[1] > 0.5


def _spy(seen: list[Any]) -> Any:
    """Return the function that writes bundles, and record the weights that it is given."""
    from rejoinder.models.sentence_encoder.export import write_static_encoder

    def write(
        folder: Path, vocabulary: Any, table: Any, gains: Any, weights: Any, **rest: Any
    ) -> None:
        seen.append((table.copy(), gains.copy(), weights))
        write_static_encoder(folder, vocabulary, table, gains, weights, **rest)

    return write


def test_the_best_epoch_is_kept_and_no_trial_is_left(teacher: Path, tmp_path: Path) -> None:
    trained = train(tmp_path / "static", teacher, epochs=2, dev=EXAMPLES, keep_best=True)

    assert trained.steps == 4
    assert open_bundle(tmp_path / "static").manifest.training["kept"] == "best epoch on dev"
    hash_ = open_teacher(teacher).hash
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "static",
        f"static.teacher-{hash_}.keys",
        f"static.teacher-{hash_}.vectors",
    ]


def test_an_interrupted_training_resumes(
    teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr(fitting, "CHECKPOINT_SHARE", float("inf"))
    train(tmp_path / "whole", teacher, epochs=2)
    options = StaticEncoderOptions(
        to=tmp_path / "resumed", teacher=teacher, epochs=2, questions_per_step=5, width=64
    )

    def stop(step: Step) -> None:
        if step.number == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_static_encoder(options, EXAMPLES, on_step=stop)
    said: list[str] = []
    train_static_encoder(options, EXAMPLES, say=said.append)

    assert any("resuming from" in line for line in said)
    assert any("10 questions, 20 sentences" in line for line in said)
    whole, resumed = (open_bundle(tmp_path / name) for name in ("whole", "resumed"))
    assert StaticEncoder(whole).hash == StaticEncoder(resumed).hash


def test_a_second_run_encodes_nothing_again(
    teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[str] = []
    encode = TransformerEncoder.encode

    def count(self: TransformerEncoder, text: str) -> Any:
        encoded.append(text)
        return encode(self, text)

    monkeypatch.setattr(TransformerEncoder, "encode", count)

    train(tmp_path / "static", teacher)
    assert len(encoded) == len(set(encoded)) == 30  # 10 questions, 20 sentences
    encoded.clear()
    train(tmp_path / "static", teacher)

    assert encoded == []


def test_vectors_of_another_teacher_are_not_used(teacher: Path, tmp_path: Path) -> None:
    pretrained = write_encoder(tmp_path / "tiny", width=64, seed=1)
    import_model(ImportOptions(to=tmp_path / "other", source=str(pretrained)))

    train(tmp_path / "static", teacher)
    train(tmp_path / "static", tmp_path / "other")

    assert len(list(tmp_path.glob("static.teacher-*.vectors"))) == 2


@pytest.mark.parametrize("harm", ["keys", "vectors", "both"])
def test_an_interrupted_cache_is_truncated_to_whole_rows(tmp_path: Path, harm: str) -> None:
    def encode(text: str) -> Any:
        encoded.append(text)
        return np.full(8, len(text), np.float32)

    encoded: list[str] = []
    texts = ["a", "bb", "ccc"]
    VectorCache(tmp_path / "cache", 8).embed(texts, encode)
    encoded.clear()
    keys, vectors = tmp_path / "cache.keys", tmp_path / "cache.vectors"
    if harm in ("keys", "both"):
        keys.write_bytes(keys.read_bytes()[:-1])
    if harm in ("vectors", "both"):
        vectors.write_bytes(vectors.read_bytes()[:-3])

    found = VectorCache(tmp_path / "cache", 8).embed([*texts, "a"], encode)

    assert found[:, 0].tolist() == [1, 2, 3, 1]
    assert encoded == ["ccc"]
    assert (keys.stat().st_size, vectors.stat().st_size) == (3 * KEY, 3 * 8 * 2)
    assert VectorCache(tmp_path / "cache", 8).embed([], encode).shape == (0, 8)


def test_a_cache_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"cache\.vectors: cannot be written: No such file"):
        VectorCache(tmp_path / "missing" / "cache", 8)


def test_a_teacher_of_another_kind_is_refused(teacher: Path, tmp_path: Path) -> None:
    folder = write_static(tmp_path / "other")

    with pytest.raises(BundleError, match=r"kind 'static-encoder' cannot teach; .*models import"):
        train(tmp_path / "static", folder)
    with pytest.raises(BundleError, match="nowhere: no such folder"):
        train(tmp_path / "static", tmp_path / "nowhere")
    assert not (tmp_path / "static").exists()


def test_a_width_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="width cannot be 100; it must be a multiple of 64"):
        StaticEncoderOptions(to=tmp_path / "m", teacher="teacher", width=100)


def test_examples_without_an_answer_are_refused(teacher: Path, tmp_path: Path) -> None:
    wrong = [to_ordered_example("q", "who", [Judged("it", False), Judged("he", False)])]
    options = StaticEncoderOptions(to=tmp_path / "m", teacher=teacher, width=64)

    with pytest.raises(TrainingError, match="no question has an answer"):
        train_static_encoder(options, wrong)
