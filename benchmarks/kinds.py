"""Every kind of model that can be explained, fitted on small tables: the source of docs/reference/conformance.md."""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

import counterpoise as cp

TASKS = ("binary", "multi-class", "regression")
DATA = ("numeric", "mixed", "missing")
Predict = Callable[[pd.DataFrame], Any]


class Fitted(NamedTuple):
    """What is explained, and what the model says of a frame when it is asked without this project."""

    model: Any
    predict: Predict


class Unfit(Exception):
    """Why a kind of model is not asked about a kind of table or task."""


def table(data: str, n: int = 160) -> pd.DataFrame:
    """Numbers and whole numbers; with a category and a truth value beside them; or with missing cells."""
    rng = np.random.default_rng(0)
    x = pd.DataFrame(
        {"rate": rng.normal(size=n), "load": rng.normal(size=n).round(2), "packets": rng.integers(0, 9, n)}
    )
    if data == "mixed":
        x["proto"] = pd.Categorical(rng.choice(["tcp", "udp", "icmp"], n))
        x["member"] = rng.random(n) < 0.5
    if data == "missing":
        x["load"] = x["load"].where(rng.random(n) > 0.15)
    return x


def truth(x: pd.DataFrame, task: str) -> np.ndarray:
    """What the models learn: a number, or the class that it falls in."""
    number = x["rate"] + 0.8 * x["load"].fillna(0.5) + 0.3 * (x["packets"] - 4)
    if "proto" in x:
        number = number + (x["proto"] == "udp") + 0.5 * x["member"]
    value = number.to_numpy(dtype=float)
    cuts = {"binary": [0.5], "multi-class": [0.3, 0.7]}.get(task)
    return value if cuts is None else np.digitize(value, np.quantile(value, cuts))


def front(data: str) -> Any:
    """Encoders, imputers and scalers, as anybody would put them before a model of numbers."""
    numbers = make_pipeline(SimpleImputer(), StandardScaler()) if data == "missing" else StandardScaler()
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (encoder, make_column_selector(dtype_exclude="number")),
    )


