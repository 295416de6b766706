"use strict";
// Draws a row's card from the data in the page when the row is opened. Text from data only ever becomes text.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const body = document.querySelector("#list > tbody");
  const lines = [...body.querySelectorAll("tr.line")];
  const find = (id) => document.getElementById(id);
  const WAYS = { up: "↑ higher", down: "↓ lower", other: "↔ different", given: "+ known" };

  function make(tag, name, ...content) {
    const element = document.createElement(tag);
    if (name) element.className = name;
    for (const item of content) if (item !== null && item !== undefined && item !== "") element.append(item);
    return element;
  }

  function draw(tag, attributes, ...content) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...content);
    return element;
  }

  const ending = (n) => (n % 100 > 10 && n % 100 < 20 ? "th" : { 1: "st", 2: "nd", 3: "rd" }[n % 10] || "th");
  const ordinal = (n) => Math.floor(n) + ending(Math.floor(n));

  // Where a value lies on the lane: linear, compressed where the range is many times the bulk, or by rank among the
  // reference where row and answer would lie on one another.
  function ruler(ends, bands) {
    const seen = ends.concat(...bands.map((band) => band.slice(1, -1)));
    const low = Math.min(...seen), high = Math.max(...seen);
    const bulk = Math.max(0, ...bands.map((band) => band[6] - band[4]));
    const middle = bands.length ? bands.map((band) => band[5]).reduce((a, b) => a + b) / bands.length : 0;
    const squeezed = bulk > 0 && high - low > 25 * bulk;
    const bend = (value) => (squeezed ? Math.asinh((value - middle) / bulk) : value);
    const scale = (name, bent) => {
      const first = bent(low), length = bent(high) - first || 1;
      return { name, place: (value) => 8 + 384 * ((bent(value) - first) / length) };
    };
    const straight = scale(squeezed ? "compressed scale" : "linear scale", bend);
    if (!bands.length || high <= low) return straight;
    const ranked = scale("by rank", (value) =>
      bands.reduce((sum, band) => sum + rank(band, value), 0) / bands.length + (0.01 * (value - low)) / (high - low));
    const apart = ({ place }) => Math.abs(place(ends[1]) - place(ends[0]));
    return apart(straight) < 20 && apart(ranked) > apart(straight) ? ranked : straight;
  }

  // The share of a population, given by its quantiles, below a value, half of those that have it included.
  const SHARES = [0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1];
  function rank(levels, value) {
    const share = (from, to) => {
      if (from < 0) return SHARES[to];
      if (to >= levels.length) return SHARES[from];
      const width = levels[to] - levels[from];
      return SHARES[from] + (SHARES[to] - SHARES[from]) * (width > 0 ? (value - levels[from]) / width : 0);
    };
    const reached = levels.findIndex((level) => level >= value), passed = levels.findIndex((level) => level > value);
    const first = reached < 0 ? levels.length : reached, next = passed < 0 ? levels.length : passed;
    return (share(first - 1, first) + share(next - 1, next)) / 2;
  }

  function lane(change) {
    const feature = data.features[change.column];
    const names = change.ranks.map((rank) => rank[0]).filter((name) => feature.quantiles[name]);
    const { name: scale, place } = ruler(change.at, names.map((name) => feature.quantiles[name]));
    const picture = draw("svg", { viewBox: "0 0 400 34", role: "img" });
    picture.append(draw("title", {}, scale));
    names.forEach((name, number) => {
      const band = feature.quantiles[name].map(place), y = 22 + 8 * number, which = number ? "two" : "one";
      picture.append(
        draw("line", { x1: band[1], x2: band[9], y1: y, y2: y, class: which + " thin" }),
        draw("line", { x1: band[3], x2: band[7], y1: y, y2: y, class: which + " thick" }),
        draw("line", { x1: band[5], x2: band[5], y1: y - 4, y2: y + 4, class: which + " tick" }),
      );
    });
    const [from, to] = change.at.map(place), back = to > from ? -7 : 7;
    picture.append(
      draw("path", { d: `M${from} 8H${to}M${to + back} 4L${to} 8L${to + back} 12`, class: "arrow" }),
      draw("circle", { cx: from, cy: 8, r: 5, class: "dot" }),
      draw("path", { d: `M${to} 2l6 6l-6 6l-6 -6z`, class: "diamond" }),
    );
    const note = make("span", "", change.ranks.length ? "percentile among " : "");
    change.ranks.forEach(([name, before, after], number) => {
      const label = make("b", number ? "two" : "one", name);
      note.append(number ? " · " : "", label, ` ${ordinal(before)} → ${ordinal(after)}`);
    });
    if (scale === "by rank") note.append(" · the line goes by rank");
    return make("div", "lane", picture, note);
  }

  function drawChange(change) {
    const feature = data.features[change.column];
    const what = make("div", "what", feature.title, feature.about ? make("small", "", feature.about) : null);
    const move = make("div", "move");
    if ("after" in change) {
      move.append(make("span", "was", change.before), " → ", make("span", "now", change.after));
    }
    move.append(make("span", "way", WAYS[change.direction]));
    return make("div", "change", what, move, change.at ? lane(change) : make("div", "lane"));
  }

  function drawAnswer(heading, answer, note) {
    const box = make("div", "", make("h3", "", heading), note ? make("p", "faint", note) : null);
    if (!answer.changes.length) box.append(make("p", "faint", "nothing changes"));
    box.append(...answer.changes.map(drawChange));
    return box;
  }

  function describe(change) {
    const title = data.features[change.column].title;
    return "after" in change ? `${title} ${change.before} → ${change.after}` : `${WAYS[change.direction]} ${title}`;
  }

  // The nearest real rows of the target, in the features that change and those in which they differ most.
  function drawEvidence(evidence) {
    const far = (distance, place) => make("th", "", place ? "next real row" : "nearest real row",
      make("small", "", `${distance.toPrecision(3)} standard deviations away`));
    const head = make("tr", "", ...["", "row", "answer"].map((name) => make("th", "", name)), ...evidence.distances.map(far));
    const lines = evidence.lines.map(([column, own, answer, ...real]) => make("tr", answer ? "moved" : "",
      make("th", "", data.features[column].title), make("td", "was", own), make("td", "now", answer || "–"),
      ...real.map((value) => make("td", "", value))));
    const table = make("table", "evidence");
    table.append(make("thead", "", head), make("tbody", "", ...lines));
    return make("div", "scroll", table);
  }

  const isFound = (row) => ["optimal", "bounded", "valid"].includes(row.status);

  function facts(row) {
    const list = make("dl", "facts");
    const add = (name, ...value) => list.append(make("dt", "", name), make("dd", "", ...value));
    if (row.others.length) {
      const ways = row.others.map((other) => make("li", "", [
        other.changes.map(describe).join(", "),
        other.kept ? ` (kept in ${other.kept} of noisy copies${other.probability ? `, probability ${other.probability}` : ""})` : "",
      ].join("")));
      add("other ways", make("ul", "", ...ways));
    }
    if (row.ways.length) add("all the ways out", make("ul", "", ...row.ways.map((way) => make("li", "", way))));
    if (row.evidence.lines.length) add(`nearest real ${row.target} rows`, drawEvidence(row.evidence));
    if (row.noise) add("noise", row.noise);
    const held = data.held.map(([title, why]) => why ? `${title} (${why})` : title).join(", ");
    add("held fixed", held || "nothing");
    const named = data.constraints && data.constraints !== "none";
    const checked = data.redacted || !named ? "" : ": " + data.constraints;
    if (isFound(row)) add("checked", "the model itself and every constraint confirm this row" + checked);
    else add("constraints", data.redacted ? "left out" : data.constraints || "none");
    return list;
  }

  function drawCard(row) {
    const cell = make("td", "");
    cell.colSpan = 8;
    const odds = [row.probability, row.best.probability].filter(Boolean).join(" → ");
    const found = isFound(row);
    if (row.status === "rejected") {
      cell.append(make("p", "miss", row.best.text));
      if (row.carried.length) cell.append(make("p", "carried", row.carried.map(([name, value]) => `${name}: ${value}`).join(" · ")));
      return make("tr", "card", cell);
    }
    cell.append(
      make("p", "verdict",
        make("span", "was", row.said), " → ", make("span", "now", row.best.said),
        odds ? make("small", "", `probability of ${row.target} ${odds}`) : null,
        row.proof ? make("small", "proof", row.proof) : null),
      make("p", found ? "" : "miss", row.best.text),
    );
    if (row.best.marks.length) cell.append(make("ul", "marks", ...row.best.marks.map((mark) => make("li", "", mark))));
    if (row.carried.length) {
      cell.append(make("p", "carried", row.carried.map(([name, value]) => `${name}: ${value}`).join(" · ")));
    }
    if (row.tipping) {
      const pair = make("div", "pair");
      pair.append(
        drawAnswer("Tipping point", row.tipping, "the least change: how close this decision is to turning"),
        found
          ? drawAnswer("Firm answer", row.best, ["a change that holds", row.firmness].filter(Boolean).join(": "))
          : drawAnswer("No firm answer", row.best, "the nearest miss"),
      );
      cell.append(pair);
    } else {
      const box = drawAnswer(found ? "The least change" : "The nearest miss", row.best, row.firmness);
      box.className = "alone";
      cell.append(box);
    }
    cell.append(facts(row));
    return make("tr", "card", cell);
  }

  const isOpen = (line) => line.nextElementSibling?.classList.contains("card") && !line.nextElementSibling.hidden;

  function show(line, wanted) {
    if (Boolean(isOpen(line)) === wanted) return;
    if (wanted) line.after(line.card || (line.card = drawCard(data.rows[Number(line.dataset.place)])));
    else line.card.remove();
    line.querySelector("button.open").setAttribute("aria-expanded", String(wanted));
  }

  // What a line is found and sorted by.
  const keys = lines.map((line) => {
    const place = Number(line.dataset.place), row = data.rows[place];
    const columns = new Set(row.best.changes.map((change) => change.column));
    const names = [...columns].map((column) => data.features[column].title);
    const odds = Number(row.best.probability.replace(/[<>]/, "") || NaN);
    const words = [row.row, row.said, row.best.said, row.status, ...row.carried.flat(), ...names];
    return {
      line, columns, place, said: row.said, after: row.best.said, status: row.status,
      probability: Number.isNaN(odds) ? Infinity : odds,
      kept: Number(row.best.kept.replace("%", "") || NaN) || 0,
      distance: row.best.distance ?? Infinity, changes: row.best.changes.length, text: words.join(" ").toLowerCase(),
    };
  });

  const compare = (a, b) => (typeof a === "number" ? a - b : String(a).localeCompare(String(b)));

  function sort(order) {
    const down = order.startsWith("-"), key = order.replace("-", "");
    keys.sort((a, b) => (down ? -1 : 1) * compare(a[key], b[key]) || a.place - b.place);
    const sorted = document.createDocumentFragment();
    for (const { line } of keys) {
      const card = isOpen(line) ? line.card : null;
      sorted.append(line);
      if (card) sorted.append(card);
    }
    body.append(sorted);
    for (const button of document.querySelectorAll("[data-sort]")) {
      const mine = button.dataset.sort === key;
      button.setAttribute("aria-sort", mine ? (down ? "descending" : "ascending") : "none");
    }
    find("order").value = [...find("order").options].some((option) => option.value === order) ? order : "";
  }

  function filter() {
    const words = find("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const status = find("status").value, feature = find("feature").value;
    let shown = 0;
    for (const key of keys) {
      const fits = words.every((word) => key.text.includes(word)) && (!status || key.status === status)
        && (!feature || key.columns.has(Number(feature)));
      key.line.hidden = !fits;
      if (key.line.card) key.line.card.hidden = !fits;
      shown += fits;
    }
    find("count").textContent = shown === keys.length ? `${shown} rows` : `${shown} of ${keys.length} rows`;
    const some = lines.some((line) => !line.hidden && isOpen(line));
    find("all").textContent = some ? "Close all" : "Open all";
  }

  function follow() {
    const line = /^#row-\d+$/.test(location.hash) ? document.querySelector(location.hash) : null;
    if (line) {
      show(line, true);
      line.scrollIntoView();
    }
  }

  body.addEventListener("click", (event) => {
    const line = event.target.closest("tr.line");
    if (!line || String(getSelection())) return;
    show(line, !isOpen(line));
    filter();
  });
  document.querySelector("#list > thead").addEventListener("click", (event) => {
    const button = event.target.closest("[data-sort]");
    if (button) sort((button.getAttribute("aria-sort") === "ascending" ? "-" : "") + button.dataset.sort);
  });
  find("order").addEventListener("change", () => sort(find("order").value));
  for (const id of ["search", "status", "feature"]) find(id).addEventListener("input", filter);
  find("all").addEventListener("click", () => {
    const wanted = find("all").textContent === "Open all";
    for (const line of lines) if (!line.hidden) show(line, wanted);
    filter();
  });
  addEventListener("hashchange", follow);
  sort("place");
  filter();
  follow();
  if (lines.length === 1) show(lines[0], true);
})();
