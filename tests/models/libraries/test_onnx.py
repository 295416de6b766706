"""ONNX sessions of exported models say what the models say."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

onnxruntime = pytest.importorskip("onnxruntime")
skl2onnx = pytest.importorskip("skl2onnx")

from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType  # noqa: E402

import counterpoise as cp  # noqa: E402
from counterpoise.errors import InputError  # noqa: E402
from counterpoise.models.callables.function import Function  # noqa: E402
from counterpoise.models.registry import as_model  # noqa: E402
from counterpoise.space.schema.encode import encode  # noqa: E402
from counterpoise.space.schema.schema import Schema  # noqa: E402

X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32).astype(np.float64)
WORDS = np.array(["low", "mid", "top"])[np.digitize(X[:, 0], [-0.5, 0.5])]
SCHEMA = Schema.infer(X)
MATRIX = [("x", FloatTensorType([None, 3]))]


def session(model, inputs, **options):
    made = skl2onnx.convert_sklearn(model, initial_types=inputs, options=options.get("options"), target_opset=17)
    return onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("zipmap", [True, False], ids=["maps", "matrix"])
@pytest.mark.parametrize(
    "y", [WORDS, np.digitize(X[:, 0], [0.0]), WORDS == "top"], ids=["words", "integers", "booleans"]
)
def test_a_classifier_keeps_its_labels_and_probabilities(zipmap: bool, y) -> None:
    own = LogisticRegression().fit(X, y)
    model = as_model(session(own, MATRIX, options={id(own): {"zipmap": zipmap}}), SCHEMA, X)
    assert model.labels == tuple(own.classes_.tolist())
    assert model.link == "log"
    assert np.array_equal(model.predict(X), own.predict(X))
    likely = model.probabilities(X)
    assert likely is not None
    assert np.allclose(likely, own.predict_proba(X), atol=1e-5)
    assert np.array_equal(np.array(model.labels)[model.outputs(X).argmax(1)], own.predict(X))


def test_a_regression_gives_a_number() -> None:
    own = LinearRegression().fit(X, X[:, 0] * 2)
    model = as_model(session(own, MATRIX), SCHEMA, X)
    assert model.labels is None
    assert np.allclose(model.outputs(X)[:, 0], own.predict(X), atol=1e-5)


def test_columns_arrive_one_by_one_in_their_own_types() -> None:
    table = pd.DataFrame({"rate": X[:, 0], "packets": np.arange(60), "proto": np.where(X[:, 1] > 0, "tcp", "udp")})
    blocks = [("n", StandardScaler(), ["rate", "packets"]), ("c", OneHotEncoder(), ["proto"])]
    own = make_pipeline(ColumnTransformer(blocks), LogisticRegression()).fit(table, WORDS)
    inputs = [
        ("proto", StringTensorType([None, 1])),
        ("rate", FloatTensorType([None, 1])),
        ("packets", Int64TensorType([None, 1])),
    ]
    schema = Schema.infer(table)
    exported = session(own, inputs)
    model = as_model(exported, schema, encode(schema, table))
    assert np.array_equal(model.predict(encode(schema, table)), own.predict(table))
    shorter = Schema.infer(table[["rate", "packets"]])
    with pytest.raises(InputError, match="it has none for proto"):
        as_model(exported, shorter, encode(shorter, table))


def test_labels_that_the_reference_does_not_show_must_be_listed() -> None:
    own = LogisticRegression().fit(X, WORDS)
    exported = session(own, MATRIX, options={id(own): {"zipmap": False}})
    few = X[own.predict(X) == "mid"]
    with pytest.raises(InputError, match=r"only shows 'mid'.*labels="):
        as_model(exported, SCHEMA, few)
    model = as_model(Function(exported, labels=["low", "mid", "top"]), SCHEMA, few)
    assert np.array_equal(model.predict(X), own.predict(X))


def test_an_exported_network_gives_logits() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")
    from onnx import TensorProto, helper, numpy_helper

    layer = torch.nn.Linear(3, 4)
    parts = [numpy_helper.from_array(value.detach().numpy(), name) for name, value in layer.named_parameters()]
    node = helper.make_node("Gemm", ["x", "weight", "bias"], ["logits"], transB=1)
    ends = (
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 3])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [None, 4])],
    )
    made = helper.make_model(
        helper.make_graph([node], "g", *ends, parts), opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )
    running = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    model = as_model(running, SCHEMA, X)
    assert (model.labels, model.link) == ((0, 1, 2, 3), "identity")
    with torch.no_grad():
        assert np.allclose(model.outputs(X), layer(torch.as_tensor(X, dtype=torch.float32)).numpy(), atol=1e-5)


def test_a_matrix_has_the_columns_of_the_reference_whatever_the_order_of_the_rows() -> None:
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    own = session(LogisticRegression().fit(X, X[:, 0] > 0), MATRIX)
    rows = table[["c", "a", "b"]][:20]
    found = cp.explain(own, rows, reference=table)
    after, *_ = own.run(None, {"x": found.frame[["a", "b", "c"]].to_numpy(dtype=np.float32)})
    assert found.valid.all()
    assert (np.asarray(after) != (rows["a"] > 0)).all()
