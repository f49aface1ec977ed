"""Toy sets to look at, real sets to measure on, and text at the size of the papers'.

Lives here: toy problems, text, images and tables, and files in LIBSVM's format. Importing it
reads and downloads nothing.
May import: `kpegasos.utils`. Imported by nothing in the package but faces for people and plots.
"""

from kpegasos.datasets._catalogue import CatalogueEntry, catalogue, fetch
from kpegasos.datasets._files import Dataset
from kpegasos.datasets._svmlight_writer import write_svmlight
from kpegasos.datasets.images import load_fashion_mnist, load_mnist, load_usps
from kpegasos.datasets.svmlight import SvmlightChunks, iter_svmlight, load_svmlight
from kpegasos.datasets.table_files import Table, read_table, write_table
from kpegasos.datasets.tables import load_adult, load_covtype
from kpegasos.datasets.text import load_rcv1_sample, make_text_like
from kpegasos.datasets.toy import make_gaussian_noise, make_spirals, make_toy, make_xor

__all__ = [
    "CatalogueEntry",
    "Dataset",
    "SvmlightChunks",
    "Table",
    "catalogue",
    "fetch",
    "iter_svmlight",
    "load_adult",
    "load_covtype",
    "load_fashion_mnist",
    "load_mnist",
    "load_rcv1_sample",
    "load_svmlight",
    "load_usps",
    "make_gaussian_noise",
    "make_spirals",
    "make_text_like",
    "make_toy",
    "make_xor",
    "read_table",
    "write_svmlight",
    "write_table",
]
