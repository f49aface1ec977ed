"""Arguments that do not go together are a usage error: a sentence, status 2, nothing written."""

import pytest
from cli_cases import write_examples

#: Commands, words behind them, and what is said.
MISUSE = {
    "train data": {
        "-s 1": "must be 0 (C-SVC) or 3 (epsilon-SVR), got '1'",
        "-t 5": "must be an integer from 0 to 4, got '5'",
        "-g wide": "must be a positive number, got 'wide'",
        "-e nan": "must be a positive number, got 'nan'",
        "-d 1.5": "must be an integer that is not negative, got '1.5'",
        "-v 1": "must be an integer from 2 on, got '1'",
        "--jobs 0": "must be a number of threads, or -1 for all, got '0'",
        "--seed 4294967296": "must be an integer from 0 to 4294967295",
        "-wx 3": "-wx must name a class, and classes are numbers",
        "--js": "unrecognized arguments",
        "-s 3 -w1 2": "must be of a classifier",
        "-t 4 --scale maxabs": "--scale must be of features, and -t 4 has none",
        "./data": "MODEL must be another file than data, which is read",
        "m.model --scale minmax": "LIBSVM's format has no scaling: let MODEL end in .skops",
    },
    "train data.csv": {"m": "LIBSVM's format has no names of columns: let MODEL end in .skops"},
    "tune data": {
        "-c 1,0": "must be a positive number, got '0'",
        "-t 4": "-t must be 0, 1 or 2 for a search, got precomputed",
        "-t 3": "-t must be 0, 1 or 2 for a search, got sigmoid",
        "data": "MODEL must be another file than data, which is read",
    },
    "predict data": {
        "": "the following arguments are required: model",
        "m -b 1": "OUT must be given for probabilities",
        "m ./m": "OUT must be another file than m, which is read",
    },
    "predict -": {"-": "MODEL must be a plain file, got -"},
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


# --- broken files ---------------------------------------------------------------------------------

#: Arguments, content of the files, and the sentence.
WRONG = [
    (("train", "data"), b"", "data: there must be examples, got none"),
    (("train", "-t4", "data"), b"1 0:2 1:1\n-1 0:1\n", "must be numbered from 1 on, in order"),
    (("train", "data"), b"1 1:2\n1 1:3\n", "data: labels must be of two classes or more, got 1"),
    (("train", "data"), b"1.5 1:2\n1 1:3\n", "must be texts or whole to 2**53, but for -s 3"),
    (("train", "data"), b"1e19 1:2\n2e19 1:3\n", "but for -s 3, got 1e+19"),
    (("train", "data"), b"1e10 1:2\n1 1:3\n", "classes_ must be integers below 2**31 for LIBSVM"),
    (("tune", "data"), b"1 1:1\n1 1:2\n2 1:3\n", "-v must have 5 examples of each class, got 1"),
    (("train", "data.csv"), b"a,y\n1,2\nb,3\n", "data.csv: example 2, column 'a': a finite number"),
    (("tune", "data.csv"), b"a,b\n1,2\n", "must have labels; --label names their column"),
    (("train", "-s3", "data.csv"), b"a,y\n1,yes\n2,no\n", "must be numbers for -s 3, got 'yes'"),
    (("train", "."), b"", ".: "),
    (("train", "data", "no/m"), b"", "no/m: no file can be written there"),
    (("train", "data", "."), b"", ".: no file can be written there"),
    (("predict", "data", "data"), b"1 1:2\n", "must be a model of skops, or of LIBSVM with svm"),
    (("predict", "data", "data"), b"svm_type c_svc\nSV\n1 1:x\n", "data, line 2: the header must"),
    (("predict", "data", "data"), b"PK\x03\x04 and no more", "data"),
]


@pytest.mark.parametrize(("arguments", "content", "reason"), WRONG)
def test_what_is_wrong_is_one_sentence(refusal, tmp_path, arguments, content, reason):
    if any("csv" in word for word in arguments):
        pytest.importorskip("pandas")
    for name in ("data", "data.csv"):
        (tmp_path / name).write_bytes(content)
    write_examples(tmp_path / "good")
    assert reason in refusal(*arguments, stdin=content)
