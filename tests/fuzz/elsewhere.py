"""Models that are not scikit-learn's: an ONNX session, a service behind HTTP, several models that must agree."""

from __future__ import annotations

import json
import threading
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pandas as pd

import counterpoise as cp
from fuzz.subject import Subject, learnable_score
from fuzz.tables import Rng, Table


def draw_onnx(rng: Rng, table: Table) -> Subject:
    """Two scores, each a weighted sum, in an onnxruntime session that computes in single or double precision."""
    from onnx import TensorProto, helper, numpy_helper
    from onnxruntime import InferenceSession

    dtype, name = [(np.float32, TensorProto.FLOAT), (np.float64, TensorProto.DOUBLE)][int(rng.integers(2))]
    rows = table.reference.to_numpy(dtype=float)
    scale = rows.std(axis=0)
    weights = rng.normal(size=(2, rows.shape[1])) / np.where(scale > 0, scale, 1.0)
    bias = -np.median(rows @ weights.T, axis=0)
    parts = [numpy_helper.from_array(part.astype(dtype), each) for part, each in ((weights, "w"), (bias, "b"))]
    ends = (
        [helper.make_tensor_value_info("x", name, [None, rows.shape[1]])],
        [helper.make_tensor_value_info("scores", name, [None, 2])],
    )
    graph = helper.make_graph([helper.make_node("Gemm", ["x", "w", "b"], ["scores"], transB=1)], "g", *ends, parts)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])

    def predict(frame: pd.DataFrame) -> Any:
        return session.run(["scores"], {"x": frame.to_numpy(dtype=dtype)})[0].argmax(axis=1)

    return Subject("onnx", session, predict, (0, 1), reads_arrays=True)


SERVICES: dict[str, Any] = {}


@cache
def _address() -> str:
    """A server of this process that answers for every service in `SERVICES`, by the end of its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            frame = pd.DataFrame(body["rows"]).set_axis(pd.Index(range(len(body["columns"]))), axis=1)
            text = json.dumps(SERVICES[self.path.removeprefix("/")](frame).tolist()).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def draw_remote(rng: Rng, table: Table) -> Subject:
    """A service that is sent rows as JSON and answers with a number a row."""
    units = table.reference.astype(float).std().replace(0.0, 1.0).to_numpy()
    weights, middle = rng.normal(size=len(units)), table.reference.astype(float).median().to_numpy()

    def say(frame: pd.DataFrame) -> Any:
        return (np.tanh((frame.to_numpy(dtype=float) - middle) / units) * weights).sum(axis=1)

    name = str(rng.integers(2**60))
    SERVICES[name] = say
    remote = cp.Remote(f"{_address()}/{name}", retries=0)
    return Subject("remote", remote, lambda frame: np.asarray(remote(frame)), None)


def draw_agreement(rng: Rng, table: Table) -> Subject:
    """Two callables that must agree; where they do not, nothing is decided."""
    scores = [learnable_score(rng, table) for _ in range(2)]
    middles = [float(np.median(score(table.reference))) for score in scores]

    def member(place: int) -> Any:
        def says(frame: pd.DataFrame) -> Any:
            return np.where(scores[place](frame) > middles[place], "yes", "no")

        return says

    members = [member(0), member(1)]

    def predict(frame: pd.DataFrame) -> Any:
        said = [np.asarray(each(frame)) for each in members]
        return np.where(said[0] == said[1], said[0], "undecided")

    models = [cp.Function(each, labels=("no", "yes")) for each in members]
    return Subject("agreement", models, predict, ("no", "yes"))
