from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import Tensor, nn  # noqa: E402
from torch.fx.experimental import _config as fx_config  # noqa: E402

from rejoinder.errors import InputError, TrainingError  # noqa: E402
from rejoinder.models.encoders.tokens import TextTokens  # noqa: E402
from rejoinder.models.ranker.module.convolution import (  # noqa: E402
    PooledConvolution,
    PooledConvolutions,
)
from rejoinder.models.ranker.module.pairs import TrainingPairs, move  # noqa: E402
from rejoinder.models.ranker.module.ranker import RankerConfig, initialise  # noqa: E402
from rejoinder.models.selector.module.loading import make_reader  # noqa: E402
from rejoinder.training import devices  # noqa: E402
from rejoinder.training import fit as fitting  # noqa: E402
from rejoinder.training.batches import CandidateLists, Triplets, split_answers  # noqa: E402
from rejoinder.training.checkpoint import load_checkpoint, save_checkpoint  # noqa: E402
from rejoinder.training.devices import Compute, choose_compute  # noqa: E402
from rejoinder.training.fit import Plan  # noqa: E402
from rejoinder.training.has import measure_loss  # noqa: E402
from rejoinder.training.loop import (  # noqa: E402
    Recipe,
    Step,
    TrainingState,
    make_state,
    measure_means,
    train,
)
from rejoinder.training.losses import LOSSES  # noqa: E402
from rejoinder.training.mixing import Part  # noqa: E402
from rejoinder.training.ranker import fit_ranker  # noqa: E402
from rejoinder.training.selector import fit_selector  # noqa: E402
from rejoinder.types import Example  # noqa: E402
from tests.models.examples import WIDTH, SpelledVectors  # noqa: E402
from tests.models.hashers import make_has  # noqa: E402
from tests.models.selectors import TOKENIZER, make_selector  # noqa: E402

HOST = choose_compute("cpu", "fp32")
META = Compute(torch.device("meta"), torch.float32)
RECIPE = Recipe("anchored", epochs=3, questions_per_step=6, learning_rate=3e-3, clip=1.0)


def make_uneven(examples: list[Example]) -> list[Example]:
    """Return lists of different lengths; one has only answers."""
    only = replace(examples[0], candidates=examples[0].candidates[:1], labels=(True,))
    short = [
        replace(item, candidates=item.candidates[:2], labels=item.labels[:2])
        for item in examples[1:4]
    ]
    return [only, *short, *examples[4:6]]


def get_gradient(state: TrainingState, source: Any, recipe: Recipe, measure: Any) -> list[Tensor]:
    next(train(state, source, recipe, order=lambda _: torch.arange(6), measure=measure))
    return [item.grad.clone() for item in state.model.parameters() if item.grad is not None]


@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_a_missing_device_is_an_error_that_names_the_remedy(device: str) -> None:
    present = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if present[device]:
        pytest.skip("this machine has it")

    with pytest.raises(
        InputError, match=rf"--device {device}: this machine has no .* --device cpu"
    ):
        choose_compute(device)


