// One row: what the model says of it, what would turn it, an editor, and what a person asks for otherwise.

import { button, draw, make, percent, replaceChildren, shortNumber } from "./dom.js";
import { mountEditor } from "./editor.js";
import { mountKeep } from "./keep_panel.js";
import { mountSee } from "./see_panel.js";
import { NO_WISHES } from "./state.js";

export function mountRow(element, { ask, history, setup, canLeave = true }) {
  const known = { row: null, first: null, before: null, answer: null, firm: null, stage: "first", isNearer: false, verdict: null };
  const parts = {};
  for (const name of ["head", "verdict", "answer", "wishes", "editor", "see", "keep"]) parts[name] = make("section", { class: name });
  parts.answer.setAttribute("aria-live", "polite");
  replaceChildren(element, Object.values(parts));
  const put = (point) => history.set({ edits: differences(known.row.cells, point.cells) });
  const context = { ask, history, setup, known, put };
  const editor = mountEditor(parts.editor, context);
  const see = mountSee(parts.see, context);
  const keep = mountKeep(parts.keep, context);
  context.bookmark = keep.bookmark;
  let asked = 0;

  async function load() {
    const place = history.state.place;
    known.row = await ask("row", { place });
    if (!known.row) {
      drawHead(); // the line above says why; there is a way back
      return;
    }
    drawHead();
    editor.redraw();
    await judge();
    await answer();
  }

  async function judge() {
    const found = await ask("verdict", { place: history.state.place, cells: history.state.edits });
    if (!found) return;
    known.verdict = found;
    drawVerdict();
    editor.refresh();
    see.refresh();
  }

  // The least change comes at once; its proof and alternatives follow, then an answer that withstands noise.
  async function answer() {
    const number = ++asked;
    const body = { place: history.state.place, wishes: history.state.wishes };
    const before = known.answer;
    parts.answer.setAttribute("aria-busy", "true");
    parts.answer.dataset.stage = "asked";
    const first = await ask("answer", body);
    if (number !== asked) return;
    parts.answer.removeAttribute("aria-busy");
    if (!first) return;
    Object.assign(known, { before, firm: null, isNearer: false });
    showAnswer(first, "first");
    see.load();
    const complete = await ask("complete", body);
    if (number !== asked || !complete) return;
    known.isNearer = hasOtherCells(first, complete);
    showAnswer(complete, "complete");
    if (known.isNearer) see.load();
    if (body.wishes.keep !== null || !complete.isValid) return;
    const firm = await ask("firm", body);
    if (number !== asked || !firm) return;
    known.firm = firm.isValid ? firm.answers[0] : null;
    editor.redraw();
  }

  function showAnswer(found, stage) {
    Object.assign(known, { answer: found, stage });
    parts.answer.dataset.stage = stage;
    if (JSON.stringify(history.state.wishes) === JSON.stringify(NO_WISHES())) known.first = found;
    drawAnswer();
    editor.redraw();
    keep.redraw();
  }

  function drawHead() {
    const { row } = known;
    const back = canLeave ? button("← All rows", () => history.set({ place: null, edits: {}, wishes: NO_WISHES() }), { class: "back" }) : null;
    if (!row) {
      replaceChildren(parts.head, back, make("p", { class: "faint" }, "This row cannot be asked about."));
      parts.head.querySelector("button")?.focus();
      return;
    }
    const carried = Object.entries(row.carried).map(([name, text]) => `${name}: ${text}`).join(" · ");
    replaceChildren(
      parts.head,
      back,
      make("h1", { tabindex: "-1" }, `Row ${row.label}`),
      carried ? make("p", { class: "faint" }, carried) : null,
      make(
        "div",
        { class: "tools" },
        button("Undo", () => history.undo(), { id: "undo" }),
        button("Redo", () => history.redo(), { id: "redo" }),
        button("Back to the row as it is", () => history.set({ edits: {} }), { id: "reset" }),
      ),
    );
    drawSteps();
    if (canLeave && document.activeElement === document.body) parts.head.querySelector("h1").focus();
  }

  function drawSteps() {
    const [undo, redo] = ["undo", "redo"].map((name) => parts.head.querySelector(`#${name}`));
    if (undo) undo.disabled = !history.past.length;
    if (redo) redo.disabled = !history.future.length;
  }

  function drawVerdict() {
    const { verdict, row } = known;
    const edited = Object.keys(history.state.edits).length;
    const what = edited ? `With your ${edited === 1 ? "edit" : `${edited} edits`} the model says ` : "The model says ";
    replaceChildren(
      parts.verdict,
      drawDial(verdict.probability, verdict.turnsAt, verdict.target, row.probability, verdict.isReached),
      make(
        "div",
        { role: "status", id: "verdict" },
        make("p", { class: "said" }, what, make("strong", { class: verdict.isReached ? "after" : "before" }, verdict.verdict)),
        make("p", { class: "faint" }, verdict.isReached ? `The target, ${verdict.target}, is reached.` : `The target is ${verdict.target}.`),
        verdict.broken.length ? make("p", { class: "broken" }, `Not allowed: ${verdict.broken.join("; ")}`) : null,
      ),
    );
  }

  function drawAnswer() {
    const { answer: found } = known;
    const best = found.answers[0];
    const proof = found.proof || (known.stage === "first" ? "looking for a proof …" : "not proven least");
    replaceChildren(
      parts.answer,
      make("h2", {}, "What would turn it"),
      make("p", { class: "text", id: "answer-text" }, found.text),
      make(
        "p",
        { class: "badges" },
        found.isValid ? make("span", { class: found.proof ? "badge good" : "badge", id: "proof" }, proof) : null,
        make("span", { class: `badge ${found.isValid ? "good" : "poor"}` }, found.status.replaceAll("_", " ")),
        found.firmness ? make("span", { class: "badge" }, found.firmness) : null,
        best ? best.marks.map((mark) => make("span", { class: "badge poor" }, mark)) : null,
      ),
      found.reason ? make("p", { class: "faint" }, found.reason) : null,
      known.isNearer ? make("p", { class: "faint", id: "nearer" }, "The proof met a nearer answer, which took the place of the first.") : null,
      compareEfforts(known),
    );
    drawWishes();
  }

  function drawWishes() {
    const wishes = history.state.wishes;
    const set = (change) => history.set({ wishes: { ...history.state.wishes, ...change } });
    const keepText = (share) => (share === null ? "not asked for" : `${Math.round(100 * share)} of 100 noisy copies`);
    const output = make("output", { id: "keep-text" }, keepText(wishes.keep));
    const slider = make("input", {
      type: "range", id: "keep", min: "0", max: "95", step: "5", value: String(Math.round(100 * (wishes.keep ?? 0))),
      oninput: () => { output.textContent = keepText(Number(slider.value) ? Number(slider.value) / 100 : null); },
      onchange: () => set({ keep: Number(slider.value) ? Number(slider.value) / 100 : null }),
    });
    const most = make("input", {
      type: "number", id: "max-changes", min: "1", max: String(setup.features.length), value: wishes.max_changes ?? "",
      onchange: () => set({ max_changes: most.value === "" ? null : Math.max(1, Math.round(Number(most.value))) }),
    });
    const hadFocus = parts.wishes.contains(document.activeElement) ? document.activeElement.id : null;
    replaceChildren(
      parts.wishes,
      make("h2", {}, "Ask differently"),
      make(
        "div",
        { class: "tools" },
        make("label", { for: "max-changes" }, "Change at most ", most, " features"),
        make("label", { for: "keep" }, "It must withstand noise: ", slider, output),
        button("Forget all wishes", () => history.set({ wishes: NO_WISHES() }), { id: "forget" }),
      ),
      make("p", { class: "faint" }, "Lock a feature, set its range or its cost, or exclude a value in the table below."),
    );
    if (hadFocus) parts.wishes.querySelector(`#${hadFocus}`)?.focus();
  }

  const unwatch = history.watch((state, before) => {
    if (state.place !== before.place || state.place === null) return;
    drawSteps();
    if (JSON.stringify(state.wishes) !== JSON.stringify(before.wishes)) answer();
    if (JSON.stringify(state.edits) !== JSON.stringify(before.edits)) judge();
    if (state.see !== before.see || state.columns !== before.columns) see.load();
    if (state.bookmarks !== before.bookmarks) keep.redraw();
  });
  load();
  return unwatch;
}

