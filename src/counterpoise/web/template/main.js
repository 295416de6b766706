// The page: the list, or one row; the state says which.

import { make, replaceChildren } from "./dom.js";
import { mountList } from "./list_view.js";
import { mountRow } from "./row_view.js";
import { History } from "./state.js";

const page = document.getElementById("page");
const pageName = crypto.randomUUID();
const alertLine = make("p", { role: "alert", class: "alert", hidden: "" });
const view = make("div", {});
replaceChildren(page, alertLine, view);

function say(words) {
  alertLine.textContent = words;
  alertLine.hidden = !words;
}

async function ask(what, body) {
  let response;
  try {
    response = await fetch(`/api/${what}`, { method: "POST", body: JSON.stringify({ page: pageName, ...body }), headers: { "content-type": "application/json" } });
  } catch {
    say("The workbench does not answer: it may have been stopped.");
    return null;
  }
  const found = await response.json().catch(() => ({ error: "The workbench refuses: open its address again." }));
  if (found.isCancelled) return null; // a newer question took its place
  say(found.error || "");
  return found.error ? null : found;
}

const setup = await ask("setup", {});
if (setup) {
  document.title = setup.title;
  const history = new History({ inAddress: true });
  let leave = () => {};
  const show = (state, before) => {
    if (before && state.place === before.place) return;
    leave();
    say("");
    const mounted = make("div", {});
    replaceChildren(view, mounted);
    leave = state.place === null ? mountList(mounted, { ask, history, setup }) : mountRow(mounted, { ask, history, setup });
    window.scrollTo(0, 0);
  };
  history.watch(show);
  show(history.state, null);
}
