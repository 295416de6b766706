"use strict";
// The list is drawn a page at a time from arrays in the page; text from data only ever becomes text.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const CLASSES = [...document.querySelectorAll(".tile span")].map((tile) => tile.textContent);
  const STEP = 100;
  const find = (id) => document.getElementById(id);
  const body = document.querySelector("#list > tbody");
  const total = data.row.length;
  const text = data.row.map((row, place) => [
    row, data.before[place], data.status[place], data.carried[place] || "", data.changes[place].join(" "),
    data.verdict[place] || "",
  ].join(" ").toLowerCase());
  let order = "-score", places = [], shown = 0;

  function make(tag, name, ...content) {
    const element = document.createElement(tag);
    if (name) element.className = name;
    for (const item of content) if (item !== null && item !== undefined && item !== "") element.append(item);
    return element;
  }

  const number = (value) => (value === null || value === undefined ? "–" : String(Number(value.toPrecision(3))));
  const percent = (value) => (value === null || value === undefined ? "–" : `${Math.floor(100 * value + 1e-9)}%`);
  const wayOut = (place) => (data.group[place] >= 0 ? data.groups[data.group[place]].title
    : data.changes[place].slice(0, 3).join(", ") || "nothing changes");

  function drawLine(place) {
    const open = make("button", "open", data.row[place]);
    open.setAttribute("aria-expanded", "false");
    const head = make("th", "", open);
    head.scope = "row";
    const cell = (name, value) => {
      const made = make("td", "number", value);
      made.dataset.name = name;
      return made;
    };
    const line = make("tr", `line class-${data.classes[place]}`, head,
      make("td", "class", make("span", "badge", CLASSES[data.classes[place]])),
      cell("probability", number(data.probability[place])), cell("effort", number(data.effort[place])),
      cell("kept", percent(data.kept[place])), cell("real row", number(data.real_distance[place])),
      make("td", "way", wayOut(place)));
    line.dataset.place = place;
    return line;
  }

  function ticket(place) {
    const lines = [`## ${data.row[place]}: ${data.before[place]}`, "", `- Class: ${CLASSES[data.classes[place]]}`,
      `- Probability of ${data.target[place]}: ${number(data.probability[place])}`];
    if (data.carried[place]) lines.push(`- ${data.carried[place]}`);
    lines.push("", data.text[place], "", `What would have made it ${data.target[place]}:`, "");
    lines.push(...data.changes[place].map((change) => `- ${change}`));
    const about = Object.entries(data.about).map(([name, value]) => `${name} ${value}`);
    lines.push("", [`Kept in ${percent(data.kept[place])} of noisy copies`, ...about, data.written].join(" · "));
    return lines.join("\n");
  }

  async function copy(button, what) {
    try {
      await navigator.clipboard.writeText(what);
    } catch {
      const area = make("textarea", "", what);
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy as ticket"; }, 1500);
  }

  function drawCard(place) {
    const button = make("button", "", "Copy as ticket");
    button.addEventListener("click", () => copy(button, ticket(place)));
    const cell = make("td", "", make("p", "", data.text[place]));
    cell.colSpan = 7;
    if (data.changes[place].length) {
      cell.append(make("ul", "", ...data.changes[place].map((change) => make("li", "", change))));
    }
    if (data.carried[place]) cell.append(make("p", "faint", data.carried[place]));
    const known = [`score ${number(data.score[place])}`, `status ${data.status[place].replace("_", " ")}`,
      `bound ${number(data.bound[place])}`, data.verdict[place] ? `verdict ${data.verdict[place]}` : ""];
    cell.append(make("p", "faint", known.filter(Boolean).join(" · ")), button);
    return make("tr", "card", cell);
  }

  const range = (id) => (find(id).value ? find(id).value.split("-").map(Number) : null);
  const inside = (value, ends) => !ends || (value !== null && value >= ends[0] && value < ends[1]);

  function key(name, place) {
    if (name === "place") return place;
    if (name === "class") return data.classes[place];
    if (name === "group") return data.group[place] < 0 ? Infinity : data.group[place];
    return data[name][place];
  }

  function filter() {
    const words = find("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = find("class").value, group = find("group").value;
    const kept = range("kept"), probability = range("probability");
    places = [];
    for (let place = 0; place < total; place++) {
      if (wanted !== "" && data.classes[place] !== Number(wanted)) continue;
      if (group !== "" && data.group[place] !== Number(group)) continue;
      if (!inside(data.kept[place], kept) || !inside(data.probability[place], probability)) continue;
      if (words.every((word) => text[place].includes(word))) places.push(place);
    }
    const down = order.startsWith("-") ? -1 : 1, name = order.replace("-", "");
    const keys = new Map(places.map((place) => [place, key(name, place)]));
    places.sort((a, b) => {  // what is not known comes last, whichever way the list is sorted
      const x = keys.get(a), y = keys.get(b);
      if (x === null || y === null) return (x === null) - (y === null) || a - b;
      return down * (x - y) || a - b;
    });
    body.replaceChildren();
    shown = 0;
    more();
    find("count").textContent = places.length === total ? `${total} alerts` : `${places.length} of ${total} alerts`;
    for (const tile of document.querySelectorAll(".tile")) tile.setAttribute("aria-pressed", String(tile.dataset.class === wanted));
    for (const card of find("groups").children) card.setAttribute("aria-pressed", String(card.dataset.group === group));
    for (const button of document.querySelectorAll("[data-sort]")) {
      const mine = button.dataset.sort === name;
      if (mine) button.parentElement.setAttribute("aria-sort", down < 0 ? "descending" : "ascending");
      else button.parentElement.removeAttribute("aria-sort");
    }
    find("order").value = [...find("order").options].some((option) => option.value === order) ? order : "";
  }

  function more() {
    body.append(...places.slice(shown, shown + STEP).map(drawLine));
    shown = Math.min(shown + STEP, places.length);
    find("more").hidden = shown >= places.length;
    find("more").textContent = `Show more (${places.length - shown} left)`;
  }

  // Cells that a spreadsheet would compute are written inert.
  function cell(value) {
    const plain = value === null || value === undefined ? "" : String(value);
    const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(plain) ? `'${plain}` : plain;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }

  function download() {
    const numbers = ["score", "probability", "effort", "bound", "kept", "real_distance"];
    const head = ["row", "class", ...numbers, "group", "status", "before", "target", "verdict", "changes", "carried", "text"];
    const lines = places.map((place) => [
      data.row[place], CLASSES[data.classes[place]], ...numbers.map((name) => data[name][place]),
      data.group[place] < 0 ? "" : data.groups[data.group[place]].title, data.status[place], data.before[place],
      data.target[place], data.verdict[place] || "", data.changes[place].join("; "), data.carried[place] || "",
      data.text[place],
    ].map(cell).join(","));
    const link = make("a", "");
    link.href = URL.createObjectURL(new Blob([[head.join(","), ...lines].join("\r\n") + "\r\n"], { type: "text/csv" }));
    link.download = "triage.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  data.groups.forEach((group, place) => {
    const card = make("button", "group", make("b", "", `${group.alerts} alerts: ${group.title}`), make("span", "", group.median), group.verdicts && make("span", "", group.verdicts));
    card.dataset.group = String(place);
    card.addEventListener("click", () => {
      find("group").value = find("group").value === String(place) ? "" : String(place);
      filter();
    });
    find("groups").append(card);
    const option = make("option", "", `${group.title} (${group.alerts})`);
    option.value = String(place);
    find("group").append(option);
  });

  for (const tile of document.querySelectorAll(".tile")) {
    tile.addEventListener("click", () => {
      find("class").value = find("class").value === tile.dataset.class ? "" : tile.dataset.class;
      filter();
    });
  }
  body.addEventListener("click", (event) => {
    const line = event.target.closest("tr.line");
    if (!line || String(getSelection())) return;
    const card = line.nextElementSibling;
    const isOpen = Boolean(card?.classList.contains("card"));
    if (isOpen) card.remove();
    else line.after(drawCard(Number(line.dataset.place)));
    line.querySelector("button.open").setAttribute("aria-expanded", String(!isOpen));
  });
  document.querySelector("#list > thead").addEventListener("click", (event) => {
    const button = event.target.closest("[data-sort]");
    if (!button) return;
    order = (button.parentElement.getAttribute("aria-sort") === "ascending" ? "-" : "") + button.dataset.sort;
    filter();
  });
  find("order").addEventListener("change", () => { order = find("order").value; filter(); });
  for (const id of ["search", "class", "group", "kept", "probability"]) find(id).addEventListener("input", filter);
  find("more").addEventListener("click", more);
  find("download").addEventListener("click", download);
  filter();
})();
