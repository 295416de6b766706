// The row view in a notebook: questions go to the kernel, and its answers come back by their numbers.

import { make, replaceChildren } from "./dom.js";
import { mountRow } from "./row_view.js";
import { FIRST_STATE, History } from "./state.js";

function render({ model, el }) {
  const waiting = new Map();
  let last = 0;
  const line = make("p", { role: "alert", class: "alert", hidden: "" });
  const view = make("div", {});
  const page = make("div", { class: "workbench" }, line, view);
  replaceChildren(el, page);
  const receive = (message) => {
    waiting.get(message.number)?.(message.found);
    waiting.delete(message.number);
  };
  model.on("msg:custom", receive);
  const ask = async (what, body) => {
    const number = ++last;
    const found = await new Promise((resolve) => {
      waiting.set(number, resolve);
      model.send({ number, what, body });
    });
    if (found.isCancelled) return null;
    line.textContent = found.error || "";
    line.hidden = !found.error;
    return found.error ? null : found;
  };
  const history = new History({ inAddress: false });
  history.state = { ...FIRST_STATE(), place: 0 };
  const leave = mountRow(view, { ask, history, setup: model.get("setup"), canLeave: false });
  return () => {
    model.off("msg:custom", receive);
    leave();
  };
}

export default { render };
