import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("torch")

from rejoinder.cli import main
from rejoinder.errors import InputError, RejoinderError, UnknownNameError
from rejoinder.papers.has import tables as has
from rejoinder.papers.has import training as has_training
from rejoinder.papers.ingredients import (
    Ingredients,
    describe_pretraining,
    fits,
    join_ingredients,
    label_bundle,
    label_data,
    label_encoder,
    label_scorer,
    show_ingredients,
)
from rejoinder.papers.pretraining import ENCODERS, find_encoder_facts, find_vectors_facts
from rejoinder.papers.table import Run, find_runs

OWN = {"encoder": "small", "train": "wikiqa", "recipe": "default", "device": "", "precision": ""}
RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


def test_the_tables_own_ingredients_are_taken_where_none_is_given() -> None:
    assert Ingredients().apply(OWN) == {
        "encoder": "small",
        "train": "wikiqa",
        "recipe": "default",
    }


def test_given_ingredients_replace_those_that_a_row_has() -> None:
    given = Ingredients("bert", train=("wikiqa:train", "qed@0.5"), recipe="paper", precision="fp32")

    assert given.apply(OWN) == {
        "encoder": "bert",
        "train": "wikiqa:train + qed@0.5",
        "recipe": "paper",
        "precision": "fp32",
    }
    assert given.apply({"start": "selector"}) == {"start": "selector"}


def test_a_run_fits_where_it_has_all_that_is_wanted() -> None:
    made = {**Ingredients().apply(OWN), "device": "cpu", "precision": "bf16"}

    assert fits(made, Ingredients().apply(OWN))
    assert fits(made, Ingredients(precision="bf16").apply(OWN))
    assert not fits(made, Ingredients(precision="fp32").apply(OWN))
    assert not fits(made, Ingredients("bert").apply(OWN))


def test_a_folder_is_labelled_by_its_content(encoder: Path) -> None:
    label = label_encoder(str(encoder))
    copy = encoder.rename(encoder.with_name("other"))
    (copy / "config.json").write_text("{}", encoding="utf-8")

    name, _, digits = label.partition("#")
    assert (name, len(digits)) == ("encoder", 8)
    assert label_encoder(str(copy)).partition("#")[2] != digits
    assert label_encoder("all-MiniLM-L6-v2") == "all-MiniLM-L6-v2"
    assert label_bundle("selector").startswith("rejoinder/selector#")
    assert label_scorer("selector") == label_bundle("selector")
    assert label_scorer("bm25") == "bm25"
    assert label_scorer(str(copy)).startswith("other#")


def test_data_of_files_are_labelled_by_their_content(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text("{}", encoding="utf-8")

    label = label_data(["qed:fit@0.5", f"{tmp_path / 'mine.jsonl'}@2"])

    assert label.startswith("qed:fit@0.5 + mine.jsonl#")
    assert label.endswith("@2")


def test_seeds_that_were_made_differently_show_both() -> None:
    joined = join_ingredients([{"device": "cpu", "precision": "bf16"}, {"device": "cuda"}])

    assert joined == {"device": "cpu/cuda", "precision": "bf16"}
    assert show_ingredients({"vectors": "glove", "train": "qed", **joined}) == (
        "glove, train qed, cpu/cuda, bf16"
    )


def test_what_is_known_of_pretraining_is_said_once() -> None:
    rows = [{"encoder": "roberta-base#12345678"}, {"encoder": "roberta-base#12345678"}]
    rows += [{"start": "rejoinder/selector#12345678"}]
    rows += [{"encoder": "my-bert#12345678", "vectors": "glove.6B.300d.txt#12345678"}]

    assert describe_pretraining(rows) == [
        "In pretraining roberta-base saw: Wikipedia, books, news and web text; no question data.",
        f"In pretraining rejoinder/selector saw: {ENCODERS['rejoinder/selector'].saw}.",
        "In pretraining my-bert saw: not known to rejoinder.",
        "In pretraining glove.6B.300d.txt saw: Wikipedia, news or web text, by the file; no"
        " question data.",
    ]


@pytest.mark.parametrize(
    ("name", "is_known"),
    [
        ("bert-base-uncased", True),
        ("google-bert/BERT-base-uncased", True),
        ("/models/all-mpnet-base-v2/", True),
        ("microsoft/mpnet-base", True),
        ("mpnet-base", False),  # several models are called that
        ("selector", False),
        ("mine", False),
    ],
)
def test_an_encoder_is_recognised_by_its_published_name(name: str, is_known: bool) -> None:
    assert (find_encoder_facts(name) is not None) == is_known
    assert find_vectors_facts("numberbatch-en-19.08.txt.gz") is not None


def test_a_missing_encoder_is_one_line_that_says_where_to_get_it(tmp_path: Path) -> None:
    missing = tmp_path / "bert-base-uncased"

    with pytest.raises(InputError) as caught:
        Ingredients(str(missing)).check()

    assert str(caught.value) == (
        f"{missing}: no such folder; put config.json, model.safetensors and tokenizer.json from"
        " https://huggingface.co/google-bert/bert-base-uncased into a folder, and give the folder"
        " as --encoder"
    )


@pytest.mark.parametrize(
    ("name", "page"),
    [
        ("numberbatch-en.txt", "https://github.com/commonsense/conceptnet-numberbatch:"),
        ("mine.txt", "conceptnet-numberbatch and https://nlp.stanford.edu/projects/glove:"),
    ],
)
def test_missing_vectors_are_one_line_that_says_where_to_get_them(name: str, page: str) -> None:
    result = CliRunner().invoke(main, ["reproduce", "wikiqa", "--vectors", name])

    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"Error: {name}: no such file; word vectors are published at ")
    assert page in line
    assert line.endswith("put the file anywhere, and give its path as --vectors")


