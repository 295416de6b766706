"""Pages from template files, with one policy: whatever goes into a page is escaped, our own files excepted."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

HEAD_PACKAGE = "counterpoise.show"  # its base.html has the head of every page, and what a page may load
JSON_SETTINGS = {"ensure_ascii": False, "allow_nan": False, "separators": (",", ":"), "sort_keys": False}


def render_template(package: str, name: str, **values: Any) -> str:
    """The page that a file in the ``template`` folder of a package makes of these values.

    The filter ``tojson`` writes data into a script element, which the data cannot end; ``own_file("x.css")`` is the
    text of another file of that folder, as it is.
    """
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(each, "template") for each in (package, HEAD_PACKAGE)]),
        autoescape=True,
        undefined=StrictUndefined,  # a name that is misspelt is an error, not an empty place
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = JSON_SETTINGS

    def own_file(file: str) -> Markup:
        return Markup((files(package) / "template" / file).read_text(encoding="utf-8"))

    return environment.get_template(name).render(own_file=own_file, **values)
