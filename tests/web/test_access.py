"""Who gets in: one browser with the token, on this machine, from our own page; everybody else gets 403."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from time import sleep

import httpx
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import counterpoise as cp
from counterpoise.errors import InputError
from counterpoise.web.server import ServerSettings
from counterpoise.web.session import Session
from counterpoise.web.workbench import Workbench
from web.subjects import detector, explainer


@pytest.fixture
def workbench() -> Iterator[Workbench]:
    with cp.workbench(explainer(), detector()[2], target="benign") as page:
        yield page


@pytest.fixture
def inside(workbench: Workbench) -> Iterator[httpx.Client]:
    base = f"http://127.0.0.1:{workbench.port}"
    with httpx.Client(base_url=base, headers={"origin": base}, follow_redirects=True) as client:
        assert client.get(workbench.url).status_code == 200
        yield client


def test_the_token_is_exchanged_once_and_leaves_the_address(workbench: Workbench, inside: httpx.Client) -> None:
    assert "token" not in str(inside.get("/").url)
    with httpx.Client(follow_redirects=True) as other:
        assert other.get(workbench.url).status_code == 403


@pytest.mark.parametrize(
    "headers", [{"host": "evil.example"}, {"origin": "http://evil.example"}, {"cookie": "counterpoise=guess"}]
)
def test_others_get_nothing(inside: httpx.Client, headers: dict[str, str]) -> None:
    if "cookie" in headers:
        inside.cookies.clear()
    assert inside.post("/api/list", json={}, headers=headers).status_code == 403
    assert inside.get("/", headers=headers).status_code == 403


def test_a_question_without_an_origin_is_refused(workbench: Workbench, inside: httpx.Client) -> None:
    with httpx.Client(cookies=inside.cookies) as quiet:
        assert quiet.post(f"http://127.0.0.1:{workbench.port}/api/list", json={}).status_code == 403


def test_the_policy_allows_nothing_from_elsewhere(inside: httpx.Client) -> None:
    policy = inside.get("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy


@pytest.mark.parametrize("name", ["../session.py", "..%2Fsession.py", "nothing.js", "__init__.py"])
def test_only_the_pages_own_files_are_sent(inside: httpx.Client, name: str) -> None:
    assert inside.get(f"/files/{name}").status_code == 404


def test_what_is_no_question_is_a_line(inside: httpx.Client) -> None:
    assert inside.post("/api/list", content=b"[" * 10).status_code == 422
    assert inside.post("/api/list", content=b"[]").status_code == 422
    assert inside.post("/api/list", content=b" " * (2 << 20)).status_code == 422
    assert "reload" in inside.post("/api/nothing", json={}).json()["error"]


def test_a_port_that_is_taken_is_a_clear_line(workbench: Workbench) -> None:
    with pytest.raises(InputError, match="free"):
        cp.workbench(explainer(), detector()[2], port=workbench.port)
    with pytest.raises(InputError, match="port"):
        cp.workbench(explainer(), detector()[2], port=-1)


def test_a_model_that_raises_leaves_the_page_usable() -> None:
    train = pd.DataFrame({"load": [0.1, 0.2, 0.7, 0.9], "ports": [1, 2, 3, 4]})
    good = LogisticRegression().fit(train, [0, 0, 1, 1])
    state = {"fails": False}

    def scores(rows: pd.DataFrame) -> object:
        if state["fails"]:
            raise RuntimeError("the accelerator is on fire")
        return good.predict_proba(rows)

    asked = cp.Explainer(cp.Function(scores, labels=(0, 1)), reference=train)
    with cp.workbench(asked, train) as page:
        base = f"http://127.0.0.1:{page.port}"
        with httpx.Client(base_url=base, headers={"origin": base}, follow_redirects=True) as client:
            client.get(page.url)
            state["fails"] = True
            refused = client.post("/api/verdict", json={"place": 0, "cells": {"0": 0.3}})
            assert "on fire" in refused.json()["error"]
            state["fails"] = False
            assert client.post("/api/verdict", json={"place": 0, "cells": {"0": 0.3}}).status_code == 200


def test_a_model_that_hangs_leaves_the_page_usable() -> None:
    train = pd.DataFrame({"load": [0.1, 0.2, 0.7, 0.9], "ports": [1, 2, 3, 4]})
    good = LogisticRegression().fit(train, [0, 0, 1, 1])
    goes_on = Event()
    goes_on.set()

    def scores(rows: pd.DataFrame) -> object:
        goes_on.wait()
        return good.predict_proba(rows)

    asked = cp.Explainer(cp.Function(scores, labels=(0, 1)), reference=train)
    settings = ServerSettings(answer_seconds=0.5)
    with Workbench(Session(asked, train), 0, settings) as page:
        base = f"http://127.0.0.1:{page.port}"
        with httpx.Client(base_url=base, headers={"origin": base}, follow_redirects=True) as client:
            client.get(page.url)
            goes_on.clear()
            refused = client.post("/api/verdict", json={"place": 0, "cells": {"0": 0.3}})
            assert "may hang" in refused.json()["error"]
            assert client.post("/api/list", json={}).json()["total"] == 4
            goes_on.set()
            assert client.post("/api/verdict", json={"place": 0, "cells": {"0": 0.3}}).status_code == 200


def test_a_new_question_of_the_same_page_ends_the_old_one_and_no_others() -> None:
    train = pd.DataFrame({"load": [0.1, 0.2, 0.7, 0.9], "ports": [1, 2, 3, 4]})
    good = LogisticRegression().fit(train, [0, 0, 1, 1])
    slow, goes_on = Event(), Event()

    def scores(rows: pd.DataFrame) -> object:
        while slow.is_set() and not goes_on.wait(0.01):
            pass
        return good.predict_proba(rows)

    asked = cp.Explainer(cp.Function(scores, labels=(0, 1)), reference=train)
    with cp.workbench(asked, train) as page, ThreadPoolExecutor(3) as pool:
        base = f"http://127.0.0.1:{page.port}"
        with httpx.Client(base_url=base, headers={"origin": base}, follow_redirects=True) as client:
            client.get(page.url)
            slow.set()

            def is_cancelled(name: str, place: int) -> bool:
                wishes = {"max_changes": 1 + place}
                found = client.post("/api/answer", json={"page": name, "place": place, "wishes": wishes})
                return bool(found.json().get("isCancelled", False))

            old, other = pool.submit(is_cancelled, "one", 0), pool.submit(is_cancelled, "two", 1)
            while len(page._server._at_work) < 2:
                sleep(0.01)
            new = pool.submit(is_cancelled, "one", 1)
            assert old.result(10)
            goes_on.set()
            assert not new.result(30)
            assert not other.result(30)
