"""The tables of Xu & Li 2020 with models of other papers, as published: Tables 2, 3, 4 and 6."""

from rejoinder.papers.table import PrintedTable

INSURANCEQA = PrintedTable(
    ["model", "P@1 (test1)", "P@1 (test2)"],
    [
        ["CNN", "62.80", "59.20"],
        ["CNN with GESD", "65.30", "61.00"],
        ["QA-LSTM", "66.08", "62.63"],
        ["AP-LSTM", "69.00", "64.80"],
        ["IARNN-GATE", "70.10", "62.80"],
        ["Multihop-Sequential-LSTM", "70.50", "66.90"],
        ["AP-CNN", "69.80", "66.30"],
        ["AP-BiLSTM", "71.70", "66.40"],
        ["MULT", "75.20", "73.40"],
        ["KAN (Tgt-Only)", "71.50", "68.80"],
        ["KAN", "75.20", "72.50"],
        ["HAS", "76.38", "73.71"],
    ],
    title="published (Xu & Li 2020, Table 2), InsuranceQA V1",
)
YAHOOQA = PrintedTable(
    ["model", "P@1", "MRR"],
    [
        ["Random Guess", "20.00", "45.86"],
        ["NTN-LSTM", "54.50", "73.10"],
        ["HD-LSTM", "55.70", "73.50"],
        ["AP-CNN", "56.00", "72.60"],
        ["AP-BiLSTM", "56.80", "73.10"],
        ["CTRN", "60.10", "75.50"],
        ["HyperQA", "68.30", "80.10"],
        ["KAN (Tgt-Only)", "67.20", "80.30"],
        ["KAN", "74.40", "84.00"],
        ["HAS", "73.89", "82.10"],
    ],
    title="published (Xu & Li 2020, Table 3), YahooQA",
)
WIKIQA = PrintedTable(
    ["model", "MAP", "MRR"],
    [
        ["AP-CNN", "68.86", "69.57"],
        ["AP-BiLSTM", "67.05", "68.42"],
        ["RNN-POA", "72.12", "73.12"],
        ["Multihop-Sequential-LSTM", "72.20", "73.80"],
        ["IARNN-GATE", "72.58", "73.94"],
        ["CA-RNN", "73.58", "74.50"],
        ["MULT", "74.33", "75.45"],
        ["MV-FNN", "74.62", "75.76"],
        ["SUM(BASE,PTK)", "75.59", "77.00"],
        ["LRXNET", "76.57", "75.10"],
        ["HAS", "81.01", "82.22"],
    ],
    title="published (Xu & Li 2020, Table 4), WikiQA",
)
COSTS = PrintedTable(
    ["model", "seconds", "GB for the answers"],
    [
        ["pooling", "0.03", "0.07"],
        ["attention (recalculated)", "4.19", "0.02"],
        ["attention (stored)", "0.28", "14.29"],
        ["has", "0.28", "0.45"],
        ["Multihop-Sequential-LSTM", "0.13", "5.25"],
        ["AP-CNN", "–", "7.44"],
        ["AP-BiLSTM", "–", "5.25"],
    ],
    title="published (Xu & Li 2020, Table 6), InsuranceQA V1, on one TitanXP",
)
