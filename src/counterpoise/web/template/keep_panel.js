// What a person keeps: bookmarks with notes, two of them side by side, and files of the answer.

import { button, make, replaceChildren, shortNumber } from "./dom.js";

const EXPORTS = [["report", "Report (HTML)"], ["ticket", "Ticket (Markdown)"], ["json", "Explanation (JSON)"], ["receipt", "Receipt (JSON)"]];

export function mountKeep(element, { ask, history, setup, known, put }) {
  const compared = new Set();

  function redraw() {
    const focused = element.contains(document.activeElement) ? document.activeElement.id : null;
    const marks = history.state.bookmarks;
    replaceChildren(
      element,
      make("h2", {}, "Keep"),
      make("div", { class: "tools" },
        button("Bookmark this answer", () => bookmark(known.answer.answers[0]), { id: "bookmark", disabled: !known.answer?.isValid }),
        EXPORTS.map(([kind, words]) => button(words, () => save(kind), { id: `export-${kind}`, disabled: !known.answer?.isValid }))),
      marks.length ? make("ul", { class: "bookmarks" }, marks.map(drawBookmark)) : make("p", { class: "faint" }, "Bookmarks are kept in the address of this page: share or reload it, and they are there."),
      compared.size === 2 ? drawComparison(marks) : marks.length > 1 ? make("p", { class: "faint" }, "Choose two bookmarks to compare them.") : null,
    );
    if (focused) document.getElementById(focused)?.focus();
  }

  function bookmark(point, title = "") {
    const kept = { place: history.state.place, label: known.row.label, title, cells: point.cells, texts: point.texts, own: known.row.texts, effort: point.effort, kept: point.kept, text: point.text, wishes: history.state.wishes, note: "" };
    history.set({ bookmarks: [...history.state.bookmarks, kept] });
  }

  function drawBookmark(mark, number) {
    const note = make("input", { type: "text", id: `note-${number}`, value: mark.note, "aria-label": `Note on bookmark ${number + 1}`, placeholder: "a note", onchange: () => history.set({ bookmarks: history.state.bookmarks.map((one, place) => (place === number ? { ...one, note: note.value } : one)) }) });
    const choose = make("input", { type: "checkbox", id: `compare-${number}`, checked: compared.has(number), "aria-label": `Compare bookmark ${number + 1}`, onchange: () => {
      if (choose.checked) compared.add(number); else compared.delete(number);
      while (compared.size > 2) compared.delete(compared.values().next().value);
      redraw();
    } });
    return make("li", {}, choose, make("span", {}, ` Row ${mark.label}${mark.title ? `, ${mark.title}` : ""}, costs ${shortNumber(mark.effort)}${mark.kept ? `, kept ${mark.kept}` : ""}: ${mark.text} `), note,
      mark.place === history.state.place ? button("put it here", () => put(mark), { class: "put" }) : null,
      button("remove", () => { compared.clear(); history.set({ bookmarks: history.state.bookmarks.filter((_, place) => place !== number) }); }, { "aria-label": `Remove bookmark ${number + 1}` }));
  }

  function drawComparison(marks) {
    const [one, two] = [...compared].sort((a, b) => a - b).map((number) => marks[number]);
    if (!one || !two) return null;
    const columns = setup.features.map((_, column) => column).filter((column) => one.texts[column] !== two.texts[column] || one.texts[column] !== one.own[column]);
    return make("table", { id: "comparison" }, make("caption", {}, "Two bookmarks side by side"),
      make("thead", {}, make("tr", {}, ["Feature", `Row ${one.label}`, "First", "Second"].map((words) => make("th", { scope: "col" }, words)))),
      make("tbody", {}, columns.map((column) => make("tr", {}, make("th", { scope: "row" }, setup.features[column].title), make("td", {}, one.own[column]), make("td", {}, one.texts[column]), make("td", {}, two.texts[column]))),
        make("tr", {}, make("th", { scope: "row" }, "Effort"), make("td", {}), make("td", {}, shortNumber(one.effort)), make("td", {}, shortNumber(two.effort))),
        make("tr", {}, make("th", { scope: "row" }, "Kept"), make("td", {}), make("td", {}, one.kept), make("td", {}, two.kept))));
  }

  async function save(kind) {
    const note = history.state.bookmarks.find((mark) => mark.place === history.state.place && mark.note)?.note || "";
    const found = await ask("export", { place: history.state.place, wishes: history.state.wishes, kind, note });
    if (!found) return;
    const address = URL.createObjectURL(new Blob([found.text], { type: "application/octet-stream" }));
    const link = make("a", { href: address, download: found.name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }

  redraw();
  return { redraw, bookmark };
}
