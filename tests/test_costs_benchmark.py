"""The benchmark that writes the costs of stages."""

import shutil
from pathlib import Path

from benchmarks.corpora.questions import Question
from benchmarks.costs import copy_frontier, measure_stages, write_costs
from msgspec import structs

from rejoinder.cascade.budget import Cost
from rejoinder.cascade.cascade import Cascade, Stage
from rejoinder.cascade.file import Point, read_cascade_file, write_cascade_file
from rejoinder.cascade.loading import find_cascade
from rejoinder.index.index import Index
from rejoinder.models.lexical.scorers import Bm25, WordOverlap
from rejoinder.types import Document


def test_each_stage_is_timed_on_what_is_found(tmp_path: Path) -> None:
    cascade = Cascade("c", [Stage(Bm25(), 3), Stage(WordOverlap())])
    with Index(tmp_path / "index", create=True) as index:
        index.add_documents([Document("tower", "Tower", ("Ada built the tower.",) * 9)])
        costs = measure_stages(cascade, index, [Question("1", "Who built the tower?", "a")] * 3)

    assert len(costs) == 2
    assert all(cost.predict(100, 2500) > 0 for cost in costs)


def test_costs_and_a_frontier_are_written_beside_all_else(tmp_path: Path) -> None:
    path, tuned = tmp_path / "default.toml", tmp_path / "tuned.toml"
    shutil.copy(find_cascade("default"), path)
    before = read_cascade_file(path)
    costs = [Cost(1.0, 0.5), Cost(2.0), Cost(0.0, 0.0, 0.25)]
    points = (Point("bm25", 50.0, 0.25),)
    write_cascade_file(tuned, structs.replace(before, frontier=points))

    write_costs(path, costs)
    copy_frontier(tuned, path)

    after = read_cascade_file(path)
    assert [stage.cost for stage in after.stages] == costs
    assert after.frontier == points
    assert structs.replace(after, stages=before.stages, frontier=before.frontier) == before
    assert [structs.replace(stage, cost=None) for stage in after.stages] == [
        structs.replace(stage, cost=None) for stage in before.stages
    ]
