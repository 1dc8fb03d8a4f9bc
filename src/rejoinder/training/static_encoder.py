"""Trains a static sentence encoder on the vectors of a teacher.

The table starts with the teacher's vector of each word piece, reduced by principal components and
weighted by how rare the piece is.  A step takes questions, each with its answer, a wrong sentence
of the same list, and sentences that the teacher finds near.  Over the sentences of the whole step,
the table learns the teacher's distribution for each question, the answer itself, and the teacher's
similarities between sentences.

Axes: Q questions of a step, S sentences of a step, V word pieces, D width.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Unpack

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, kl_div, log_softmax

from rejoinder.bundle.folder import open_bundle
from rejoinder.documents.passages import NEIGHBOURS
from rejoinder.errors import BundleError
from rejoinder.evaluation import evaluate
from rejoinder.models.sentence_encoder import transformer
from rejoinder.models.sentence_encoder.encoder import Matrix
from rejoinder.models.sentence_encoder.export import write_static_encoder
from rejoinder.models.sentence_encoder.module import Bags, StaticTable, make_bags
from rejoinder.models.sentence_encoder.scorer import CosineScorer
from rejoinder.models.sentence_encoder.static import KIND, PartWeights, StaticEncoder
from rejoinder.models.sentence_encoder.transformer import TransformerEncoder
from rejoinder.text.wordpiece import WordPiece
from rejoinder.training.batches import MAX_KNOWN_TEXTS
from rejoinder.training.devices import Compute, need_one_process
from rejoinder.training.fit import Fitted, Hooks, Plan, fit_and_write, fit_model, make_plan
from rejoinder.training.mixing import AnsweredQuestions, Part, TrainingData, prepare
from rejoinder.training.options import StaticEncoderOptions, Trained
from rejoinder.training.teacher import VectorCache
from rejoinder.types import Example

WEIGHTS = PartWeights(title=0.5, heading=0.5, outer=0.25, neighbour=0.15)
"""Chosen on the manuals and the pooled corpus of benchmarks/open_corpus.py."""
MAX_WRONG = 8
"""How many wrong sentences of a list the pool keeps; some lists are long."""
MINED = 40
"""How many of the sentences that the teacher finds nearest to a question may be drawn."""
DRAWN = 6
"""How many of them a step draws."""
ALIKE = 512
"""How many sentences of a step are compared with all others."""
MAX_CELLS = 1 << 27
"""Cosines that are computed at once: half a gigabyte."""
TEACHER_TEMPERATURE, TEMPERATURE = 0.03, 0.05
ANSWER_WEIGHT, ALIKE_WEIGHT = 0.3, 0.3
"""Weights in the loss; the teacher's distribution over sentences has weight 1."""


def train_static_encoder(
    options: StaticEncoderOptions, data: TrainingData = (), **hooks: Unpack[Hooks]
) -> Trained:
    """Train a static encoder, write it as a bundle, and measure the bundle on dev.

    The teacher's vectors are cached beside the bundle, for a second run.  Args and errors are
    those of `train_ranker`; a weight below 1 selects a share of a data set once.
    """
    need_one_process("train static-encoder")  # a step compares all of its sentences
    say = hooks.get("say", lambda _: None)
    training_set = prepare(options, data, say)
    questions = AnsweredQuestions([part.take_share(options.seed) for part in training_set.parts])
    teacher = open_teacher(Path(options.teacher))
    pool = SentencePool(questions, options.seed)
    target = training_set.target
    cache = VectorCache(target.with_name(f"{target.name}.teacher-{teacher.hash}"), teacher.width)
    say(
        f"{len(pool.questions)} questions, {len(pool.sentences)} sentences; the teacher's"
        f" vectors are cached in {cache.path}"
    )
    taught = pool.teach(teacher, cache, say)
    pieces = WordPiece(teacher.vocabulary)
    source = Steps(pool, taught, pieces)
    start = make_table(teacher, source.count_sentences(), options.width)

    def fit(plan: Plan[Any], parts: Sequence[Part], **control: Any) -> Fitted[StaticTable]:
        compute = plan.compute.only_if_chosen()  # the products are small
        return fit_model(
            replace(plan, compute=compute),
            StaticTable(torch.from_numpy(start)),
            parts,
            lambda _: source,
            to_scorer=partial(_to_scorer, vocabulary=teacher.vocabulary),
            measure=partial(measure_loss, compute=compute),
            **control,
        )

    def write(model: StaticTable, training: Mapping[str, Any]) -> None:
        _write(target, model, teacher.vocabulary, training, _make_card(options, training))

    plan = make_plan(
        options, {"teacher": teacher.hash, "width": options.width}, loss="distillation"
    )
    single = replace(training_set, parts=[Part(questions)])
    trained = fit_and_write(plan, single, fit, write, **hooks)
    if not training_set.dev:
        return trained
    scorer = CosineScorer(KIND, StaticEncoder(open_bundle(target)))
    return replace(trained, means=evaluate(scorer, training_set.dev).means)


