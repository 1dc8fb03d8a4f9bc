"""Compare-Aggregate (Wang & Jiang 2017), and with a BiLSTM (Matsubara et al. 2020)."""

from rejoinder.models.ranker import make_family

FAMILY = make_family(
    "compare-aggregate",
    "a small network with attention between words, and a convolution over the comparisons",
    network="rejoinder.models.compare_aggregate.network:CompareAggregateNetwork",
    encoder="rejoinder.models.compare_aggregate.module:CompareAggregate",
)
BILSTM = make_family(
    "compare-aggregate-bilstm",
    "Compare-Aggregate over the states of a BiLSTM",
    network="rejoinder.models.compare_aggregate.network:CompareAggregateBilstmNetwork",
    encoder="rejoinder.models.compare_aggregate.module:CompareAggregateBilstm",
)
