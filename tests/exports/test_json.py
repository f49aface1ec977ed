"""`to_json`: what is documented of the format is enough to predict with."""

import json
from itertools import combinations

import numpy as np
import pytest
from export_cases import LABELS, classifier, data, linear_classifier, regressors, targets
from scipy import sparse
from scipy.special import expit

import kpegasos
from kpegasos import RBF, Laplacian, Linear, PegasosSVC
from kpegasos.kernels.functions import KERNELS, make_kernel

N_CLASSES = pytest.mark.parametrize("n_classes", [2, 3, 4])


def stored(model, folder):
    model.to_json(folder / "model.json")

    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    return json.loads((folder / "model.json").read_text("ascii"), parse_constant=refuse)


def kernel_values(terms, X, V):
    """Values of a kernel by its terms, without the estimator's code for compositions."""
    name = terms["name"]
    if name == "scaled":
        return terms["factor"] * kernel_values(terms["kernel"], X, V)
    if name in ("sum", "product"):
        parts = np.array([kernel_values(part, X, V) for part in terms["parts"]])
        return parts.sum(axis=0) if name == "sum" else parts.prod(axis=0)
    return make_kernel(**{"kernel": name, **{k: v for k, v in terms.items() if k != "name"}}).block(
        X, V
    )


def decisions(model, X):
    """Decisions of pairs by what the object says."""
    if model["kernel"]["name"] == "precomputed":
        values = X[:, model["support"]]
    else:
        if "sparse_support_vectors" in model:
            parts = model["sparse_support_vectors"]
            shape = (sum(model["n_support"]), model["n_features"])
            V = sparse.csr_matrix(
                (parts["data"], parts["indices"], parts["indptr"]), shape
            ).toarray()
        else:
            V = np.array(model["support_vectors"])
        values = kernel_values(model["kernel"], X, V)
    coefs = np.array(model["dual_coef"])
    if model["model"] == "regressor" or len(model["classes"]) == 2:
        return values @ coefs.T + model["intercept"]
    ends = np.cumsum([0, *model["n_support"]])
    found = []
    for i, j in combinations(range(len(model["classes"])), 2):
        of_i, of_j = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        found.append(values[:, of_i] @ coefs[j - 1, of_i] + values[:, of_j] @ coefs[i, of_j])
    return np.column_stack(found) + model["intercept"]


def assert_same(model, folder, X):
    found = decisions(stored(model, folder), X.toarray() if sparse.issparse(X) else X)
    expected = model.decision_function(X).reshape(found.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


@N_CLASSES
@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_object_of_a_kernel_has_its_decisions(kernel, n_classes, tmp_path):
    X, y, new = data(n_classes)
    model = classifier(kernel, decision_function_shape="ovo").fit(np.abs(X), y)
    assert_same(model, tmp_path, np.abs(new))


@N_CLASSES
@pytest.mark.parametrize("make", [classifier, linear_classifier])
@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_object_has_the_decisions_of_each_kind_of_data(kind, make, n_classes, tmp_path):
    X, y, new = data(n_classes, kind=kind)
    assert_same(make(decision_function_shape="ovo").fit(X, y), tmp_path, new)


def test_object_of_a_given_matrix_has_its_decisions(tmp_path):
    X, y, new = data(3)
    model = classifier("precomputed", decision_function_shape="ovo").fit(X @ X.T, y)
    assert_same(model, tmp_path, new @ X.T)


@pytest.mark.parametrize(
    "kernel", [RBF(0.1) + 0.5 * Linear(), 2.0 * (Laplacian(0.1) * RBF(0.2)) + Laplacian(0.5)]
)
def test_object_of_a_composed_kernel_has_its_decisions(kernel, tmp_path):
    X, y, new = data(3)
    assert_same(classifier(kernel, decision_function_shape="ovo").fit(X, y), tmp_path, new)


@pytest.mark.parametrize("name", regressors())
def test_object_of_a_regressor_has_its_predictions(name, tmp_path):
    X, _, new = data()
    model = regressors()[name].fit(X, targets(X))
    found = decisions(stored(model, tmp_path), new)
    np.testing.assert_allclose(found[:, 0], model.predict(new), rtol=1e-11)


def test_numbers_are_exact(tmp_path):
    X, y, _ = data(3)
    model = classifier().fit(X, y)
    found = stored(model, tmp_path)
    np.testing.assert_array_equal(found["support_vectors"], model.support_vectors_)
    np.testing.assert_array_equal(found["dual_coef"], model.dual_coef_)
    np.testing.assert_array_equal(found["intercept"], model.intercept_)
    assert found["n_support"] == model.n_support_.tolist()


def test_object_says_what_it_is(tmp_path):
    X, y, _ = data(3)
    found = stored(classifier("poly", decision_function_shape="ovo").fit(X, y), tmp_path)
    assert found["format"] == "kpegasos model"
    assert found["format_version"] == 1
    assert found["kpegasos"] == kpegasos.__version__
    assert found["kernel"] == {"name": "poly", "gamma": 0.1, "degree": 2, "coef0": 0.5}
    assert (found["decision_function_shape"], found["break_ties"]) == ("ovo", False)
    assert found["tie_order"] is found["sigmoids"] is None


@pytest.mark.parametrize("labels", LABELS)
def test_object_has_labels_of_every_kind(labels, tmp_path):
    X, y, _ = data(3, labels=labels)
    model = classifier().fit(X, y)
    found = stored(model, tmp_path)["classes"]
    assert found == model.classes_.tolist()
    assert isinstance(found[0], type(model.classes_.tolist()[0]))


def test_object_has_the_sigmoids(tmp_path):
    X, y, new = data(2)
    model = classifier(loss="log_loss").fit(X, y)
    found = stored(model, tmp_path)
    assert found["sigmoids"] == {"of": "pairs", "slopes": [1.0], "offsets": [0.0]}
    np.testing.assert_allclose(expit(decisions(found, new)[:, 0]), model.predict_proba(new)[:, 1])


def test_object_of_a_model_that_was_read_has_the_order_of_ties(tmp_path):
    X, y, _ = data(3)
    classifier().fit(X, y).to_libsvm(tmp_path / "model")
    text = (tmp_path / "model").read_text().replace("label -1 3 7", "label 7 -1 3")
    (tmp_path / "model").write_text(text)
    found = stored(PegasosSVC.from_libsvm(tmp_path / "model"), tmp_path)
    assert found["classes"] == [-1, 3, 7]
    assert found["tie_order"] == [2, 0, 1]


@pytest.mark.parametrize("gamma", [np.float32(0.05), np.int8(1)])
def test_parameters_of_numpy_are_numbers(gamma, tmp_path):
    X, y, _ = data(2)
    found = stored(classifier(np.float32(2) * kpegasos.Chi2(gamma)).fit(np.abs(X), y), tmp_path)
    kernel = {"name": "chi2", "gamma": float(gamma)}
    assert found["kernel"] == {"name": "scaled", "factor": 2.0, "kernel": kernel}
