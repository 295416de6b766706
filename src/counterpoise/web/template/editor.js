// The table of features: the row, an editor, the answers side by side, and the wishes about each feature.

import { button, draw, featureNumber, make, makeScale, replaceChildren, shortNumber } from "./dom.js";

const WIDTH = 120;

export function mountEditor(element, context) {
  const { history, setup, known, put } = context;
  const inputs = new Map();
  const strips = new Map();
  let timer = null;

  function redraw() {
    const answer = known.answer;
    const focused = element.contains(document.activeElement) ? document.activeElement : null;
    const opened = new Set([...element.querySelectorAll("details[open]")].map((one) => one.id));
    const points = columnsOf(answer, known.firm, setup.firmKeep);
    inputs.clear();
    strips.clear();
    // what the first answer changes stands first, then what the others change, then the rest
    const firstChange = (column) => { const place = points.findIndex(({ point }) => (point.changed || []).includes(column)); return place < 0 ? points.length : place; };
    const order = setup.features.map((_, column) => column).sort((a, b) => firstChange(a) - firstChange(b) || a - b);
    replaceChildren(
      element,
      make("h2", {}, "The row, feature by feature"),
      make("p", { class: "key faint" },
        make("span", { class: "dot before" }), " the row ", make("span", { class: "dot edit" }), " yours ", make("span", { class: "dot after" }), " the answer; bars: from the 10th to the 90th percentile of each class"),
      make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Features" },
        make("table", { id: "features" },
          make("thead", {}, make("tr", {},
            make("th", { scope: "col" }, "Feature"),
            make("th", { scope: "col" }, "Where it lies"),
            make("th", { scope: "col" }, "Row"),
            make("th", { scope: "col" }, "Yours"),
            make("th", { scope: "col" }, "Wishes"),
            points.map(({ title, point }) => make("th", { scope: "col" }, title, make("span", { class: "cost" }, costOf(point)), button("put it here", () => put(point), { class: "put", "aria-label": `put it here: ${title}` }), button("bookmark", () => context.bookmark(point, title), { class: "put mark", "aria-label": `bookmark: ${title}` }))),
          )),
          make("tbody", {}, order.map((column) => drawFeature(column, points, opened))),
        )),
    );
    refresh();
    const again = focused?.id ? document.getElementById(focused.id) : null;
    again?.focus();
    if (again && again.tagName === "INPUT") again.value = focused.value; // what is being typed stays
  }

  function drawFeature(column, points, opened) {
    const feature = setup.features[column];
    const input = feature.isNumeric ? numberInput(column, feature) : categoryInput(column, feature);
    const strip = make("td", {});
    inputs.set(column, input);
    strips.set(column, strip);
    return make("tr", { class: points.some(({ point }) => (point.changed || []).includes(column)) ? "changes" : "" },
      make("th", { scope: "row", title: feature.about }, feature.title, feature.unit ? make("span", { class: "faint" }, ` ${feature.unit}`) : null),
      strip,
      make("td", { class: "number" }, known.row.texts[column]),
      make("td", {}, input),
      make("td", {}, feature.held ? make("span", { class: "faint" }, `held fixed: ${feature.held}`) : drawWishes(column, feature, points, opened)),
      points.map(({ point }) => {
        const isChanged = point.cells[column] !== known.row.cells[column];
        return make("td", { class: isChanged ? "number after" : "number faint" }, isChanged ? point.texts[column] : "–");
      }),
    );
  }

  function numberInput(column, feature) {
    return make("input", {
      id: `edit-${column}`, type: "number", step: feature.kind === "integer" ? "1" : "any", "aria-label": `${feature.title}: yours`,
      oninput: (event) => {
        clearTimeout(timer);
        timer = setTimeout(() => edit(column, event.target.value !== "" ? Number(event.target.value) : feature.mayBeMissing ? null : known.row.cells[column]), 60);
      },
    });
  }

  function categoryInput(column, feature) {
    const missing = feature.mayBeMissing || known.row.cells[column] === null ? [make("option", { value: "" }, "missing")] : [];
    return make("select", {
      id: `edit-${column}`, "aria-label": `${feature.title}: yours`,
      onchange: (event) => edit(column, event.target.value === "" ? null : Number(event.target.value)),
    }, missing, feature.categories.map((text, code) => make("option", { value: String(code) }, text)));
  }

  function edit(column, value) {
    const edits = { ...history.state.edits };
    if (value === known.row.cells[column]) delete edits[column];
    else edits[column] = value;
    if (JSON.stringify(edits) !== JSON.stringify(history.state.edits)) history.set({ edits });
  }

  function drawWishes(column, feature, points, opened) {
    const wishes = history.state.wishes;
    const set = (change) => history.set({ wishes: { ...history.state.wishes, ...change } });
    const isLocked = wishes.locked.includes(column);
    const lock = button(isLocked ? "unlock" : "lock", () => set({ locked: isLocked ? wishes.locked.filter((one) => one !== column) : [...wishes.locked, column].sort((a, b) => a - b) }),
      { id: `lock-${column}`, "aria-pressed": String(isLocked), "aria-label": `${isLocked ? "unlock" : "lock"} ${feature.title}` });
    const id = `more-${column}`;
    const has = column in wishes.ranges || column in wishes.prices || column in wishes.excluded;
    return make("div", { class: "wish" }, lock,
      make("details", { id, open: opened.has(id) || has }, make("summary", {}, has ? "more (set)" : "more"),
        feature.isNumeric ? rangeInputs(column, feature, set) : null,
        feature.isNumeric || feature.kind === "ordinal" ? priceInput(column, feature, set) : null,
        excludeButtons(column, feature, points, set)));
  }

  function rangeInputs(column, feature, set) {
    const [low, high] = history.state.wishes.ranges[column] || [null, null];
    const end = (place, words) => make("input", {
      type: "number", step: "any", id: `range-${place}-${column}`, "aria-label": `${feature.title}: ${words}`, placeholder: words,
      value: (place ? high : low) ?? "",
      onchange: () => {
        const ends = [0, 1].map((which) => document.getElementById(`range-${which}-${column}`).value).map((text) => (text === "" ? null : Number(text)));
        const ranges = { ...history.state.wishes.ranges };
        if (ends[0] === null && ends[1] === null) delete ranges[column];
        else ranges[column] = ends;
        set({ ranges });
      },
    });
    return make("div", {}, end(0, "at least"), end(1, "at most"));
  }

  function priceInput(column, feature, set) {
    const held = history.state.wishes.prices[column] || "";
    return make("select", {
      id: `price-${column}`, "aria-label": `${feature.title}: cost of a change`,
      onchange: (event) => {
        const prices = { ...history.state.wishes.prices };
        if (event.target.value) prices[column] = event.target.value;
        else delete prices[column];
        set({ prices });
      },
    }, [["", "usual cost"], ["harder", "harder to change"], ["easier", "easier to change"]].map(([value, words]) => make("option", { value, selected: value === held }, words)));
  }

  function excludeButtons(column, feature, points, set) {
    const held = history.state.wishes.excluded[column] || [];
    const offered = new Map();
    for (const { point } of points) {
      const cell = point.cells[column];
      if (cell !== null && cell !== known.row.cells[column]) offered.set(cell, point.texts[column]);
    }
    for (const cell of held) if (!offered.has(cell)) offered.set(cell, feature.isNumeric ? featureNumber(feature, cell) : feature.categories[cell]);
    return [...offered].map(([cell, text]) => {
      const isOut = held.includes(cell);
      return button(isOut ? `allow ${text} again` : `exclude ${text}`, () => {
        const excluded = { ...history.state.wishes.excluded };
        const left = isOut ? held.filter((one) => one !== cell) : [...held, cell];
        if (left.length) excluded[column] = left;
        else delete excluded[column];
        set({ excluded });
      }, { class: "exclude" });
    });
  }

  // What a new verdict changes: inputs that nobody is typing into, and the marks of the strips.
  function refresh() {
    const edits = history.state.edits;
    const best = known.answer?.answers[0];
    for (const [column, input] of inputs) {
      const feature = setup.features[column];
      const own = known.row.cells[column];
      const value = column in edits ? edits[column] : own;
      input.classList.toggle("edited", column in edits);
      if (input !== document.activeElement) input.value = value === null ? "" : String(value);
      if (feature.isNumeric) replaceChildren(strips.get(column), drawStrip(feature, own, column in edits ? value : null, best ? best.cells[column] : null));
    }
  }

  return { redraw, refresh };
}

