"""Arguments that do not go together are a usage error: a sentence, status 2, nothing written."""

import pytest

#: Commands, words behind them, and what is said.
MISUSE = {
    "train data": {
        "-s 1": "must be 0 (C-SVC) or 3 (epsilon-SVR), got '1'",
        "-n 0.5": "unrecognized arguments: -n",
        "-t 5": "must be an integer from 0 to 4, got '5'",
        "-c 0": "must be a positive number, got '0'",
        "-g wide": "must be a positive number, got 'wide'",
        "-e nan": "must be a positive number, got 'nan'",
        "-d 1.5": "must be an integer that is not negative, got '1.5'",
        "-v 1": "must be an integer from 2 on, got '1'",
        "-b 2": "must be 0 or 1, got '2'",
        "--jobs 0": "must be a number of threads, or -1 for all, got '0'",
        "--seed 4294967296": "must be an integer from 0 to 4294967295",
        "-w1 zero": "must be a positive number, got 'zero'",
        "-wx 3": "-wx must name a class, and classes are numbers",
        "--json-lines": "unrecognized arguments",
        "--js": "unrecognized arguments",
        "-s 3 -w1 2": "must be of a classifier",
        "-s 3 -b 1": "must be of a classifier",
        "-t 4 --scale maxabs": "--scale must be of features, and -t 4 has none",
        "./data": "MODEL must be another file than data, which is read",
        "m.model --scale minmax": "LIBSVM's format has no scaling: let MODEL end in .skops",
        "- --scale minmax": "LIBSVM's format has no scaling: let MODEL end in .skops",
    },
    "train data.csv": {"m": "LIBSVM's format has no names of columns: let MODEL end in .skops"},
    "tune data": {
        "-c 1,0": "must be a positive number, got '0'",
        "-c one": "must be a positive number, got 'one'",
        "-t 4": "-t must be of features, from 0 to 3, got 4",
        "data": "MODEL must be another file than data, which is read",
    },
    "predict data": {
        "": "the following arguments are required: model",
        "m -b 1": "OUT must be given for probabilities",
        "m ./m": "OUT must be another file than m, which is read",
    },
    "predict -": {"-": "DATA and MODEL must not both be the standard input"},
    "burn": {"data": "usage: kpegasos COMMAND"},
}


@pytest.mark.parametrize(
    ("words", "expected"),
    [(f"{c} {each}", text) for c, cases in MISUSE.items() for each, text in cases.items()],
)
def test_misuse_is_a_sentence_and_status_2(kpegasos, data, tmp_path, words, expected):
    ran = kpegasos(*words.split())
    assert (ran.status, ran.out) == (2, "")
    assert expected in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