def open_teacher(folder: Path) -> TransformerEncoder:
    """Open the bundle of a teacher.

    Raises:
        BundleError: it is missing, corrupt, or of another kind.
    """
    bundle = open_bundle(folder)
    if bundle.manifest.kind != transformer.KIND:
        raise BundleError(
            f"{folder}: a bundle of kind {bundle.manifest.kind!r} cannot teach; make a teacher"
            " with 'rejoinder models import ENCODER --to FOLDER'"
        )
    return TransformerEncoder(bundle)


class PooledSentence(NamedTuple):
    """A sentence of the pool, with the sentences around it."""

    title: str
    text: str
    near: tuple[str, ...]


class SentencePool:
    """The sentences of all lists, each once, and the questions with places of their answers."""

    def __init__(self, examples: Iterable[Example], seed: int) -> None:
        self.questions: list[str] = []
        self.answers: list[list[int]] = []
        self.wrong: list[list[int]] = []
        self._numbers: dict[tuple[str, str], int] = {}
        self.sentences: list[PooledSentence] = []
        rng = np.random.default_rng(seed)
        for example in examples:
            labels = np.array(example.labels, dtype=bool)
            wrong = rng.permutation(np.flatnonzero(~labels))[:MAX_WRONG]
            title = _find_title(example)
            self.questions.append(example.question)
            self.answers.append(self._add(example, title, np.flatnonzero(labels)))
            self.wrong.append(self._add(example, title, wrong))

    def teach(
        self,
        teacher: TransformerEncoder,
        cache: VectorCache,
        say: Callable[[str], None] = lambda _: None,
    ) -> "Taught":
        """Return the teacher's vectors of all questions and sentences."""
        sentences = [
            f"{item.title}. {item.text}" if item.title else item.text for item in self.sentences
        ]
        questions = [teacher.question_prefix + question for question in self.questions]
        return Taught(
            torch.from_numpy(cache.embed(questions, teacher.encode, say)),
            torch.from_numpy(cache.embed(sentences, teacher.encode, say)),
        )

    def _add(self, example: Example, title: str, places: NDArray[np.int64]) -> list[int]:
        return [self._add_sentence(example, title, place) for place in places.tolist()]

    def _add_sentence(self, example: Example, title: str, place: int) -> int:
        text = example.candidates[place].text
        number = self._numbers.setdefault((title, text), len(self.sentences))
        if number == len(self.sentences):
            near: tuple[str, ...] = ()
            if example.candidates[place].position is not None:
                texts = [item.text for item in example.candidates]
                near = tuple(texts[max(0, place - NEIGHBOURS) : place])
                near += tuple(texts[place + 1 : place + 1 + NEIGHBOURS])
            self.sentences.append(PooledSentence(title, text, near))
        return number


class Taught(NamedTuple):
    """The teacher's vectors of a pool, one row per question or sentence."""

    questions: Tensor
    sentences: Tensor


@dataclass(frozen=True, slots=True)
class StepBatch:
    """The questions and sentences of one step."""

    questions: Bags
    sentences: Bags
    answers: Tensor  # (Q,) the place of each question's answer
    is_other: Tensor  # (Q, S) whether a sentence is another answer to a question
    targets: Tensor  # (Q, S) the teacher's cosines
    alike: Tensor  # (A,) places of sentences
    alike_targets: Tensor  # (A, S) the teacher's cosines


class Steps:
    """Makes the batches; random choices depend on torch's generator."""

    def __init__(self, pool: SentencePool, taught: Taught, pieces: WordPiece) -> None:
        self._pool, self._taught = pool, taught
        read = _make_reader(pieces)
        self._questions = make_bags([(read(text), 1.0)] for text in pool.questions)
        self._sentences = make_bags(
            [
                (read(item.text), 1.0),
                (read(item.title), WEIGHTS.title),
                *((read(text), WEIGHTS.neighbour) for text in item.near),
            ]
            for item in pool.sentences
        )
        self._counts: Counter[int] = Counter()
        for item in pool.sentences:
            self._counts.update(set(read(item.text).tolist()))
        self._mined = mine(taught)

    def describe(self) -> dict[str, int]:
        """Return the counts that identify the pool in a checkpoint's fingerprint."""
        pool = self._pool
        return {"questions": len(pool.questions), "sentences": len(pool.sentences)}

    def count_sentences(self) -> tuple[Counter[int], int]:
        """Return how many sentences have each piece, and how many there are."""
        return self._counts, len(self._pool.sentences)

    def batch(self, questions: Tensor) -> StepBatch:
        """Return the questions, and the sentences that are drawn for them."""
        numbers = questions.tolist()
        places: list[int] = []
        drawn: list[int] = []
        for number in numbers:
            places.append(len(drawn))
            drawn.append(_draw(self._pool.answers[number]))
            if self._pool.wrong[number]:
                drawn.append(_draw(self._pool.wrong[number]))
            mined = torch.randperm(self._mined.shape[1])[:DRAWN]
            drawn += self._mined[number, mined].tolist()
        sentences = np.array(drawn)
        is_other = np.stack([np.isin(sentences, self._pool.answers[number]) for number in numbers])
        is_other[np.arange(len(numbers)), places] = False
        taught = self._taught.sentences[sentences]
        alike = torch.randperm(len(sentences))[:ALIKE]
        return StepBatch(
            self._questions.take(np.array(numbers)),
            self._sentences.take(sentences),
            torch.tensor(places),
            torch.from_numpy(is_other),
            self._taught.questions[questions] @ taught.T,
            alike,
            taught[alike] @ taught.T,
        )