function columnsOf(answer, firm, share) {
  if (!answer || !answer.isValid) return [];
  const [best, ...others] = answer.answers;
  const firmer = firm ? [{ title: `Firm answer (${Math.round(100 * share)}%)`, point: firm }] : [];
  const first = answer.tipping ? [{ title: "Tipping point", point: answer.tipping }, { title: "Firm answer", point: best }] : [{ title: "Tipping point", point: best }, ...firmer];
  return [...first, ...others.map((point, number) => ({ title: `Alternative ${number + 1}`, point }))];
}

function costOf(point) {
  const parts = [point.effort === null ? "" : `effort ${shortNumber(point.effort)}`, point.kept ? `kept ${point.kept}` : ""];
  return parts.filter(Boolean).join(", ");
}

function drawStrip(feature, own, edit, answer) {
  const classes = Object.entries(feature.quantiles);
  const values = [own, edit, answer].filter((value) => value !== null);
  if (!values.length && !classes.length) return null;
  const scale = makeScale(feature.quantiles, values, WIDTH);
  const words = classes.map(([name, levels]) => `${name}: ${featureNumber(feature, levels[3])} to ${featureNumber(feature, levels[7])}`).join("; ") + (scale.isRanked ? "; even in ranks" : "");
  const mark = (value, y, name) => (value === null ? null : draw("circle", { cx: scale.at(value).toFixed(1), cy: y, r: 4, class: name }));
  return draw("svg", { viewBox: `0 0 ${WIDTH} 30`, class: scale.isRanked ? "strip ranked" : "strip", role: "img", "aria-label": words },
    draw("title", {}, words),
    classes.slice(0, 4).map(([, levels], place) => [
      draw("rect", { x: scale.at(levels[3]).toFixed(1), y: 10 + 6 * place, width: Math.max(2, scale.at(levels[7]) - scale.at(levels[3])).toFixed(1), height: 4, class: `class-${place}` }),
      draw("rect", { x: (scale.at(levels[5]) - 1).toFixed(1), y: 9 + 6 * place, width: 2, height: 6, class: "middle" }),
    ]),
    mark(own, 5, "before"), mark(answer !== own ? answer : null, 5, "after"), mark(edit, 5, "edit"));
}
