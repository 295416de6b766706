// The list of rows: search, filter, sort; a hundred lines at a time, whatever their number.

import { button, keptShare, make, percent, replaceChildren, shortNumber } from "./dom.js";

const COLUMNS = [
  ["label", "Row"],
  ["verdict", "Verdict"],
  ["probability", "Probability of the target"],
  ["effort", "Effort"],
  ["kept", "Kept"],
  ["gap", "Gap"],
  ["way", "Group: what would change"],
  ["status", "Status"],
];
const SORTED = { label: "place" };
const LIMIT = 100;
let lastOpened = null; // the row that a person comes back from has the focus again

export function mountList(element, { ask, history, setup }) {
  const body = make("tbody", {});
  const count = make("p", { class: "faint", role: "status" });
  const search = make("input", { type: "search", id: "search", placeholder: "words, ids, verdicts", oninput: () => later({ search: search.value }) });
  const filters = Object.fromEntries(
    [["verdict", "Verdict"], ["status", "Status"], ["way", "Group: what would change"]].map(([name, words]) => [
      name,
      make("select", { id: `filter-${name}`, "aria-label": words, onchange: (event) => update({ equal: { ...list().equal, [name]: event.target.value } }) }),
    ]),
  );
  const heads = Object.fromEntries(COLUMNS.map(([name, words]) => [name, button(words, () => sortBy(name))]));
  const cells = Object.fromEntries(COLUMNS.map(([name]) => [name, make("th", { scope: "col" }, heads[name])]));
  const pages = make("nav", { "aria-label": "Pages of the list" });
  replaceChildren(
    element,
    make("h1", {}, setup.title),
    make("p", { class: "lead" }, `${setup.count.toLocaleString("en")} rows · target: ${setup.target}`),
    make(
      "div",
      { class: "tools" },
      make("label", { for: "search" }, "Search ", search),
      ...Object.values(filters),
    ),
    count,
    make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Rows" },
      make("table", { id: "rows" }, make("thead", {}, make("tr", {}, ...Object.values(cells))), body)),
    pages,
  );
  let timer = null;
  let again = null;
  let isOpen = true;
  let lastDrawn = "";
  let asked = 0;
  const list = () => history.state.list;
  const update = (change) => {
    history.set({ list: { ...list(), offset: 0, ...change } }, { canUndo: false });
    load();
  };
  const later = (change) => {
    clearTimeout(timer);
    timer = setTimeout(() => update(change), 120);
  };
  const sortBy = (name) => {
    const sort = SORTED[name] || name;
    update({ sort, descending: list().sort === sort ? !list().descending : false });
  };

  // Rows are answered while nobody asks anything: the list looks again from time to time.
  function lookAgain() {
    clearTimeout(again);
    again = setTimeout(async () => {
      if (document.visibilityState === "visible") await load(true);
      if (isOpen) lookAgain();
    }, 3000);
  }

  async function load(isAgain = false) {
    const number = ++asked;
    const found = await ask("list", { ...list(), limit: LIMIT, isAgain });
    if (number !== asked || !found) return;
    const drawn = JSON.stringify([found, list()]);
    if (drawn === lastDrawn) return;
    lastDrawn = drawn;
    for (const [name, select] of Object.entries(filters)) {
      const wanted = list().equal[name] || "";
      const words = { verdict: "Every verdict", status: "Every status", way: "Every group" }[name];
      replaceChildren(
        select,
        make("option", { value: "" }, words),
        found.values[name].map((text) => make("option", { value: text, selected: text === wanted }, text.replaceAll("_", " "))),
      );
    }
    for (const [name, cell] of Object.entries(cells)) {
      const isSorted = list().sort === (SORTED[name] || name);
      if (isSorted) cell.setAttribute("aria-sort", list().descending ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    }
    const focused = body.contains(document.activeElement) ? document.activeElement.id : `open-${lastOpened}`;
    const isLost = document.activeElement === document.body || body.contains(document.activeElement);
    replaceChildren(body, found.lines.map(drawLine));
    if (isLost) document.getElementById(focused)?.focus({ preventScroll: true });
    const answered = found.answered < found.total ? `; ${found.answered.toLocaleString("en")} answered so far` : "";
    count.textContent = `${found.matching.toLocaleString("en")} of ${found.total.toLocaleString("en")} rows${answered}`;
    replaceChildren(
      pages,
      button("Earlier rows", () => update({ offset: Math.max(0, list().offset - LIMIT) }), { disabled: list().offset === 0 }),
      button("Later rows", () => update({ offset: list().offset + LIMIT }), { disabled: list().offset + LIMIT >= found.matching }),
    );
  }

  function drawLine(line) {
    const open = button(line.label, () => {
      lastOpened = line.place;
      history.set({ place: line.place, edits: {} });
    }, { class: "open", id: `open-${line.place}` });
    return make(
      "tr",
      {},
      make("th", { scope: "row" }, open),
      make("td", {}, line.verdict ?? ""),
      make("td", { class: "number" }, percent(line.probability)),
      make("td", { class: "number" }, shortNumber(line.effort)),
      make("td", { class: "number" }, keptShare(line.kept)),
      make("td", { class: "number" }, line.gap === 0 ? "proven" : percent(line.gap)),
      make("td", {}, line.way ?? ""),
      make("td", {}, (line.status ?? "").replaceAll("_", " ")),
    );
  }

  search.value = list().search;
  load();
  lookAgain();
  return () => {
    isOpen = false;
    clearTimeout(timer);
    clearTimeout(again);
  };
}
