// Colours of terminals as classes, for lines that arrive while somebody looks. The server does the same.
const ESCAPE = "\u001b";
const FRESH = { colour: null, ground: null, bold: false, dim: false, italic: false, under: false, struck: false, inverse: false };
const SWITCHES = { 1: ["bold"], 2: ["dim"], 3: ["italic"], 4: ["under"], 7: ["inverse"], 9: ["struck"] };
const OFF = { 22: ["bold", "dim"], 23: ["italic"], 24: ["under"], 27: ["inverse"], 29: ["struck"] };

/** By hue, and bright or dark; grey where there is no hue to speak of. */
function nearest(parts) {
  const low = Math.min(...parts), high = Math.max(...parts);
  if (parts.length < 3 || Number.isNaN(high) || high > 255) return null;
  if (high - low < 48) return high < 64 ? 0 : high < 144 ? 8 : high < 208 ? 7 : 15;
  const half = low + Math.floor((high - low) / 2);
  const bits = parts.reduce((sum, part, place) => sum + (part > half ? 1 << place : 0), 0);
  return high > 200 ? bits + 8 : bits;
}

function colour(list) {
  const kind = list.shift();
  if (kind === 2) return nearest(list.splice(0, 3));
  if (kind !== 5) return null;
  const one = list.shift();
  if (one === undefined || one > 255) return null;
  if (one < 16) return one;
  if (one > 231) return nearest(Array(3).fill(8 + 10 * (one - 232)));
  const part = (of) => (of === 0 ? 0 : 55 + 40 * of);
  const at = one - 16;
  return nearest([part(Math.floor(at / 36)), part(Math.floor(at / 6) % 6), part(at % 6)]);
}

function take(pen, codes) {
  const list = codes.split(/[;:]/).map((code) => (/^\d+$/.test(code) ? Number(code) : 0));
  while (list.length) {
    const code = list.shift();
    if (code === 0) Object.assign(pen, FRESH);
    else if (SWITCHES[code]) for (const name of SWITCHES[code]) pen[name] = true;
    else if (OFF[code]) for (const name of OFF[code]) pen[name] = false;
    else if (code >= 30 && code <= 37) pen.colour = code - 30;
    else if (code === 39) pen.colour = null;
    else if (code >= 40 && code <= 47) pen.ground = code - 40;
    else if (code === 49) pen.ground = null;
    else if (code >= 90 && code <= 97) pen.colour = code - 90 + 8;
    else if (code >= 100 && code <= 107) pen.ground = code - 100 + 8;
    else if (code === 38) pen.colour = colour(list);
    else if (code === 48) pen.ground = colour(list);
  }
}

/** The text behind a sequence; `codes` where it sets colours. */
function sequence(part) {
  const control = /^\[([^@-~]*)([@-~])/.exec(part);
  if (control) return { codes: control[2] === "m" ? control[1] : null, rest: part.slice(control[0].length) };
  if (part.startsWith("[")) return { codes: null, rest: "" };
  return { codes: null, rest: part.slice(1) };
}

/** The line as nodes. */
export function draw(line) {
  const pen = { ...FRESH };
  const nodes = [];
  const put = (text) => {
    const plain = text.replace(/[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/g, "");
    if (!plain) return;
    const names = [pen.colour !== null && `c${pen.colour}`, pen.ground !== null && `g${pen.ground}`];
    for (const name of ["bold", "dim", "italic", "under", "struck", "inverse"]) names.push(pen[name] && name);
    const classes = names.filter(Boolean).join(" ");
    if (!classes) return nodes.push(document.createTextNode(plain));
    const span = document.createElement("span");
    span.className = classes;
    span.textContent = plain;
    nodes.push(span);
  };
  // Titles, links and the like end with a bell, or with an escape and a backslash.
  const shown = line.replace(/\u001b[\]PX^_][^\u0007\u001b]*(\u0007|\u001b\\?|$)/g, "");
  const [first, ...rest] = shown.split(ESCAPE);
  put(first);
  for (const part of rest) {
    const { codes, rest: text } = sequence(part);
    if (codes !== null) take(pen, codes);
    put(text);
  }
  return nodes;
}
