"""The row view in a notebook: one module, the same answers, and errors as lines."""

import re
import subprocess
import sys
from typing import Any

import pytest

import counterpoise as cp
from counterpoise.errors import InputError
from counterpoise.web.widget import MODULES, join_modules
from web.subjects import detector, explainer


def test_the_joined_module_imports_nothing_and_exports_the_widget() -> None:
    text = join_modules()
    assert not re.search(r"^import ", text, flags=re.MULTILINE)
    assert re.findall(r"^export .*", text, flags=re.MULTILINE) == ["export default { render };"]
    names = re.findall(r"^(?:async )?(?:function|const|class) (\w+)", text, flags=re.MULTILINE)
    assert len(names) == len(set(names)), "two modules share a name at their top level"
    assert len(MODULES) == 7


def test_a_message_is_answered_as_the_page_would_be() -> None:
    pytest.importorskip("anywidget")
    widget = cp.row_widget(explainer(), detector()[2][:1], target="benign")
    sent: list[dict[str, Any]] = []
    widget.send = sent.append
    widget._handle_custom_msg({"number": 4, "what": "complete", "body": {"place": 0, "wishes": {}}}, [])
    widget._handle_custom_msg({"number": 5, "what": "nothing", "body": {}}, [])
    _wait_for(sent, 2)
    found = {message["number"]: message["found"] for message in sent}
    assert found[4]["text"] == explainer()(detector()[2][:1], target="benign", alternatives=3).text()
    assert "must be one of" in found[5]["error"]
    assert widget.setup["count"] == 1


def _wait_for(sent: list[Any], count: int) -> None:
    import time

    for _ in range(400):
        if len(sent) >= count:
            return
        time.sleep(0.05)
    raise AssertionError(f"{len(sent)} of {count} messages came")


def test_several_rows_are_refused() -> None:
    pytest.importorskip("anywidget")
    with pytest.raises(InputError, match="one row"):
        cp.row_widget(explainer(), detector()[2][:2])


@pytest.mark.parametrize(("blocked", "call"), [("anywidget", "row_widget"), ("uvicorn", "workbench")])
def test_without_the_extra_the_line_that_installs_it_is_said(blocked: str, call: str) -> None:
    program = (
        f"import sys; sys.modules[{blocked!r}] = None\n"
        "import counterpoise as cp, pandas as pd\n"
        "from sklearn.linear_model import LogisticRegression\n"
        "train = pd.DataFrame({'load': [0.1, 0.2, 0.8, 0.9]})\n"
        "explainer = cp.Explainer(LogisticRegression().fit(train, [0, 0, 1, 1]), reference=train)\n"
        f"try:\n    cp.{call}(explainer, train[:1])\nexcept cp.MissingExtra as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "pip install 'counterpoise[" in done.stdout, done.stderr
