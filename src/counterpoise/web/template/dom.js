// Elements and numbers. Whatever comes from data becomes a text node, never markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else if (name === "checked" || name === "disabled" || name === "selected" || name === "open") element[name] = Boolean(value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function make(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function draw(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

export function replaceChildren(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

export function shortNumber(value) {
  if (value === null || value === undefined) return "";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(2);
  return String(Number(value.toPrecision(4)));
}

// A number of a feature, with the decimals that its schema names.
export function featureNumber(feature, value) {
  if (value === null || value === undefined) return "missing";
  if (feature.kind === "integer") return String(Math.round(value));
  return feature.decimals === null ? shortNumber(value) : value.toFixed(feature.decimals);
}

export function percent(value) {
  if (value === null || value === undefined) return "";
  const share = 100 * value;
  if (share > 0 && share < 1) return "<1%";
  if (share < 100 && share > 99) return ">99%";
  return `${Math.round(share)}%`;
}

// A share of noisy copies, rounded down as everywhere: 12 of 100 is what 12.5 % of them keep.
export function keptShare(value) {
  return value === null || value === undefined ? "" : `${Math.floor(100 * value + 1e-9)}%`;
}

export function button(words, act, attributes) {
  return make("button", { type: "button", onclick: act, ...attributes }, words);
}

// A scale from values to pixels; even in ranks of the population where values pile up, which `isRanked` says.
export function makeScale(quantiles, values, width) {
  const all = [...Object.values(quantiles).flat(), ...values].filter((value) => value !== null);
  const low = Math.min(...all), high = Math.max(...all);
  const knots = [...new Set(Object.values(quantiles).flat())].sort((a, b) => a - b);
  const middle = knots.length ? knots[knots.length - 1 - Math.floor(knots.length / 4)] - knots[Math.floor(knots.length / 4)] : 0;
  const isRanked = knots.length > 4 && high - low > 12 * Math.max(middle, 1e-300);
  const place = (value) => {
    if (high === low) return 0.5;
    if (!isRanked) return (value - low) / (high - low);
    const ends = [...new Set([low, ...knots, high])].sort((a, b) => a - b);
    let step = ends.findIndex((end) => end >= value);
    step = Math.min(Math.max(step, 1), ends.length - 1);
    return (step - 1 + (value - ends[step - 1]) / (ends[step] - ends[step - 1])) / (ends.length - 1);
  };
  return { isRanked, at: (value) => 4 + (width - 8) * Math.min(1, Math.max(0, place(value))) };
}
