"""Compare-Aggregate (Wang & Jiang 2017), and with a BiLSTM (Matsubara et al. 2020)."""

from rejoinder.bundle.folder import Bundle
from rejoinder.models.registry import Family
from rejoinder.models.scorer import Scorer


def _open(bundle: Bundle, threads: int | None) -> Scorer:
    from rejoinder.models.compare_aggregate import network
    from rejoinder.models.ranker.scorer import RankerScorer

    networks = {
        FAMILY.name: network.CompareAggregateNetwork,
        BILSTM.name: network.CompareAggregateBilstmNetwork,
    }
    return RankerScorer(bundle, networks[bundle.manifest.kind], threads=threads or 1)


FAMILY = Family(
    "compare-aggregate",
    "a small network with attention between words, and a convolution over the comparisons",
    _open,
    reads_order=True,
    training="rejoinder.training.options:RANKER",
)
BILSTM = Family(
    "compare-aggregate-bilstm",
    "Compare-Aggregate over the states of a BiLSTM (Matsubara et al. 2020)",
    _open,
    reads_order=True,
    training="rejoinder.training.options:RANKER",
)
