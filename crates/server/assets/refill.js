// What was typed comes back when the server refuses it and leads back to the page.
// Invariant: only of forms that ask for it (data-refill), which have no secrets; it lives in this tab until the next page.

const KEY = "ordo-refill";

/** A browser may refuse to keep anything: then nothing comes back. */
function stored(act) {
  try {
    return act(sessionStorage);
  } catch {
    return null;
  }
}

const forms = () => [...document.querySelectorAll("form[data-refill]")];

function fill(form, fields) {
  for (const [name, value] of fields) {
    for (const field of form.querySelectorAll(`[name="${CSS.escape(name)}"]`)) {
      if (field.type === "checkbox" || field.type === "radio") field.checked = field.value === value;
      else if (field.type !== "hidden" && field.nodeName !== "BUTTON") field.value = value;
    }
  }
  for (let at = form.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
}

export function startRefill() {
  const kept = stored((storage) => JSON.parse(storage.getItem(KEY)));
  stored((storage) => storage.removeItem(KEY));
  if (kept && document.querySelector("#flash .bad")) {
    const form = forms().find((one) => one.getAttribute("action") === kept.action);
    if (form) fill(form, kept.fields);
  }
  document.addEventListener("submit", ({ target }) => {
    if (!target.matches("form[data-refill]")) return;
    const fields = [...new FormData(target)].filter(([, value]) => typeof value === "string");
    stored((storage) => storage.setItem(KEY, JSON.stringify({ action: target.getAttribute("action"), fields })));
  });
}
