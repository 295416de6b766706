// What the page shows, as plain data: undone, redone, and kept in the fragment of the address, without the token.

export const NO_WISHES = () => ({ locked: [], ranges: {}, prices: {}, excluded: {}, max_changes: null, keep: null });

export const FIRST_STATE = () => ({
  place: null,
  edits: {},
  wishes: NO_WISHES(),
  list: { search: "", equal: {}, sort: "place", descending: false, offset: 0 },
  see: "way",
  columns: null,
  bookmarks: [],
});

function pack(state) {
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function unpack(fragment) {
  try {
    const text = atob(fragment.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    const found = JSON.parse(new TextDecoder().decode(bytes));
    return typeof found === "object" && found !== null ? { ...FIRST_STATE(), ...found } : FIRST_STATE();
  } catch {
    return FIRST_STATE();
  }
}

export class History {
  constructor({ inAddress }) {
    this.inAddress = inAddress;
    this.past = [];
    this.future = [];
    this.watchers = [];
    this.state = inAddress && location.hash.length > 1 ? unpack(location.hash.slice(1)) : FIRST_STATE();
    if (inAddress) window.addEventListener("hashchange", () => this.follow());
  }

  // Gives a function that ends the watch.
  watch(watcher) {
    this.watchers.push(watcher);
    return () => {
      this.watchers = this.watchers.filter((other) => other !== watcher);
    };
  }

  // `change` is merged into the state; steps that a person would take back can be undone.
  set(change, { canUndo = true } = {}) {
    if (canUndo) {
      this.past.push(this.state);
      this.future = [];
    }
    this.show({ ...this.state, ...change });
  }

  undo() {
    if (!this.past.length) return;
    this.future.push(this.state);
    this.show(this.past.pop());
  }

  redo() {
    if (!this.future.length) return;
    this.past.push(this.state);
    this.show(this.future.pop());
  }

  follow() {
    const packed = location.hash.slice(1);
    if (packed !== pack(this.state)) {
      this.past.push(this.state);
      this.show(unpack(packed));
    }
  }

  show(state) {
    const before = this.state;
    this.state = state;
    if (this.inAddress) window.history.replaceState(null, "", `#${pack(state)}`);
    for (const watcher of this.watchers) watcher(state, before);
  }
}
