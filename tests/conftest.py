"""Fixtures and settings for all tests."""

import os
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

# rejoinder disables onnxruntime's telemetry, but some tests import onnxruntime first.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

# No deadline: machines are shared and noisy.
settings.register_profile("rejoinder", deadline=None, max_examples=100)
settings.load_profile("rejoinder")


TESTS = Path(__file__).parent
SLOW = (
    *("adapters", "batch", "cli/documents", "cli/models", "cli/research", "mcp", "newcomers"),
    *("papers", "reliability", "retrieval", "security", "server", "training"),
    *("datasets/test_real_data", "documents/test_hostile", "engine/test_citing"),
    *("engine/test_live_index", "evaluation/test_stored_answers", "index/sidecar/test_answers"),
    *("index/sidecar/test_context", "index/test_copies", "index/test_costs", "index/test_folders"),
    *("index/test_index", "index/test_streaming", "index/test_watch"),
    *("models/compare_aggregate", "models/encoders", "models/has/test_module"),
    *("models/has/test_scorer", "models/ranker/module", "models/ranker/test_export"),
    *("models/ranker/test_heads", "models/rel_cnn/test_module", "models/selector/test_classifier"),
    *("models/selector/test_export", "models/selector/test_module"),
    *("models/selector/test_multiway", "models/selector/test_scorer", "models/sentence_encoder"),
    *("models/static_vectors/test_export", "models/test_cold_start", "models/test_foreign"),
    *("models/test_importing", "models/test_other_processors", "models/test_trial"),
    *("test_clients_benchmark", "test_comparison", "test_docs", "test_growth_benchmark"),
    *("test_index_speed", "test_large_training", "test_limits", "test_search_threads_benchmark"),
    *("test_many_questions", "test_page_benchmark", "test_portability", "test_published_sizes"),
    *("test_runtimes", "test_vector_search", "test_wikipedia_vectors"),
)
"""Folders and modules that train, start processes or measure; `make quick` leaves them out."""
FAST = (
    *("adapters/test_extras", "batch/test_packed_scorer", "mcp/test_mcp_page"),
    *("papers/test_table", "retrieval/test_record", "retrieval/test_url"),
    *("security/test_links", "security/test_table", "security/test_tokenizers"),
    *("server/test_bodies", "server/test_intake"),
    *("server/test_openapi", "server/test_telemetry", "training/test_batches"),
    "training/test_losses",
)
"""Modules in slow folders that are fast, so that `make quick` covers every package."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import what `make quick` leaves out: that takes longer than many of its tests."""
    return (config.option.markexpr == "not slow" and is_slow(collection_path)) or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of slow folders and modules."""
    for item in items:
        if is_slow(item.path):
            item.add_marker(pytest.mark.slow)


@cache  # asked for every test
def is_slow(path: Path) -> bool:
    """Return whether a module, or all of a folder, is slow."""
    here = path.with_suffix("")
    if any((TESTS / name).is_relative_to(here) for name in FAST):
        return False
    return not {here, *path.parents}.isdisjoint(TESTS / name for name in SLOW)


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep tests out of the user's cache and history."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Return the folder of published data sets, or skip the test."""
    configured = os.environ.get("REJOINDER_DATA")
    folder = Path(configured) if configured else Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"needs published data sets: {folder} does not exist, set $REJOINDER_DATA")
    return folder
