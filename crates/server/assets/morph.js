// Brings one tree to the shape of another by touching only what differs: focus, selection and scroll stay.

/** Attributes that belong to the reader or to a script, not to the server. */
const OURS = new Set(["open", "hidden"]);

/** Asked for as an attribute: a form with a field called "id" answers with that field. */
const idOf = (node) => node.getAttribute?.("id") ?? "";

export function morph(old, wanted) {
  if (old.nodeType !== wanted.nodeType || old.nodeName !== wanted.nodeName || idOf(old) !== idOf(wanted)) {
    old.replaceWith(wanted);
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== wanted.data) old.data = wanted.data;
    return;
  }
  if (old.hasAttribute("data-keep") || old.isEqualNode(wanted)) return;
  attributes(old, wanted);
  children(old, wanted);
}

function attributes(old, wanted) {
  for (const { name, value } of wanted.attributes) {
    if (!OURS.has(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    if (!OURS.has(name) && !wanted.hasAttribute(name)) old.removeAttribute(name);
  }
}

function children(old, wanted) {
  const named = new Map();
  for (const child of old.children) if (idOf(child)) named.set(idOf(child), child);
  let at = old.firstChild;
  for (const want of [...wanted.childNodes]) {
    const known = idOf(want) ? named.get(idOf(want)) : undefined;
    if (known) {
      if (known === at) at = at.nextSibling;
      else old.insertBefore(known, at);
      morph(known, want);
    } else if (at && !idOf(at) && !idOf(want) && at.nodeName === want.nodeName) {
      const next = at.nextSibling;
      morph(at, want);
      at = next;
    } else {
      old.insertBefore(want, at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}