def test_missing_training_data_is_found_before_all_work(tmp_path: Path) -> None:
    with pytest.raises(RejoinderError, match=r"nothing\.jsonl"):
        Ingredients(train=(str(tmp_path / "nothing.jsonl"),)).check()
    with pytest.raises(UnknownNameError, match="unknown recipe 'papr'"):
        Ingredients(recipe="papr")


@pytest.mark.parametrize(
    ("command", "option", "why"),
    [
        ("baselines", "--encoder", "nothing in it is trained"),
        ("baselines", "--runs", "nothing in it is trained"),
        ("sequential --selector bm25", "--seeds", "its scorers are trained already"),
        ("sequential --selector bm25", "--train", "its scorers are trained already"),
        ("context", "--vectors", "its rows start from included weights"),
    ],
)
def test_an_option_without_a_meaning_is_refused_in_one_line(
    command: str, option: str, why: str
) -> None:
    result = CliRunner().invoke(main, ["reproduce", *command.split(), option, "1"])

    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"Error: reproduce {command.split()[0]} takes no {option}: {why}")


@pytest.mark.parametrize("command", ["wikiqa", "squad", "nq-la", "trecqa", "context", "has"])
def test_every_table_that_trains_takes_all_ingredients(command: str) -> None:
    text = CliRunner().invoke(main, ["reproduce", command, "--help"]).stdout

    names = ("encoder", "vectors", "train", "recipe", "device", "precision", "seeds", "runs")
    assert [name for name in names if f"--{name} " not in text] == []


def test_runs_from_before_ingredients_were_recorded_are_still_read() -> None:
    journal = RESULTS / "reproduce-has.jsonl"
    kept = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    assert all("ingredients" not in run for run in kept)

    def count(ingredients: Ingredients) -> int:
        options = has.HasTableOptions(5, runs=journal, ingredients=ingredients)
        found = 0
        for name in {run["table"] for run in kept}:
            table = next(one for one in (*has.TABLES, has.STUDY) if one.name == name.split(",")[0])
            own = {row.name: row.get_own(table.train) for row in table.rows}
            found += len(
                find_runs(name, table.rows, options, Run, get_own=lambda row: own[row.name])  # noqa: B023
            )
        return found

    assert count(Ingredients()) == len({(r["table"], r["row"], r["seed"]) for r in kept}) > 20
    assert count(Ingredients("bert-base-uncased")) == 0
    assert count(Ingredients(recipe="paper")) == 0
    assert count(Ingredients(train=("qed",))) == 0


def test_has_is_trained_as_its_paper_says() -> None:
    paper = Ingredients(recipe="paper")
    tables = {table.name: table for table in has.TABLES}

    def make(name: str) -> tuple[int, int, float | None, float | None, float]:
        options = has.HasTableOptions(1, ingredients=paper)
        recipe = has_training.make_recipe(tables[name], options)
        step = (recipe.epochs, recipe.questions_per_step, recipe.learning_rate)
        return (*step, recipe.clip, recipe.weight_decay)

    assert make("wikiqa") == (18, 32, 5e-6, None, 0.01)
    assert make("insuranceqa-v1") == (60, 32, 5e-6, None, 0.01)
    assert make("yahooqa") == (9, 64, 5e-6, None, 0.01)
    rows = has.set_rows(tables["insuranceqa-v1"], replace(paper, encoder="bert"))
    assert [row.name for row in rows] == ["pooling", "attention", "has"]
    assert {(row.config.attention_width, row.config.max_tokens) for row in rows} == {(768, 200)}
    assert {row.config.encoder for row in rows} == {"bert"}
    assert len(has.set_rows(has.STUDY, paper)) == 9


def test_the_papers_recipe_is_refused_for_data_that_it_does_not_have() -> None:
    arguments = ["reproduce", "has", "--tables", "squad-pools", "--recipe", "paper"]

    result = CliRunner().invoke(main, arguments)

    assert result.exit_code == 1
    assert result.stderr == (
        "Error: --recipe paper: squad-pools is not in the paper; it has wikiqa, insuranceqa-v1,"
        " yahooqa\n"
    )


def test_has_is_trained_on_the_given_data(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    line = {"question": "a?", "candidates": [{"text": "b", "label": 1}, {"text": "c", "label": 0}]}
    lines = [line, {"question": "d?", "candidates": [{"text": "e", "label": 0}]}]
    path.write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    own = replace(has.TABLES[0], train=str(path), dev=str(path), test=str(path))

    data = has_training.read_data(own, None)
    given = has_training.read_data(own, None, [f"{path}@2"])

    assert [len(data.dev), len(data.test)] == [1, 1]  # only answered questions
    assert [(len(list(part.examples)), part.weight) for part in data.train] == [(1, 1.0)]
    assert [(len(list(part.examples)), part.weight) for part in given.train] == [(2, 2.0)]
    pooled = has_training.read_data(replace(own, pool=5, test_questions=1), None)
    assert len(pooled.test) == 1
