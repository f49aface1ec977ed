"""What real data sets there are, and how each of their files gets here."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from kpegasos.datasets._files import fetched, find, require
from kpegasos.datasets.images import FASHION_MNIST, MNIST, ImageSet
from kpegasos.utils.validation import as_choice


class CatalogueEntry(NamedTuple):
    """A real data set.

    Attributes
    ----------
    name : str
        What `fetch` calls it.
    n_train, n_test : int
        Number of examples to train on and to test on.
    n_features : int
        Number of features.
    n_classes : int
        Number of classes.
    megabytes : float
        Size of its files in MB (10**6 bytes).
    source : str
        Where it comes from.
    licence : str
        What its authors allow.
    fetchable : bool
        Whether `fetch` can download it.
    folder : Path or None
        Where its files are; None if one of them is nowhere.
    """

    name: str
    n_train: int
    n_test: int
    n_features: int
    n_classes: int
    megabytes: float
    source: str
    licence: str
    fetchable: bool
    folder: Path | None


class _File(NamedTuple):
    """A file of a set, the SHA-256 of what it may hold, and where it can be downloaded."""

    name: str
    sha256: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()


class _Set(NamedTuple):
    sizes: tuple[int, int, int, int]
    megabytes: float
    source: str
    licence: str
    files: tuple[_File, ...]


def _of_images(images: ImageSet) -> tuple[_File, ...]:
    return tuple(
        _File(name, (sha256,), tuple(mirror + name for mirror in images.mirrors))
        for name, sha256 in images.files.items()
    )


_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
_UCI = "https://archive.ics.uci.edu/"
_WABBIT = (
    "https://raw.githubusercontent.com/VowpalWabbit/vowpal_wabbit/"
    "872fd8da03677dbf83183890262a5d8f237ff3e0/test/"
)

_SETS = {
    "adult": _Set(
        (32_561, 16_281, 123, 2),
        3.5,
        f"UCI Adult in LIBSVM's encoding, {_LIBSVM}",
        "CC BY 4.0",
        (
            _File(
                "a9a",
                ("f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906",),
                (f"{_LIBSVM}a9a",),
            ),
            _File(
                "a9a.t",
                ("1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9",),
                (f"{_LIBSVM}a9a.t",),
            ),
        ),
    ),
    "covtype": _Set(
        (522_911, 58_101, 54, 2),
        11.2,
        f"UCI Covertype, J. A. Blackard, {_UCI}dataset/31/covertype",
        "CC BY 4.0",
        (
            _File(
                "covtype.csv.gz",
                (
                    "0a9371cef7c964b5475d6053cc3e0894a5aa6f65ad1ed3ecb01c45aa96217945",
                    # with a line of names
                    "ea35ca6820fcbe0bdc6707e9ed31e11a9de84f07d88da73b511c737383c271a6",
                ),
                (f"{_UCI}ml/machine-learning-databases/covtype/covtype.data.gz",),
            ),
        ),
    ),
    "fashion-mnist": _Set(
        (60_000, 10_000, 784, 10),
        30.9,
        "Zalando Research, https://github.com/zalandoresearch/fashion-mnist",
        "MIT",
        _of_images(FASHION_MNIST),
    ),
    "mnist": _Set(
        (60_000, 10_000, 784, 10),
        11.6,
        "Y. LeCun, C. Cortes, C. J. C. Burges",
        "CC BY-SA 3.0",
        _of_images(MNIST),
    ),
    "rcv1-sample": _Set(
        (1_000, 500, 47_236, 2),
        2.2,
        "RCV1 of D. D. Lewis et al. (2004), a sample among the tests of Vowpal Wabbit",
        "BSD 3-Clause for the sample; Reuters' terms for the corpus",
        (
            _File(
                "rcv1_small.dat",
                ("348d59a15f8161852b817fedd45a0a9efa5e2602ea86d9e920ba7079f633e084",),
                (f"{_WABBIT}train-sets/rcv1_small.dat",),
            ),
            _File(
                "rcv1_small_test.data",
                ("c0f5f4a00497c5cec53b47c0ebb8428cc7c364d436ac10f64b5be33d90bfe293",),
                (f"{_WABBIT}test-sets/rcv1_small_test.data",),
            ),
        ),
    ),
    "usps": _Set(
        (7_291, 2_007, 256, 10),
        2.5,
        "US Postal Service, as zip.train and zip.test of R's package ElemStatLearn; "
        "usps.npz holds them as X_train, y_train, X_test and y_test",
        "none stated",
        (_File("usps.npz"),),
    ),
}


def catalogue() -> list[CatalogueEntry]:
    """List the real data sets.

    Returns
    -------
    list of CatalogueEntry
        Sizes, source, licence, and where the files are; nothing is downloaded.
    """
    return [
        CatalogueEntry(
            name,
            *known.sizes,
            known.megabytes,
            known.source,
            known.licence,
            all(file.addresses for file in known.files),
            _folder(name),
        )
        for name, known in _SETS.items()
    ]


def _folder(name: str) -> Path | None:
    paths = [find(name, file.name) for file in _SETS[name].files]
    return None if None in paths or paths[0] is None else paths[0].parent


def fetch(name: Any) -> tuple[Path, ...]:
    """Download the files of a real data set that are not here, and verify all of them.

    Parameters
    ----------
    name : str
        Name of a set of the `catalogue`.

    Returns
    -------
    tuple of Path
        The files, in the folder of that name below the one that ``KPEGASOS_DATA`` names, or in the
        user's cache, where a file goes that is downloaded.

    Raises
    ------
    FileNotFoundError
        If a file is nowhere and cannot be downloaded, with where it comes from.
    ValueError
        If there is no set of that name, or the content of a file is not that of the set.
    """
    known = _SETS[as_choice("name", name, _SETS)]
    try:
        for file in known.files:
            if file.sha256:
                fetched(name, file.name, file.sha256, file.addresses)
        return tuple(require(name, file.name) for file in known.files)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{error}; it comes from {known.source}") from None
