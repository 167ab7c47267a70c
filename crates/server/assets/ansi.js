// Colours of terminals as classes, for lines that arrive while somebody looks. The server does the same.
const ESCAPE = "\u001b";

function take(pen, codes) {
  const list = codes.split(";").map((code) => Number(code) || 0);
  while (list.length) {
    const code = list.shift();
    if (code === 0) Object.assign(pen, { colour: null, bold: false, dim: false, under: false });
    else if (code === 1) pen.bold = true;
    else if (code === 2) pen.dim = true;
    else if (code === 4) pen.under = true;
    else if (code === 22) pen.bold = pen.dim = false;
    else if (code === 24) pen.under = false;
    else if (code >= 30 && code <= 37) pen.colour = code - 30;
    else if (code === 39) pen.colour = null;
    else if (code >= 90 && code <= 97) pen.colour = code - 90 + 8;
    else if (code === 38 || code === 48) {
      const colour = list.shift() === 5 ? list.shift() : (list.splice(0, 3), null);
      if (code === 38) pen.colour = colour !== null && colour < 16 ? colour : null;
    }
  }
}

/** The line as nodes. */
export function draw(line) {
  const pen = { colour: null, bold: false, dim: false, under: false };
  const nodes = [];
  const put = (text) => {
    const plain = text.replace(/[\u0000-\u0008\u000a-\u001f\u007f]/g, "");
    if (!plain) return;
    const names = [pen.colour !== null && `c${pen.colour}`, pen.bold && "bold", pen.dim && "dim", pen.under && "under"];
    const classes = names.filter(Boolean).join(" ");
    if (!classes) return nodes.push(document.createTextNode(plain));
    const span = document.createElement("span");
    span.className = classes;
    span.textContent = plain;
    nodes.push(span);
  };
  const [first, ...rest] = line.split(ESCAPE);
  put(first);
  for (const part of rest) {
    const sequence = /^\[([0-9;?]*)[ -/]*([@-~])/.exec(part);
    if (sequence) {
      if (sequence[2] === "m") take(pen, sequence[1]);
      put(part.slice(sequence[0].length));
    } else if (!part.startsWith("[")) {
      put(part.slice(1));
    }
  }
  return nodes;
}
