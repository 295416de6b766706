"""PyTorch modules: their own scores, autograd's slopes, and nothing left changed."""

import numpy as np
import pandas as pd
import pytest

torch = pytest.importorskip("torch")

import counterpoise as cp  # noqa: E402
from counterpoise.errors import CapabilityError, InputError, ModelError  # noqa: E402
from counterpoise.models.callables.function import Function  # noqa: E402
from counterpoise.models.libraries.torch import run_in_batches  # noqa: E402
from counterpoise.models.registry import as_model  # noqa: E402
from counterpoise.space.schema.schema import Schema  # noqa: E402
from counterpoise.types import Model  # noqa: E402

X = np.random.default_rng(0).normal(size=(50, 3))
SCHEMA = Schema.infer(X)


def network(outputs: int, *last, dtype=torch.float64):
    torch.manual_seed(0)
    layers = [
        torch.nn.Linear(3, 8),
        torch.nn.Tanh(),
        torch.nn.Dropout(0.5),
        torch.nn.BatchNorm1d(8),
        torch.nn.Linear(8, outputs),
    ]
    return torch.nn.Sequential(*layers, *last).to(dtype).eval()


def own(module, x):
    with torch.no_grad():
        return module(torch.as_tensor(x, dtype=next(module.parameters()).dtype)).double().numpy()


def check_slopes(model: Model) -> None:
    assert model.hvp is not None
    rng, step = np.random.default_rng(1), 1e-5
    weights, v = rng.normal(size=model.outputs(X).shape), rng.normal(size=X.shape)
    for j, move in enumerate(step * np.eye(3)):
        slope = (weights * (model.outputs(X + move) - model.outputs(X - move))).sum(1) / (2 * step)
        assert np.allclose(model.gradient(X, weights)[:, j], slope, atol=1e-7)
    bent = (model.gradient(X + step * v, weights) - model.gradient(X - step * v, weights)) / (2 * step)
    assert np.allclose(model.hvp(X, weights, v), bent, atol=1e-7)


def test_several_logits_are_classes() -> None:
    module = network(3)
    model = as_model(module, SCHEMA, X)
    assert (model.labels, model.link) == ((0, 1, 2), "identity")
    assert np.allclose(model.outputs(X), own(module, X))
    assert np.array_equal(model.predict(X), own(module, X).argmax(1))
    likely = model.probabilities(X)
    assert likely is not None
    assert np.allclose(likely, torch.softmax(torch.as_tensor(own(module, X)), 1).numpy())
    check_slopes(model)


@pytest.mark.parametrize("last", [(), (torch.nn.Flatten(0),)], ids=["column", "flat"])
def test_one_logit_stands_against_zero(last) -> None:
    module = network(1, *last)
    model = as_model(module, SCHEMA, X)
    assert (model.labels, model.link) == ((0, 1), "identity")
    assert np.allclose(model.outputs(X)[:, 1], own(module, X).ravel())
    assert (model.outputs(X)[:, 0] == 0).all()
    check_slopes(model)


@pytest.mark.parametrize(
    ("outputs", "last"), [(1, torch.nn.Sigmoid()), (3, torch.nn.Softmax(1))], ids=["sigmoid", "softmax"]
)
def test_probabilities_are_seen_to_be_probabilities(outputs: int, last) -> None:
    module = network(outputs, last)
    model = as_model(module, SCHEMA, X)
    assert model.link == "log"
    assert np.allclose(model.outputs(X).sum(1), 1)
    assert np.array_equal(model.probabilities(X), model.outputs(X))
    check_slopes(model)


def test_a_function_of_a_module_is_a_score_or_has_labels() -> None:
    module = network(1)
    score = as_model(Function(module), SCHEMA, X)
    assert (score.labels, score.probabilities(X)) == (None, None)
    check_slopes(score)
    named = as_model(Function(module, labels=["benign", "attack"]), SCHEMA, X)
    assert set(named.predict(X)) <= {"benign", "attack"}
    assert np.array_equal(named.predict(X) == "attack", own(module, X)[:, 0] > 0)


def test_a_module_in_training_mode_is_asked_in_evaluation_mode_and_left_as_it_was() -> None:
    module = network(3)
    expected = own(module, X)
    module.train()
    module[3].eval()  # a part that the user froze
    model = as_model(module, SCHEMA, X)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    assert np.allclose(model.outputs(X), expected)
    model.gradient(X, np.ones((50, 3)))
    assert [part.training for part in module] == [True, True, True, False, True]
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    assert all(parameter.grad is None for parameter in module.parameters())
    assert "training mode" in model.notes[0]
    module.eval()
    assert model.notes == ()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_a_module_is_fed_its_own_dtype(dtype) -> None:
    module = network(2, dtype=dtype)
    model = as_model(module, SCHEMA, X)
    assert model.outputs(X).dtype == np.float64
    assert np.array_equal(model.outputs(X), own(module, X))
    assert model.gradient(X, np.ones((50, 2))).shape == X.shape


def test_a_module_of_two_dtypes_is_told_so() -> None:
    module = network(2, dtype=torch.float32)
    module[4].double()
    with pytest.raises(InputError, match=r"float32, float64.*module\.float\(\)"):
        as_model(module, SCHEMA, X)

    class Casting(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = torch.nn.Linear(3, 4), torch.nn.Linear(4, 2).double()

        def forward(self, x):
            return self.second(self.first(x).double())

    assert as_model(Casting(), SCHEMA, X).labels == (0, 1)


def test_what_the_user_should_know_reaches_the_explanation() -> None:
    module = network(1).train()
    e = cp.explain(module, X[:2], reference=X)
    assert any("training mode" in note for note in e.notes)
    assert any("label 1 against 0" in note for note in e.notes)
    assert module.training
    both = cp.explain([module, network(1)], X[:2], reference=X, threshold=0.6)
    assert [note for note in both.notes if "training mode" in note] == [e.notes[0]]
    named = cp.explain(Function(module.eval(), labels=["no", "yes"]), X[:2], reference=X)
    assert named.notes == ()


def test_a_piecewise_linear_module_has_no_curvature() -> None:
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2)).double()
    for flat in (module, torch.nn.Linear(3, 2).double()):
        model = as_model(flat, SCHEMA, X)
        assert (model.hvp(X, np.ones((50, 2)), X) == 0).all()


def test_batches_are_put_together_in_order_and_shrink_when_memory_is_short() -> None:
    module = network(3)
    model = as_model(module, SCHEMA, X)
    whole = model.outputs(X)
    by_seven_rows = run_in_batches(module, module, X, max_numbers_together=21)
    assert np.allclose(whole, by_seven_rows)

    class Small(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = module

        def forward(self, x):
            if len(x) > 3:
                raise torch.OutOfMemoryError("out of memory")
            return self.inner(x)

    assert np.allclose(as_model(Small(), SCHEMA, X).outputs(X), whole)


def test_what_a_module_raises_is_passed_on() -> None:
    with pytest.raises(ModelError, match=r"RuntimeError: .*shapes cannot be multiplied"):
        as_model(torch.nn.Linear(5, 2), SCHEMA, X)


def test_a_module_is_not_given_words() -> None:
    table = pd.DataFrame({"rate": X[:, 0], "proto": np.where(X[:, 1] > 0, "tcp", "udp")})
    with pytest.raises(CapabilityError, match=r"categories: proto; .*lambda rows"):
        as_model(torch.nn.Linear(2, 2), Schema.infer(table), np.zeros((2, 2)))
