// Pictures of a decision: the way to the answer, a plane of two features, all the ways out, the nearest real rows.

import { button, draw, featureNumber, keptShare, make, percent, replaceChildren, shortNumber } from "./dom.js";

const VIEWS = [["way", "The way there"], ["plane", "Two features"], ["ways", "All ways out"], ["real", "Nearest real rows"]];

export function mountSee(element, { ask, history, setup, known, put }) {
  const picture = make("div", { id: "picture", role: "tabpanel", "aria-labelledby": "tab-way", tabindex: "0" });
  const tabs = VIEWS.map(([name, words]) => button(words, () => history.set({ see: name }, { canUndo: false }), { role: "tab", id: `tab-${name}`, "aria-controls": "picture" }));
  const bar = make("div", { role: "tablist", "aria-label": "Pictures", onkeydown: (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const place = (tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length;
    tabs[place].focus();
    tabs[place].click();
  } }, tabs);
  replaceChildren(element, make("h2", {}, "See"), bar, picture);
  let asked = 0;
  let plane = null;

  async function load() {
    const number = ++asked;
    const see = history.state.see;
    tabs.forEach((tab, place) => {
      tab.setAttribute("aria-selected", String(VIEWS[place][0] === see));
      tab.tabIndex = VIEWS[place][0] === see ? 0 : -1;
    });
    picture.setAttribute("aria-labelledby", `tab-${see}`);
    plane = null;
    if (!known.answer) return;
    if (!known.answer.isValid && see !== "real") {
      replaceChildren(picture, make("p", {}, "There is no answer to draw a way to."));
      return;
    }
    const body = { place: history.state.place, wishes: history.state.wishes, stage: known.stage };
    const makers = { way: showWay, plane: showPlane, ways: showWays, real: showReal };
    picture.setAttribute("aria-busy", "true");
    const drawn = await makers[see](body);
    if (number !== asked) return;
    picture.removeAttribute("aria-busy");
    replaceChildren(picture, drawn);
  }

  async function showWay(body) {
    const found = await ask("way", body);
    if (!found) return [];
    const width = Math.max(280, Math.min(560, picture.clientWidth - 28)), height = 200, left = 40, low = 160;
    const last = found.t[found.t.length - 1];
    const x = (t) => left + ((width - left - 10) * t) / last;
    const y = (share) => low - 140 * share;
    const line = (values) => values.map((value, place) => (value === null ? "" : `${place ? "L" : "M"} ${x(found.t[place]).toFixed(1)} ${y(value).toFixed(1)}`)).join(" ");
    const has = found.probability.some((value) => value !== null);
    const share = history.state.wishes.keep ?? setup.firmKeep;
    const weak = found.kept.map((value, place) => (value !== null && value < share && found.t[place] >= (found.reached ?? 1) ? place : -1)).filter((place) => place >= 0);
    const lastWeak = weak.length ? found.t[weak[weak.length - 1]] : null;
    const undone = lastWeak === null ? `At the answer and beyond, ${percent(share)} of noisy copies or more keep the target.` : lastWeak >= last ? `All along this way noise would undo it: fewer than ${percent(share)} of noisy copies keep the target.` : `Up to ${percent(lastWeak)} of the way noise would undo it: fewer than ${percent(share)} of noisy copies keep the target.`;
    return [
      make("p", { class: "key faint" }, has ? [make("span", { class: "dot after" }), ` probability of ${found.target} `] : null, make("span", { class: "dot edit" }), " share of noisy copies that keep it", weak.length ? [make("span", { class: "dot poor" }), " noise would undo it"] : null),
      draw("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", "aria-label": `What the model says on the way from the row to its answer; the target is reached from ${percent(found.reached)} of the way on` },
        [0, 0.5, 1].map((share) => [draw("line", { x1: left, x2: width - 10, y1: y(share), y2: y(share), class: "grid" }), draw("text", { x: left - 6, y: y(share) + 4, "text-anchor": "end" }, percent(share))]),
        weak.length ? draw("rect", { x: x(found.t[weak[0]]).toFixed(1), y: y(1), width: Math.max(2, x(lastWeak) - x(found.t[weak[0]])).toFixed(1), height: 140, class: "undone" }) : null,
        draw("line", { x1: x(1), x2: x(1), y1: y(1), y2: low, class: "answer-line" }),
        draw("path", { d: line(found.kept), class: "line edit" }), has ? draw("path", { d: line(found.probability), class: "line after" }) : null,
        draw("text", { x: x(0), y: 180 }, "the row"), draw("text", { x: x(1), y: 180, "text-anchor": "middle" }, "the answer"), draw("text", { x: x(last), y: 180, "text-anchor": "end" }, "beyond")),
      make("p", { class: "faint", id: "undone" }, undone),
    ];
  }

  async function showPlane(body) {
    const numeric = setup.features.map((_, column) => column).filter((column) => setup.features[column].isNumeric);
    const changed = known.answer.answers.flatMap((point) => point.changed || []).filter((column) => numeric.includes(column));
    const columns = history.state.columns || [...new Set([...changed, ...numeric])].slice(0, 2);
    if (columns.length < 2) return make("p", {}, "A plane needs two features that are numbers.");
    const found = await ask("plane", { ...body, columns });
    if (!found) return [];
    plane = { found, columns };
    const axis = (place, words) => make("label", {}, `${words} `, make("select", {
      id: `axis-${place}`,
      onchange: (event) => history.set({ columns: columns.map((column, one) => (one === place ? Number(event.target.value) : column)) }, { canUndo: false }),
    }, numeric.filter((column) => column !== columns[1 - place]).map((column) => make("option", { value: String(column), selected: column === columns[place] }, setup.features[column].title))));
    return [make("div", { class: "tools" }, axis(0, "Across"), axis(1, "Up")), drawPlane(), make("p", { class: "faint" }, found.note)];
  }

  function drawPlane() {
    const { found, columns } = plane;
    const size = 320, left = 60, low = 300;
    const [w, h] = [found.x.length, found.y.length];
    const all = found.heights.flat().filter((value) => value !== null);
    const [least, most] = found.isProbability ? [0, 1] : [Math.min(...all), Math.max(...all)];
    const x = (value) => left + (280 * position(found.x, value));
    const y = (value) => low - (280 * position(found.y, value));
    const cells = [];
    for (let row = 0; row < h; row++) for (let column = 0; column < w; column++) {
      const share = (found.heights[row][column] - least) / Math.max(most - least, 1e-12);
      cells.push(draw("rect", { x: (left + (280 * column) / w).toFixed(2), y: (low - (280 * (row + 1)) / h).toFixed(2), width: (280 / w).toFixed(2), height: (280 / h).toFixed(2), class: found.isReached[row][column] ? "reached" : "short", "fill-opacity": (0.12 + 0.8 * (found.isReached[row][column] ? share : 1 - share)).toFixed(2) }));
    }
    const edits = history.state.edits;
    const at = columns.map((column) => (column in edits ? edits[column] : known.row.cells[column]));
    const point = draw("circle", { cx: x(at[0]).toFixed(1), cy: y(at[1]).toFixed(1), r: 7, class: "edit", id: "drag", tabindex: "0", role: "slider", "aria-valuenow": at[0], "aria-valuetext": `${setup.features[columns[0]].title} ${featureNumber(setup.features[columns[0]], at[0])}, ${setup.features[columns[1]].title} ${featureNumber(setup.features[columns[1]], at[1])}`, "aria-label": "Your point: drag it, or move it with the arrow keys" });
    const svg = draw("svg", { viewBox: `0 0 ${size + 30} ${size + 20}`, class: "chart plane", "shape-rendering": "crispEdges", role: "group", "aria-label": `${found.isProbability ? "Probability of the target" : "Margin"} over two features; the coloured side reaches the target` },
      cells,
      draw("text", { x: left, y: low + 14 }, featureNumber(setup.features[columns[0]], found.x[0])), draw("text", { x: left + 280, y: low + 14, "text-anchor": "end" }, featureNumber(setup.features[columns[0]], found.x[w - 1])),
      draw("text", { x: left + 140, y: low + 30, "text-anchor": "middle" }, setup.features[columns[0]].title),
      draw("text", { x: left - 4, y: low, "text-anchor": "end" }, featureNumber(setup.features[columns[1]], found.y[0])), draw("text", { x: left - 4, y: low - 270, "text-anchor": "end" }, featureNumber(setup.features[columns[1]], found.y[h - 1])),
      draw("text", { x: 12, y: low - 140, "text-anchor": "middle", transform: `rotate(-90 12 ${low - 140})` }, setup.features[columns[1]].title),
      draw("circle", { cx: x(found.start[0]).toFixed(1), cy: y(found.start[1]).toFixed(1), r: 5, class: "before" }),
      draw("circle", { cx: x(found.answer[0]).toFixed(1), cy: y(found.answer[1]).toFixed(1), r: 5, class: "after" }), point);
    const move = (values) => history.set({ edits: { ...history.state.edits, ...Object.fromEntries(columns.map((column, place) => [column, setup.features[column].kind === "integer" ? Math.round(values[place]) : values[place]])) } });
    point.addEventListener("pointerdown", (event) => {
      point.setPointerCapture(event.pointerId);
      const follow = (moved) => {
        const box = svg.getBoundingClientRect();
        const scale = (size + 30) / box.width;
        point.setAttribute("cx", String(Math.min(left + 280, Math.max(left, (moved.clientX - box.left) * scale))));
        point.setAttribute("cy", String(Math.min(low, Math.max(low - 280, (moved.clientY - box.top) * scale))));
      };
      const drop = () => {
        point.removeEventListener("pointermove", follow);
        move([valueAt(found.x, (Number(point.getAttribute("cx")) - left) / 280), valueAt(found.y, (low - Number(point.getAttribute("cy"))) / 280)]);
      };
      point.addEventListener("pointermove", follow);
      point.addEventListener("pointerup", drop, { once: true });
    });
    point.addEventListener("keydown", (event) => {
      const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      if (!step) return;
      event.preventDefault();
      const places = [position(found.x, at[0]) + step[0] / (w - 1), position(found.y, at[1]) + step[1] / (h - 1)];
      move([valueAt(found.x, places[0]), valueAt(found.y, places[1])]);
    });
    return svg;
  }

  async function showWays(body) {
    if (body.wishes.keep !== null) return make("p", {}, "All ways out are of the least change: set “It must withstand noise” to nothing.");
    replaceChildren(picture, make("p", { role: "status" }, "Sampling all ways out …"));
    const found = await ask("ways", body);
    if (!found) return [];
    const bars = found.importance.slice(0, 12);
    return [
      found.isConverged ? null : make("p", { class: "broken" }, "The sample has not converged: take the numbers with care."),
      make("h3", {}, "How often each feature changes"),
      make("div", { class: "bars" }, bars.map((line) => make("div", { class: "bar" }, make("span", {}, `${line.feature} (${line.role})`), make("meter", { min: "0", max: "1", value: line.share, "aria-label": `${line.feature} changes in ${percent(line.share)}` }), make("span", { class: "number" }, `${percent(line.share)} ± ${percent(line.error)}`)))),
      make("h3", {}, found.basins.length === 1 ? "One way out" : `${found.basins.length} separate ways out`),
      drawTree(found),
      make("ul", {}, found.basins.map((basin) => make("li", {}, button(`put it here: ${basin.changes || "no change"}`, () => put(basin), { class: "basin" }), ` costs ${shortNumber(basin.effort)}, holds ${percent(basin.weight)} of the ways, kept ${keptShare(basin.kept)}`))),
    ];
  }

  // The disconnectivity graph: each line ends at a basin's least effort, two lines meet at the barrier between them.
  function drawTree({ basins, barriers }) {
    if (basins.length < 2) return null;
    const meetings = barriers.filter((one) => one.barrier !== null).sort((a, b) => a.barrier - b.barrier);
    const order = orderLeaves(basins, meetings);
    const ends = [...order.map((one) => one.effort), ...meetings.map((one) => one.barrier)];
    const [least, most] = [Math.min(...ends), Math.max(...ends)];
    const y = (effort) => 190 - (150 * (effort - least)) / Math.max(most - least, 1e-12);
    const width = 90 * order.length + 60;
    const branch = new Map(order.map((one, number) => [one.basin, { x: 60 + 90 * number, top: one.effort, members: [one.basin] }]));
    const parts = [];
    for (const { basin, other, barrier } of meetings) {
      const [one, two] = [branch.get(basin), branch.get(other)];
      if (one === two) continue;
      parts.push(draw("path", { d: `M ${one.x} ${y(one.top)} V ${y(barrier)} H ${two.x} V ${y(two.top)}`, class: "line after" }));
      const joined = { x: (one.x + two.x) / 2, top: barrier, members: [...one.members, ...two.members] };
      for (const member of joined.members) branch.set(member, joined);
    }
    return draw("svg", { viewBox: `0 0 ${width} 230`, width, class: "chart tree", role: "group", "aria-label": "Ways out as a tree: effort upwards, lines meet at the barriers between them" },
      parts,
      order.map((one, number) => [
        draw("line", { x1: 60 + 90 * number, x2: 60 + 90 * number, y1: y(one.effort), y2: y(one.effort) - 6, class: "line after" }),
        draw("circle", { cx: 60 + 90 * number, cy: y(one.effort), r: 4 + 8 * Math.sqrt(one.weight ?? 0), class: "after", tabindex: "0", role: "button", "aria-label": `put it here: ${one.changes}`, onclick: () => put(one), onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); put(one); } } }),
        draw("text", { x: 60 + 90 * number, y: y(one.effort) + 26, "text-anchor": "middle" }, shortNumber(one.effort))]),
      draw("text", { x: 4, y: 14 }, "effort ↑"));
  }

  async function showReal() {
    const rows = known.answer.evidence;
    if (!rows.length) return make("p", {}, "The reference has no row of the target.");
    const best = known.answer.answers[0];
    const lines = setup.features.map((_, column) => column).filter((column) => rows.some((row) => row.cells[column] !== known.row.cells[column]) || best?.cells[column] !== known.row.cells[column]);
    return make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Nearest real rows" }, make("table", { id: "real" },
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Feature"), make("th", { scope: "col" }, "Row"), make("th", { scope: "col" }, "Answer"), rows.map((row, number) => make("th", { scope: "col" }, `Real row ${number + 1}, ${shortNumber(row.distance)} away`)))),
      make("tbody", {}, lines.map((column) => make("tr", {}, make("th", { scope: "row" }, setup.features[column].title), make("td", { class: "number" }, known.row.texts[column]), make("td", { class: best && best.cells[column] !== known.row.cells[column] ? "number after" : "number" }, best ? best.texts[column] : ""), rows.map((row) => make("td", { class: "number" }, row.texts[column])))))));
  }

  function refresh() {
    if (plane && history.state.see === "plane") {
      const old = picture.querySelector("svg.plane");
      const hadFocus = document.activeElement?.id === "drag";
      if (old) old.replaceWith(drawPlane());
      if (hadFocus) picture.querySelector("#drag")?.focus();
    }
  }

  return { load, refresh };
}

// Basins in an order in which those that meet first stand side by side.
function orderLeaves(basins, meetings) {
  const groups = new Map(basins.map((one) => [one.basin, [one]]));
  for (const { basin, other } of meetings) {
    const [one, two] = [groups.get(basin), groups.get(other)];
    if (one === two) continue;
    one.push(...two);
    for (const member of two) groups.set(member.basin, one);
  }
  return [...new Set(groups.values())].flat();
}

// Where a value stands along places that may be uneven, from 0 to 1, and back.
function position(places, value) {
  if (value <= places[0]) return 0;
  for (let step = 1; step < places.length; step++) {
    if (value <= places[step]) return (step - 1 + (value - places[step - 1]) / (places[step] - places[step - 1])) / (places.length - 1);
  }
  return 1;
}

function valueAt(places, share) {
  const at = Math.min(1, Math.max(0, share)) * (places.length - 1);
  const step = Math.min(Math.floor(at), places.length - 2);
  return Number((places[step] + (at - step) * (places[step + 1] - places[step])).toPrecision(6));
}