def estimator(classifier: Any, regressor: Any, *, bare: bool = False) -> Callable[[str, str], Fitted]:
    """A scikit-learn estimator, bare or behind the front."""

    def fit(data: str, task: str) -> Fitted:
        made = regressor if task == "regression" else classifier
        if made is None:
            raise Unfit("it is for classes alone")
        own = made() if bare else make_pipeline(front(data), made())
        x = table(data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fits that were not given the time to converge
            own.fit(x, truth(x, task))
        return Fitted(own, own.predict)

    return fit


def voting(task: str) -> Any:
    if task == "regression":
        return VotingRegressor([("a", Ridge()), ("b", RandomForestRegressor(10, random_state=0))])
    return VotingClassifier(
        [("a", LogisticRegression()), ("b", RandomForestClassifier(10, random_state=0))], voting="soft"
    )


def stacking(task: str) -> Any:
    if task == "regression":
        return StackingRegressor([("a", Ridge()), ("b", RandomForestRegressor(10, random_state=0))], cv=2)
    return StackingClassifier([("a", LogisticRegression()), ("b", RandomForestClassifier(10, random_state=0))], cv=2)


def xgboost(data: str, task: str) -> Fitted:
    from xgboost import XGBClassifier, XGBRegressor

    make = XGBRegressor if task == "regression" else XGBClassifier
    x = table(data)
    own = make(n_estimators=20, max_depth=4, enable_categorical=True, n_jobs=1).fit(x, truth(x, task))
    return Fitted(own, own.predict)


def xgboost_booster(data: str, task: str) -> Fitted:
    import xgboost

    x = table(data)
    objective = {"binary": "binary:logistic", "multi-class": "multi:softprob", "regression": "reg:squarederror"}[task]
    settings = {"objective": objective, "max_depth": 4, "nthread": 1}
    settings |= {"num_class": 3} if task == "multi-class" else {}
    own = xgboost.train(settings, xgboost.DMatrix(x, truth(x, task), enable_categorical=True), 20)
    return Fitted(own, lambda frame: decided(own.predict(xgboost.DMatrix(frame, enable_categorical=True)), task))


def lightgbm(data: str, task: str) -> Fitted:
    from lightgbm import LGBMClassifier, LGBMRegressor

    make = LGBMRegressor if task == "regression" else LGBMClassifier
    x = table(data)
    own = make(n_estimators=20, min_child_samples=5, min_data_per_group=5, n_jobs=1, verbose=-1).fit(x, truth(x, task))
    return Fitted(own, own.predict)


def lightgbm_booster(data: str, task: str) -> Fitted:
    own = lightgbm(data, task).model.booster_
    return Fitted(own, lambda frame: decided(own.predict(frame), task))


def catboost(data: str, task: str) -> Fitted:
    from catboost import CatBoostClassifier, CatBoostRegressor

    make = CatBoostRegressor if task == "regression" else CatBoostClassifier
    x = table(data)
    words = [name for name in x if isinstance(x[name].dtype, pd.CategoricalDtype)]
    own = make(iterations=20, depth=4, verbose=0, thread_count=1, allow_writing_files=False, cat_features=words)
    own.fit(x, truth(x, task))
    return Fitted(own, lambda frame: np.asarray(own.predict(frame)).reshape(-1))


def module(x: np.ndarray, task: str) -> Any:
    """A small network, trained for a moment."""
    import torch

    torch.manual_seed(0)
    outputs = 3 if task == "multi-class" else 1
    net = torch.nn.Sequential(torch.nn.Linear(x.shape[1], 8), torch.nn.Tanh(), torch.nn.Linear(8, outputs)).double()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    loss = {"binary": torch.nn.BCEWithLogitsLoss, "multi-class": torch.nn.CrossEntropyLoss}.get(
        task, torch.nn.MSELoss
    )()
    wanted = truth(table("missing" if np.isnan(x).any() else "numeric" if x.shape[1] == 3 else "mixed"), task)
    y = torch.as_tensor(wanted if task == "multi-class" else wanted[:, None].astype(float))
    for _ in range(150):
        optimizer.zero_grad()
        loss(net(torch.as_tensor(np.nan_to_num(x))), y).backward()
        optimizer.step()
    return net.eval()


def torch_module(data: str, task: str) -> Fitted:
    import torch

    x = table(data)
    net = module(prepared(x), task)

    def predict(frame: pd.DataFrame) -> Any:
        with torch.no_grad():
            found = net(torch.as_tensor(frame.to_numpy(dtype=float))).numpy()
        return found[:, 0] if task == "regression" else (found[:, 0] > 0) * 1 if task == "binary" else found.argmax(1)

    return Fitted(cp.Function(net) if task == "regression" else net, predict)


def prepared(frame: pd.DataFrame) -> np.ndarray:
    """A frame as numbers: the codes of its categories."""
    codes = frame.assign(proto=frame["proto"].cat.codes) if "proto" in frame else frame
    return codes.to_numpy(dtype=float)


def torch_callable(data: str, task: str) -> Fitted:
    import torch

    net = module(prepared(table(data)), task)

    def scores(frame: pd.DataFrame) -> Any:
        with torch.no_grad():
            found = net(torch.as_tensor(np.nan_to_num(prepared(frame)))).numpy()
        return np.hstack([0 * found, found]) if task == "binary" else found

    return Fitted(scores, lambda frame: decided(scores(frame), task))


def onnx(data: str, task: str) -> Fitted:
    from onnxruntime import InferenceSession
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType

    x = table(data).drop(columns="member", errors="ignore")  # a column that the model does not read
    if "proto" in x:
        x["proto"] = x["proto"].astype(str)
    own = make_pipeline(front(data), Ridge() if task == "regression" else LogisticRegression()).fit(
        x, truth(table(data), task)
    )
    kinds = {"f": FloatTensorType, "i": Int64TensorType}
    inputs = [(name, kinds.get(x[name].dtype.kind, StringTensorType)([None, 1])) for name in x]
    made = convert_sklearn(own, initial_types=inputs, target_opset=17)
    session = InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])

    def predict(frame: pd.DataFrame) -> Any:
        types = {"f": np.float32, "i": np.int64}
        given = {name: frame[[name]].astype(types.get(x[name].dtype.kind, str)).to_numpy() for name in x}
        if "proto" in given:
            given["proto"] = given["proto"].astype(object)
        return np.asarray(session.run(None, given)[0]).reshape(-1)

    return Fitted(session, predict)


def scores(data: str, task: str) -> Fitted:
    own = estimator(LogisticRegression, Ridge)(data, task).model
    return Fitted(own.predict if task == "regression" else own.predict_proba, own.predict)


def labels(data: str, task: str) -> Fitted:
    if task == "regression":
        raise Unfit("a number is no label")
    own = estimator(LogisticRegression, None)(data, task).model
    return Fitted(lambda frame: own.predict(frame), own.predict)


