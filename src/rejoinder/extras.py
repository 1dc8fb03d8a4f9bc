"""Which extra of rejoinder installs the packages that are optional."""

from importlib.util import find_spec

from rejoinder.errors import MissingExtraError

_PACKAGES = {
    "evaluate": ("ir_measures",),
    "reproduce": ("spacy",),
    "encoders": ("onnx", "tokenizers"),
    "serve": ("starlette", "uvicorn"),
    "mcp": ("anyio", "mcp", "mcp_types"),
    "tune": ("matplotlib",),
    "train": ("model2vec", "torch", "transformers"),
    "tensorboard": ("tensorboard",),
    "batch": ("distributed", "pyarrow"),
    "spark": ("pandas", "py4j", "pyspark"),
    "watch": ("watchfiles",),
    "postgres": ("psycopg",),
    "qdrant": ("urllib3",),
    "opensearch": ("urllib3",),
    "langchain": ("langchain_core", "pydantic"),
    "llama-index": ("llama_index",),
    "haystack": ("haystack",),
    "rerankers": ("rerankers",),
    "pyterrier": ("pyterrier",),
    "mteb": ("mteb",),
}
EXTRAS = {package: extra for extra, packages in _PACKAGES.items() for package in packages}
"""The extra of each optional package that rejoinder imports."""


def check_packages(feature: str, *packages: str) -> None:
    """Check that optional packages are installed.

    Raises:
        MissingExtraError: one is not.
    """
    for package in packages:
        if find_spec(package) is None:
            raise MissingExtraError(feature, extra=EXTRAS[package])


def find_missing_extra(feature: str, error: ModuleNotFoundError) -> MissingExtraError | None:
    """Return the error that names the extra to install; None if the package is of no extra."""
    extra = EXTRAS.get((error.name or "").partition(".")[0])
    return None if extra is None else MissingExtraError(feature, extra=extra)
