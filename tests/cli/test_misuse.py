"""Arguments that do not go together are a usage error: a sentence, status 2, nothing written."""

import pytest

#: Commands, words behind them, and what is said.
MISUSE = {
    "train data": {
        "-s 1": "must be 0 (C-SVC) or 3 (epsilon-SVR), as there is nothing else; got nu-SVC",
        "-n 0.5": "there is no nu",
        "-t 5": "must be an integer from 0 to 4, got '5'",
        "--jobs 0": "must be a number of threads, or -1 for all, got '0'",
        "--seed 4294967296": "must be an integer from 0 to 4294967295",
        "-w1 zero": "must be a positive number, got 'zero'",
        "-c 1 --lam 1": "not allowed with argument",
        "--ker rbf": "unrecognized arguments",
        "--balanced -w1 2": "--balanced and --weight must not be given both",
        "-s 3 -w1 2": "must be of a classifier",
        "--loss huber": "--loss must be one of hinge",
        "--no-polish --strict": "--strict must come with --tol",
        "-t 3 -e 0.1": "positive semi-definite",
        "-t 4 --scale maxabs": "precomputed kernel has none",
        "--chunks": "must be for --kernel linear, got rbf",
        "--chunks -t 0 --balanced": "without --balanced",
        "./data": "MODEL must be another file than",
        "m.model --scale minmax": "LIBSVM's format has no scaling: choose --format native",
        "m.onnx": "'kpegasos export' writes",
    },
    "tune data": {
        "--C 1,0": "argument --C: must be positive",
        "--C 1_000": "must be numbers",
        "--C one": "got 'one'",
        "--C 1,1.0": "different values",
        "--C 3^0:2:1": "powers of 2 or 10",
        "--C 2^0:4:1:1": "base^begin:end:step",
        "--C 2^0:4:-1": "leads from 0 to 4",
        "--C 2^0:1e9:1": "at most 1000 values",
        "--C 2^0:5000:1000": "finite powers, got 2^2000",
        "--gamma scale,scale": "different values",
        "--degree 1.5": "integers that are not negative, got 1.5",
        "-log2c 1,2": "begin,end,step or null",
        "--metric speed": "--metric must be a name of",
        "--plot a.xyz": "--plot must end in one of",
        "--plot a.png --C 1": "at least two values of C",
        "--resume -": "--resume must be the name of a file",
        "--results same.svg --plot same.svg": "same.svg",
        "--balanced -w1 2": "--balanced and --weight must not be given both",
        "- --results -": "-",
    },
    "scale data": {
        "-l 1 -u 1": "--upper must be above --lower, got 1.0 and 1.0",
        "-s a -r b": "not allowed with argument",
        "-s data": "--save must be another file than data, which is read",
        "-s a a": "--save must be another file than OUT, a",
        "-r ranges ./ranges": "OUT must be another file than ranges, which is read",
    },
    "predict data": {
        "m --decisions": "OUT must be given for decisions and probabilities",
        "m ./m": "OUT must be another file than m, which is read",
    },
    "convert data": {"b": "--to must be given unless OUT ends in", "data": "OUT"},
    "export data": {"b": "--format must be given unless OUT ends in .model"},
    "playground": {"--port 99999": "must be an integer from 0 to 65535, got '99999'"},
    "data": {"": "usage", "burn": "usage", "fetch": "names must be given to fetch"},
}


@pytest.mark.parametrize(
    ("words", "expected"),
    [(f"{c} {each}", text) for c, cases in MISUSE.items() for each, text in cases.items()],
)
def test_misuse_is_a_sentence_and_status_2(kpegasos, data, tmp_path, words, expected):
    ran = kpegasos(*words.split())
    assert (ran.status, ran.out) == (2, "")
    assert expected in ran.err
    assert ran.err.splitlines()[-1].startswith("kpegasos")
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