def measure_loss(model: nn.Module, batch: StepBatch, _: str, *, compute: Compute) -> Tensor:
    """Return the loss of a step."""
    assert isinstance(model, StaticTable)
    sentences, questions = (
        model.encode_sentences(batch.sentences),
        model.encode_questions(batch.questions),
    )
    with compute.autocast():
        products = questions @ sentences.T, sentences[batch.alike] @ sentences.T
    scores, alike = (product.float() / TEMPERATURE for product in products)
    loss = _diverge(scores, batch.targets)
    own = scores.masked_fill(batch.is_other, float("-inf"))
    loss = loss + ANSWER_WEIGHT * cross_entropy(own, batch.answers)
    # A sentence is most similar to itself, which teaches nothing.
    itself, low = batch.alike[:, None], -1e4
    targets = batch.alike_targets.scatter(1, itself, low)
    return loss + ALIKE_WEIGHT * _diverge(alike.scatter(1, itself, low), targets)


def _diverge(scores: Tensor, targets: Tensor) -> Tensor:
    """Return the divergence of the scores from the teacher's cosines; a mean over rows."""
    return kl_div(
        log_softmax(scores, dim=1),
        log_softmax(targets / TEACHER_TEMPERATURE, dim=1),
        log_target=True,
        reduction="batchmean",
    )


def mine(taught: Taught) -> Tensor:
    """Return the sentences that the teacher finds nearest to each question, (questions, MINED)."""
    count = min(MINED, len(taught.sentences))
    rows = max(1, min(512, MAX_CELLS // max(1, len(taught.sentences))))
    parts = [
        torch.topk(part @ taught.sentences.T, count).indices
        for part in taught.questions.split(rows)
    ]
    return torch.cat(parts)


def make_table(
    teacher: TransformerEncoder, counted: tuple[Counter[int], int], width: int
) -> Matrix:
    """Return the table to start from, (V, D)."""
    counts, total = counted
    vectors = teacher.encode_pieces()
    vectors -= vectors.mean(axis=0)
    _, _, axes = np.linalg.svd(vectors, full_matrices=False)
    reduced = vectors @ axes[:width].T
    reduced = np.pad(reduced, ((0, 0), (0, width - reduced.shape[1])))
    reduced /= np.maximum(np.linalg.norm(reduced, axis=1, keepdims=True), 1e-9)
    having = np.array([counts[piece] for piece in range(len(vectors))])
    rarity = np.log((total + 1) / (1 + having)) / 8
    return np.asarray(reduced * rarity[:, None], dtype=np.float32)


def _make_reader(pieces: WordPiece) -> Callable[[str], NDArray[np.int64]]:
    """Return a function that turns a text into word pieces; neighbours are read again soon."""

    @lru_cache(MAX_KNOWN_TEXTS)
    def read(text: str) -> NDArray[np.int64]:
        words = pieces.tokenize(text)
        return np.fromiter((piece for word in words for piece in word), dtype=np.int64)

    return read


def _draw(numbers: Sequence[int]) -> int:
    return numbers[int(torch.randint(len(numbers), ()))]


def _find_title(example: Example) -> str:
    """Return the title of a list's document; empty where it only repeats the text."""
    document = example.candidates[0].document
    title = (document.title if document else "").replace("_", " ")
    return "" if example.candidates[0].text.startswith(title) else title


def _to_scorer(model: StaticTable, vocabulary: Sequence[str]) -> CosineScorer:
    """Return a scorer over the present weights, as a bundle would have them."""
    with TemporaryDirectory() as place:
        trial = Path(place, KIND)
        _write(trial, model, vocabulary, {}, "")
        return CosineScorer(KIND, StaticEncoder(open_bundle(trial)))


def _write(
    folder: Path,
    model: StaticTable,
    vocabulary: Sequence[str],
    training: Mapping[str, Any],
    card: str,
) -> None:
    table = model.table.numpy(force=True)
    gains = model.log_gains.exp().numpy(force=True)
    write_static_encoder(folder, vocabulary, table, gains, WEIGHTS, training=training, card=card)


def _make_card(options: StaticEncoderOptions, training: Mapping[str, Any]) -> str:
    return f"""# A static sentence encoder

{options.width} numbers per word piece, int8 with one scale per row, and a gain of each piece in a
question. A text is the sum of its pieces, scaled to length 1.

- **Teacher**: {Path(options.teacher).name}, by the vectors of its bundle.
- **Data**: {", ".join(map(str, training["data"]))}.
- **Command**: `{training.get("command", "")}`
"""
