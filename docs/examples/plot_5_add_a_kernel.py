"""
Add a kernel
============

There are three ways: a function, a map of inner products, and a class of its own. All of them are
passed as ``kernel=`` to `kpegasos.PegasosSVC` or `kpegasos.make_rows`; nothing is registered.
"""

from dataclasses import dataclass
from typing import ClassVar

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import chi2_kernel
from sklearn.model_selection import train_test_split

from kpegasos import RBF, PegasosSVC
from kpegasos.datasets import make_toy
from kpegasos.kernels import InnerProductKernel
from kpegasos.plotting import DecisionRegionDisplay

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, test_size=0.5, random_state=0)

# %%
# A function
# ----------
#
# The quickest way: ``f(A, B)`` returns the values of all rows of A against all rows of B, as
# scikit-learn's pairwise kernels do. It must be positive semi-definite, or the gap is no
# certificate; the package does not check. (This one also has a name, ``kernel="chi2"``.)

model = PegasosSVC(kernel=chi2_kernel, C=10.0, random_state=0).fit(X_train, y_train)
print(f"chi-squared kernel: test accuracy {model.score(X_test, y_test):.1%}")

# %%
# A map of inner products
# -----------------------
#
# The Cauchy kernel, :math:`1 / (1 + \gamma \lVert a - b \rVert^2)`, is a function of
# :math:`\langle a, b \rangle`, :math:`\lVert a \rVert^2` and :math:`\lVert b \rVert^2`. For such a
# kernel you write only the map: ``from_inner_products`` turns inner products into kernel values, in
# place. The base class has blocks, sparse rows, threads and bounded memory. The class also gives
# the diagonal, and says whether the kernel is positive semi-definite.
#
# ``norms_a`` is a column and ``norms_b`` a row, so that their sum has the shape of the block. A
# kernel of distances sets ``translation_invariant``: then dense data are centred first, so that
# fewer digits cancel, and float32 data too far from their mean are computed in float64.
# ``warm_start`` takes equal kernels for the same, as frozen dataclasses of equal parameters are.
# Such kernels can be added and multiplied, as in ``Cauchy() + 0.5 * Linear()``, and share one
# matrix product.


@dataclass(frozen=True)
class Cauchy(InnerProductKernel):
    """``1 / (1 + gamma ‖a − b‖²)``."""

    gamma: float = 1.0
    positive_definite: ClassVar[bool] = True
    translation_invariant: ClassVar[bool] = True

    def from_inner_products(self, products, norms_a, norms_b):
        """Turn ``<a, b>`` into ``k(a, b)``, in place."""
        products *= -2.0
        products += norms_a + norms_b
        np.maximum(products, 0.0, out=products)  # rounding
        products *= self.gamma
        products += 1.0
        np.reciprocal(products, out=products)

    def diag(self, A):
        """Ones, float64 of shape (n_a,)."""
        return np.ones(A.shape[0])


model = PegasosSVC(kernel=Cauchy(gamma=0.2), C=10.0, random_state=0).fit(X_train, y_train)
print(f"Cauchy kernel: test accuracy {model.score(X_test, y_test):.1%}")

# %%
# A look at it beside the RBF kernel, on spirals:

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
points, labels = make_toy("spirals", 200, random_state=0)
for ax, kernel in zip(axes, (RBF(gamma=5.0), Cauchy(gamma=5.0)), strict=True):
    model = PegasosSVC(kernel=kernel, C=10.0, polish=True, random_state=0).fit(points, labels)
    DecisionRegionDisplay.from_estimator(
        model, points, labels, support=[], grid_resolution=100, ax=ax, legend=False
    )
    ax.set_title(repr(kernel))
plt.show()

# %%
# A class of its own
# ------------------
#
# The histogram intersection kernel, :math:`\sum_f \min(a_f, b_f)`, is not a function of inner
# products. It needs ``block``, ``diag`` and the flag. ``block`` returns the dtype of the rows; as
# it may be called with hundreds of rows and all examples, it should not take much more memory than
# its result.


@dataclass(frozen=True)
class Intersection:
    """``Σ min(a, b)`` over the features, of non-negative features."""

    positive_definite: ClassVar[bool] = True

    def block(self, A, B):
        """Kernel values of shape (n_a, n_b)."""
        values = np.empty((A.shape[0], B.shape[0]), dtype=A.dtype)
        for row, a in zip(values, A, strict=True):
            np.minimum(a, B).sum(axis=1, out=row)
        return values

    def diag(self, A):
        """``k(a, a)``: the sum of the features, float64 of shape (n_a,)."""
        return A.sum(axis=1, dtype=np.float64)


model = PegasosSVC(kernel=Intersection(), C=1.0, random_state=0).fit(X_train, y_train)
print(f"intersection kernel: test accuracy {model.score(X_test, y_test):.1%}")

# %%
# Check that the diagonal is that of the blocks, and that the kernel is positive semi-definite on a
# sample:

for kernel in (Cauchy(gamma=0.2), Intersection()):
    gram = kernel.block(X_train[:200], X_train[:200])
    np.testing.assert_allclose(np.diagonal(gram), kernel.diag(X_train[:200]))
    print(f"{kernel}: smallest eigenvalue {np.linalg.eigvalsh(gram).min():.1e}")
