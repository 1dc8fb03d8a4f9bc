"""ms-marco-MiniLM-L-12-v2 in sentence-transformers, in FlashRank and in plain onnxruntime.

Over a corpus it reranks the first 20 sentences of bm25s, as a user would assemble it, or of our
search.  It reads them with their titles, which makes it better.
"""

import json
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.comparison import lexical, ours
from benchmarks.comparison.setting import (
    MAX_TOKENS,
    RERANKED,
    Find,
    Rank,
    Search,
    Setting,
    sort_by,
    take_five,
)

FOLDER = "ms-marco-minilm-l12"
INT8 = "model.int8.onnx"
FLASHRANK = "ms-marco-MiniLM-L-12-v2"
"""The name of the model in FlashRank."""
SPECIAL = {"cls_token": "[CLS]", "mask_token": "[MASK]", "pad_token": "[PAD]"} | {
    "sep_token": "[SEP]",
    "unk_token": "[UNK]",
}

Score = Callable[[str, Sequence[str]], list[float]]


def open_ranker(setting: Setting, runtime: str) -> Rank:
    """Return what ranks the sentences of a document."""
    score = RUNTIMES[runtime](setting)
    return lambda question, texts: sort_by(score(question, texts))


def open_search(setting: Setting, runtime: str, found_by: str) -> Search:
    """Return what answers from a corpus."""
    find, score = FOUND_BY[found_by](setting), RUNTIMES[runtime](setting)

    def answer(question: str) -> list[str]:
        found = find(question, RERANKED)
        scores = score(question, [item.titled for item in found]) if found else []
        return take_five([found[place] for place in sort_by(scores)])

    return Search(answer)


def _open_sentence_transformers(setting: Setting) -> Score:
    import torch
    from sentence_transformers import CrossEncoder

    torch.set_num_threads(setting.threads)
    model = CrossEncoder(str(_find(setting)), device="cpu", max_length=MAX_TOKENS)

    def score(question: str, texts: Sequence[str]) -> list[float]:
        pairs = [(question, text) for text in texts]
        scores: list[float] = model.predict(pairs, show_progress_bar=False).tolist()
        return scores

    return score


def _open_onnxruntime(setting: Setting) -> Score:
    from benchmarks.corpora.cross_encoder import CrossEncoder

    return CrossEncoder(_find(setting), threads=setting.threads).score


def _open_flashrank(setting: Setting) -> Score:
    """Open FlashRank with local weights, and with a session that is limited to the threads.

    FlashRank's own session takes all cores.
    """
    from flashrank import Ranker, RerankRequest

    from benchmarks.sessions import open_session

    folder = write_flashrank(_find(setting), setting.cache / "flashrank")
    ranker = Ranker(FLASHRANK, cache_dir=str(folder.parent), max_length=MAX_TOKENS)
    ranker.session = open_session(next(folder.glob("*.onnx")), setting.threads)

    def score(question: str, texts: Sequence[str]) -> list[float]:
        passages = [{"id": place, "text": text} for place, text in enumerate(texts)]
        scored = ranker.rerank(RerankRequest(question, passages))
        by_place = {item["id"]: float(item["score"]) for item in scored}
        return [by_place[place] for place in range(len(texts))]

    return score


def write_flashrank(weights: Path, cache: Path) -> Path:
    """Lay the int8 weights out as FlashRank's archive of them does; return the folder."""
    from flashrank.Config import model_file_map

    folder = cache / FLASHRANK
    folder.mkdir(parents=True, exist_ok=True)
    for source, name in ((INT8, model_file_map[FLASHRANK]), ("tokenizer.json", "tokenizer.json")):
        if not (folder / name).exists():
            shutil.copyfile(weights / source, folder / name)
    config = json.loads((weights / "config.json").read_text(encoding="utf-8"))
    files = {
        "config.json": {"pad_token_id": 0} | config,
        "tokenizer_config.json": {"model_max_length": MAX_TOKENS, "pad_token": "[PAD]"},
        "special_tokens_map.json": SPECIAL,
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return folder


def _find(setting: Setting) -> Path:
    assert setting.weights is not None, "the contender needs weights"
    return setting.weights / FOLDER


RUNTIMES: dict[str, Callable[[Setting], Score]] = {
    "sentence-transformers": _open_sentence_transformers,
    "flashrank": _open_flashrank,
    "onnxruntime": _open_onnxruntime,
}
FOUND_BY: dict[str, Callable[[Setting], Find]] = {
    "bm25s": partial(lexical.open_index, engine="bm25s"),
    "ours": ours.open_index,
}
