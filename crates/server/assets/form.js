// The form of a job: shows what is typed as it will be, and only the fields that matter.
const form = document.getElementById("job-form");

/** `action=http`, `when=cron,every`: shown if the field has one of the values. */
function arrange() {
  for (const part of form.querySelectorAll("[data-for]")) {
    const [name, values] = part.dataset.for.split("=");
    part.hidden = !values.split(",").includes(form.elements.namedItem(name).value);
  }
  const side = form.elements.namedItem("concurrent").closest(".field");
  side.hidden = form.elements.namedItem("block").value !== "concurrent";
}

const touched = new Set();
let asked = 0;

async function preview() {
  const mine = ++asked;
  const answer = await fetch(form.dataset.preview, {
    method: "POST",
    body: new URLSearchParams(new FormData(form)),
    headers: { Accept: "text/html" },
  });
  if (mine !== asked || !answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const place = document.getElementById("preview");
  place.replaceChildren(...page.body.childNodes);
  for (const copy of place.querySelectorAll("[data-copy]")) copy.hidden = false;
  complain(place.querySelectorAll("#preview-errors li"));
}

/** Only about fields that somebody has been at: an empty form is not wrong yet. */
function complain(errors) {
  const wrong = new Map([...errors].map((one) => [one.dataset.field, one.textContent]));
  for (const place of form.querySelectorAll("[data-error-for]")) {
    const name = place.dataset.errorFor;
    const text = touched.has(name) ? (wrong.get(name) ?? "") : "";
    if (place.textContent !== text) place.textContent = text;
    const field = document.getElementById(name);
    if (text) field?.setAttribute("aria-invalid", "true");
    else field?.removeAttribute("aria-invalid");
  }
}

export function startForm() {
  if (!form) return;
  let timer;
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(preview, 250);
  };
  const change = (event) => {
    touched.add(event.target.name);
    arrange();
    soon();
  };
  form.addEventListener("input", change);
  form.addEventListener("change", change);
  document.getElementById("only-preview").hidden = true;
  const shortcuts = document.getElementById("shortcuts");
  shortcuts.hidden = false;
  shortcuts.addEventListener("click", (event) => {
    const { cron } = event.target.dataset;
    if (!cron) return;
    form.elements.namedItem("cron").value = cron;
    touched.add("cron");
    soon();
  });
  arrange();
}