def written_out(data: str, task: str) -> Fitted:
    """Scores and their gradient by hand: a linear model of the encoded columns."""
    width = table(data).shape[1]
    lines = np.random.default_rng(1).normal(size=(3 if task == "multi-class" else 1, width))

    def scores(x: np.ndarray) -> np.ndarray:
        found = np.nan_to_num(x) @ lines.T - 0.5
        return found if len(lines) > 1 else found[:, 0]

    def gradient(x: np.ndarray) -> np.ndarray:
        return np.broadcast_to(lines, (len(x), *lines.shape)) if len(lines) > 1 else np.broadcast_to(lines[0], x.shape)

    def predict(frame: pd.DataFrame) -> Any:
        codes = {"icmp": 0.0, "tcp": 1.0, "udp": 2.0}
        x = frame.assign(proto=frame["proto"].astype(str).map(codes)) if "proto" in frame else frame
        return decided(scores(x.to_numpy(dtype=float)), task, cut=0.0)

    named = {"labels": [0, 1], "link": "identity"} if task == "binary" else {}
    return Fitted(cp.Function(scores, gradient=gradient, array=True, **named), predict)


def remote(data: str, task: str) -> Fitted:
    own = estimator(LogisticRegression, Ridge)(data, task).model
    like = table(data)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            frame = pd.DataFrame(body["rows"], columns=body["columns"]).astype(like.dtypes)
            found = own.predict(frame) if task == "regression" else own.predict_proba(frame)
            text = json.dumps(found.tolist()).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return Fitted(cp.Remote(f"http://127.0.0.1:{server.server_port}"), own.predict)


def several(data: str, task: str) -> Fitted:
    makers = [(LogisticRegression, LinearRegression), (HistGradientBoostingClassifier, HistGradientBoostingRegressor)]
    own = [estimator(*maker)(data, task).model for maker in makers]

    def predict(frame: pd.DataFrame) -> Any:
        said = np.stack([member.predict(frame) for member in own])
        return np.median(said, axis=0) if task == "regression" else np.where((said == said[0]).all(0), said[0], -1)

    return Fitted(own, predict)


def decided(found: Any, task: str, cut: float = 0.5) -> Any:
    """Classes from probabilities or scores; numbers as they are."""
    found = np.asarray(found)
    if task == "regression":
        return found.reshape(-1)
    return (found > cut).astype(int) if found.ndim == 1 else found.argmax(axis=1)


KINDS: dict[str, Callable[[str, str], Fitted]] = {
    "LogisticRegression, Ridge": estimator(LogisticRegression, Ridge, bare=True),
    "the same in a Pipeline with encoders": estimator(LogisticRegression, Ridge),
    "SVC, SVR in a Pipeline": estimator(SVC, SVR),
    "MLPClassifier, MLPRegressor in a Pipeline": estimator(
        lambda: MLPClassifier(hidden_layer_sizes=(8,), max_iter=200, random_state=0),
        lambda: MLPRegressor(hidden_layer_sizes=(8,), max_iter=300, random_state=0),
    ),
    "RandomForest*": estimator(
        lambda: RandomForestClassifier(20, random_state=0), lambda: RandomForestRegressor(20, random_state=0), bare=True
    ),
    "RandomForest* in a Pipeline": estimator(
        lambda: RandomForestClassifier(20, random_state=0), lambda: RandomForestRegressor(20, random_state=0)
    ),
    "GradientBoosting* in a Pipeline": estimator(
        lambda: GradientBoostingClassifier(n_estimators=20, random_state=0),
        lambda: GradientBoostingRegressor(n_estimators=20, random_state=0),
    ),
    "HistGradientBoosting*, native categories": estimator(
        lambda: HistGradientBoostingClassifier(max_iter=20),
        lambda: HistGradientBoostingRegressor(max_iter=20),
        bare=True,
    ),
    "CalibratedClassifierCV in a Pipeline": estimator(lambda: CalibratedClassifierCV(SVC(), cv=2), None),
    "Voting* in a Pipeline": estimator(lambda: voting("binary"), lambda: voting("regression")),
    "Stacking* in a Pipeline": estimator(lambda: stacking("binary"), lambda: stacking("regression")),
    "GridSearchCV in a Pipeline": estimator(
        lambda: GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2),
        lambda: GridSearchCV(Ridge(), {"alpha": [0.1]}, cv=2),
    ),
    "XGBClassifier, XGBRegressor, native categories": xgboost,
    "xgboost.Booster": xgboost_booster,
    "LGBMClassifier, LGBMRegressor, native categories": lightgbm,
    "lightgbm.Booster": lightgbm_booster,
    "CatBoostClassifier, CatBoostRegressor, native categories": catboost,
    "PyTorch module": torch_module,
    "PyTorch module in a callable that prepares rows": torch_callable,
    "ONNX session": onnx,
    "callable that gives probabilities or numbers": scores,
    "callable that gives labels": labels,
    "cp.Function with a gradient": written_out,
    "cp.Remote": remote,
    "several models that must agree": several,
}