def pretend_gpu(monkeypatch: pytest.MonkeyPatch, *, cuda: int = 0, has_bf16: bool = True) -> None:
    """Have torch report CUDA devices, or an Apple GPU if there are none."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: cuda)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: has_bf16)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: cuda == 0)


def test_each_process_has_its_own_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_gpu(monkeypatch, cuda=2)

    for rank in range(2):
        monkeypatch.setenv("LOCAL_RANK", str(rank))
        compute = choose_compute()
        assert (compute.device, compute.precision) == (torch.device("cuda", rank), "bf16")
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(InputError, match=r"has 2 CUDA devices, .* torchrun --nproc-per-node 2"):
        choose_compute("cuda")


def test_a_precision_that_a_gpu_lacks_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_gpu(monkeypatch, cuda=1, has_bf16=False)

    assert choose_compute().precision == "fp32"
    assert choose_compute("cuda", "fp16").precision == "fp16"
    with pytest.raises(InputError, match="--precision bf16: this GPU does not compute it"):
        choose_compute("cuda", "bf16")

    pretend_gpu(monkeypatch)
    compute = choose_compute()
    assert (compute.device.type, compute.precision) == ("mps", "fp32")
    with pytest.raises(InputError, match=r"--precision fp16: .* on MPS; use fp32"):
        choose_compute("mps", "fp16")


def test_a_precision_is_chosen_or_native() -> None:
    native = "bf16" if torch.cpu._is_avx512_bf16_supported() else "fp32"

    assert choose_compute("cpu").precision == native
    assert choose_compute("cpu").only_if_chosen().precision == "fp32"
    assert choose_compute("cpu", "bf16").only_if_chosen().precision == "bf16"
    assert choose_compute("cpu", "fp16").dtype == torch.float16


def test_each_precision_rounds_its_products_alone() -> None:
    one = torch.full((2, 2), 1 + 2**-9)
    for precision, expected in {"fp32": 1 + 2**-9, "fp16": 1 + 2**-9, "bf16": 1.0}.items():
        with choose_compute("cpu", precision).autocast():
            product = one @ torch.eye(2)
        assert product.dtype == choose_compute("cpu", precision).dtype
        assert product[0, 0].item() == expected


@pytest.mark.parametrize("model", ["compare-aggregate", "rel-cnn"])
def test_small_products_are_exact_unless_a_precision_is_chosen(
    model: str, examples: list[Example]
) -> None:
    plan = Plan(RankerConfig(model, WIDTH), Recipe(epochs=1), compute=choose_compute("cpu"))
    native = plan.compute.precision

    default, chosen = (
        fit_ranker(replace(plan, compute=compute), [Part(examples)], SpelledVectors())
        for compute in (plan.compute, choose_compute("cpu", "bf16"))
    )

    assert default.compute.precision == {"rel-cnn": native, "compare-aggregate": "fp32"}[model]
    assert chosen.compute.precision == "bf16"
    types = {
        module.product_type
        for module in chosen.model.modules()
        if isinstance(module, PooledConvolution | PooledConvolutions)
    }
    assert types == {torch.bfloat16}


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_a_training_in_less_precision_learns_and_resumes(
    precision: str, examples: list[Example], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr(fitting, "CHECKPOINT_SHARE", float("inf"))
    model = make_selector()
    plan = Plan(model.config, replace(RECIPE, epochs=4), compute=choose_compute("cpu", precision))
    steps: list[Step] = []
    through = fit_selector(
        plan, [Part(examples)], model, TOKENIZER, on_step=steps.append
    ).model.state_dict()

    def interrupt(step: Step) -> None:
        if step.number == 3:
            raise KeyboardInterrupt

    checkpoint = tmp_path / "checkpoint"
    with pytest.raises(KeyboardInterrupt):
        fit_selector(
            plan,
            [Part(examples)],
            make_selector(),
            TOKENIZER,
            checkpoint=checkpoint,
            on_step=interrupt,
        )
    resumed = fit_selector(
        plan, [Part(examples)], make_selector(), TOKENIZER, checkpoint=checkpoint
    )

    assert steps[-1].loss < steps[0].loss
    assert resumed.compute.precision == precision
    for name, value in resumed.model.state_dict().items():
        assert torch.equal(value, through[name])


def test_a_scaler_starts_where_the_checkpoint_left_it(tmp_path: Path) -> None:
    state = make_state(nn.Linear(2, 1), RECIPE, choose_compute("cpu", "fp16"))
    state.scaler.update(8.0)
    save_checkpoint(tmp_path / "c", state, done=1, best=None, of="it")
    other = make_state(nn.Linear(2, 1), RECIPE, choose_compute("cpu", "fp16"))

    load_checkpoint(tmp_path / "c", other, of="it")

    assert other.scaler.get_scale() == 8.0


@pytest.mark.filterwarnings("ignore:.*to a meta parameter")  # which has no values
def test_a_checkpoint_resumes_on_another_device(examples: list[Example], tmp_path: Path) -> None:
    source = TrainingPairs(examples[:6], SpelledVectors())
    config = RankerConfig("cosinet", WIDTH, "birnn")
    state = make_state(initialise(config, seed=0), RECIPE, HOST)
    get_gradient(state, source, RECIPE, None)
    save_checkpoint(tmp_path / "c", state, done=1, best=None, of="it")
    other = make_state(initialise(config, seed=1), RECIPE, META)
    other.optimizer.defaults["fused"] = True  # as on every device that trains

    assert load_checkpoint(tmp_path / "c", other, of="it") == (1, None)
    moments = [value for values in other.optimizer.state.values() for value in values.values()]
    assert len(moments) == 3 * len(list(other.model.parameters()))
    assert {moment.device.type for moment in moments} == {"meta"}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("at_once", [1, 4])
def test_the_gradient_of_parts_is_that_of_the_step(
    loss: str, at_once: int, examples: list[Example]
) -> None:
    source = TrainingPairs(make_uneven(examples), SpelledVectors())
    recipe = Recipe(loss, questions_per_step=6)

    whole, parts = (
        get_gradient(
            make_state(initialise(RankerConfig("cosinet", WIDTH), seed=0), recipe, HOST),
            source,
            replace(recipe, questions_at_once=count),
            None,
        )
        for count in (None, at_once)
    )

    for one, other in zip(whole, parts, strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-4)


def test_the_gradient_of_parts_of_triplets_is_that_of_the_step(examples: list[Example]) -> None:
    tokens = TextTokens(TOKENIZER, max_tokens=32)
    source = Triplets(list(split_answers(Part(examples[:6])).examples), tokens)
    recipe = Recipe("triplet", questions_per_step=6, learning_rate=1e-3)

    whole, parts = (
        get_gradient(
            make_state(make_has(dropout=0.0), recipe, HOST),
            source,
            replace(recipe, questions_at_once=count),
            lambda *given: measure_loss(*given, compute=HOST),
        )
        for count in (None, 4)
    )

    assert len(whole) == len(parts) > 0
    for one, other in zip(whole, parts, strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-3)


def test_networks_and_losses_run_where_their_batch_is(
    examples: list[Example], monkeypatch: pytest.MonkeyPatch
) -> None:
    # On this device nothing is computed, so that torch cannot count the tokens of a mask.
    monkeypatch.setattr(fx_config, "meta_nonzero_assume_all_nonzero", True)
    selector = make_selector().train()
    lists = CandidateLists(examples[:3], make_reader(selector.config, TOKENIZER))
    batch = lists.batch(torch.arange(3))
    moved = replace(move(batch, META.device), list_lengths=batch.list_lengths)
    has = make_has().train().to(META.device)
    tokens = TextTokens(TOKENIZER, max_tokens=32)
    triplets = Triplets(list(split_answers(Part(examples[:3])).examples), tokens)

    def score(model: Any, batch: Any) -> Tensor:
        return torch.cat([model(**chunk.inputs) for chunk in batch.chunks])

    selector.to(META.device)
    assert score(selector, moved).shape == batch.labels.shape
    network: Any = nn.Module()
    network.forward = lambda batch: score(selector, batch)
    means = {loss: measure_means(network, moved, loss) for loss in LOSSES}
    loss = measure_loss(has, move(triplets.batch(torch.arange(3)), META.device), "", compute=META)

    assert {mean.device.type for mean in means.values()} == {loss.device.type} == {"meta"}
    assert means["anchored"].shape == (2,)


def test_a_batch_moves_with_all_of_its_tensors(examples: list[Example]) -> None:
    pairs = TrainingPairs(examples[:2], SpelledVectors())

    moved = move({"a": [pairs.batch(torch.arange(2))], "b": (1, "text")}, META.device)

    batch = moved["a"][0]
    found = (batch.vectors, batch.labels, batch.question.words, batch.candidate.related)
    assert {tensor.device.type for tensor in found} == {"meta"}
    assert (moved["b"], type(batch.question_rows)) == ((1, "text"), int)


def test_a_step_is_seeded_by_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def draw(rank: str) -> float:
        monkeypatch.setenv("RANK", rank)
        with HOST.seeded(5):
            return torch.rand(()).item()

    torch.manual_seed(1)
    before = torch.get_rng_state()

    assert draw("0") == draw("0") != draw("1")
    assert torch.equal(torch.get_rng_state(), before)


def test_too_little_memory_is_one_line() -> None:
    with (
        pytest.raises(
            TrainingError, match=r"out of memory with 4 questions .* --questions-at-once"
        ),
        devices.explain_out_of_memory(4),
    ):
        raise torch.cuda.OutOfMemoryError("tried to allocate 2 GiB")