function hasOtherCells(one, two) {
  return JSON.stringify(one.answers[0]?.cells) !== JSON.stringify(two.answers[0]?.cells);
}

// What the answer costs beside the one before, and beside the one without wishes.
function compareEfforts({ answer, before, first }) {
  const [now, then, own] = [answer, before, first].map((one) => one?.answers[0]?.effort ?? null);
  if (now === null || (then === null && own === null) || answer === first) return null;
  const rise = then === null ? 0 : now - then;
  const words = then === null ? "" : Math.abs(rise) < 1e-9 * Math.max(now, then) ? ", as much as the one before" : `, ${shortNumber(Math.abs(rise))} ${rise > 0 ? "more" : "less"} than the one before (${shortNumber(then)})`;
  return make("p", { id: "beside" }, `This answer costs ${shortNumber(now)}${words}${own === null ? "." : `; without your wishes it was ${shortNumber(own)}.`}`);
}

export function differences(cells, others) {
  const found = {};
  cells.forEach((cell, column) => {
    if (cell !== others[column]) found[column] = others[column];
  });
  return found;
}

function drawDial(probability, threshold, target, before, isReached) {
  if (probability === null) return make("div", {});
  const turns = threshold === null ? "" : `; the decision turns at ${percent(threshold)}`;
  const at = (share, radius) => {
    const angle = Math.PI * (1 - share);
    return `${(60 + radius * Math.cos(angle)).toFixed(1)} ${(60 - radius * Math.sin(angle)).toFixed(1)}`;
  };
  const arc = (share) => `M ${at(0, 48)} A 48 48 0 0 1 ${at(Math.max(share, 0.001), 48)}`;
  const words = `Probability of ${target}: ${percent(probability)}${turns}`;
  return draw(
    "svg",
    { viewBox: "0 0 120 74", class: "dial", role: "img", "aria-label": words },
    draw("path", { d: arc(1), class: "track" }),
    draw("path", { d: arc(probability), class: isReached ? "level after" : "level before" }),
    threshold === null ? null : draw("path", { d: `M ${at(threshold, 40)} L ${at(threshold, 57)}`, class: "tick" }),
    before === null ? null : draw("path", { d: `M ${at(before, 43)} L ${at(before, 53)}`, class: "was" }),
    draw("text", { x: "60", y: "58", "text-anchor": "middle", class: "big" }, percent(probability)),
    draw("text", { x: "60", y: "71", "text-anchor": "middle" }, target),
  );
}
