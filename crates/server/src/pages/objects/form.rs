//! A form of plain fields, and the page around it.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::http::problem::Problem;
use crate::pages::jobs::actions::field;
use crate::pages::layout::answer;
use crate::pages::layout::context::PageContext;
use crate::pages::layout::html::Html;
use crate::pages::layout::shell::{NavSection, PageShell};

#[derive(Debug, Clone)]
pub(crate) enum InputKind {
    Line,
    /// Never filled in again.
    Password,
    Lines,
    Choice(Vec<(String, String)>),
    /// Shown, not to be changed.
    Fixed,
}

/// One field of a form.
#[derive(Debug, Clone)]
pub(crate) struct FormField {
    /// As the API calls it; dots part what is inside.
    pub(crate) name: &'static str,
    label: &'static str,
    hint: &'static str,
    kind: InputKind,
    is_required: bool,
    value: String,
    error: String,
}

impl FormField {
    pub(crate) fn new(name: &'static str, label: &'static str, kind: InputKind) -> FormField {
        FormField { name, label, hint: "", kind, is_required: false, value: String::new(), error: String::new() }
    }

    pub(crate) fn line(name: &'static str, label: &'static str) -> FormField {
        FormField::new(name, label, InputKind::Line)
    }

    pub(crate) fn required(self) -> FormField {
        FormField { is_required: true, ..self }
    }

    pub(crate) fn hint(self, hint: &'static str) -> FormField {
        FormField { hint, ..self }
    }

    pub(crate) fn value(self, value: impl Into<String>) -> FormField {
        FormField { value: value.into(), ..self }
    }

    pub(crate) fn html(&self) -> Html {
        let id = self.name.replace('.', "-");
        let optional = match (&self.kind, self.is_required) {
            (InputKind::Line | InputKind::Lines, false) => " <span class=\"quiet\">(optional)</span>",
            (InputKind::Line | InputKind::Lines, true)
            | (InputKind::Password | InputKind::Choice(_) | InputKind::Fixed, _) => "",
        };
        let html = Html::new().raw(format_args!("<div class=\"field\"><label for=\"{id}\">")).text(self.label);
        let html = self.input(html.raw(optional).raw("</label>"), &id);
        let html = match self.hint {
            "" => html,
            hint => html.raw(format_args!("<p class=\"hint\" id=\"{id}-hint\">")).text(hint).raw("</p>"),
        };
        html.raw(format_args!("<p class=\"error\" id=\"{id}-error\">")).text(&self.error).raw("</p></div>")
    }

    fn input(&self, html: Html, id: &str) -> Html {
        let required = if self.is_required { " required" } else { "" };
        let invalid = if self.error.is_empty() { "" } else { " aria-invalid=\"true\"" };
        let described = if self.hint.is_empty() { format!("{id}-error") } else { format!("{id}-error {id}-hint") };
        let common = format!(" id=\"{id}\" name=\"{}\" aria-describedby=\"{described}\"{required}{invalid}", self.name);
        match &self.kind {
            InputKind::Line => {
                html.raw(format_args!("<input type=\"text\"{common} value=\"")).text(&self.value).raw("\">")
            }
            InputKind::Fixed => {
                html.raw(format_args!("<input type=\"text\"{common} readonly value=\"")).text(&self.value).raw("\">")
            }
            InputKind::Password => {
                html.raw(format_args!("<input type=\"password\" autocomplete=\"new-password\"{common}>"))
            }
            InputKind::Lines => {
                html.raw(format_args!("<textarea rows=\"3\"{common}>")).text(&self.value).raw("</textarea>")
            }
            InputKind::Choice(choices) => {
                let open = html.raw(format_args!("<select{common}>"));
                let options = choices.iter().fold(open, |html, (value, words)| {
                    let chosen = if *value == self.value { " selected" } else { "" };
                    html.raw("<option value=\"")
                        .text(value)
                        .raw(format_args!("\"{chosen}>"))
                        .text(words)
                        .raw("</option>")
                });
                options.raw("</select>")
            }
        }
    }
}

/// What stands around the fields.
pub(crate) struct FormIntro {
    pub(crate) section: NavSection,
    /// What the list is called, and where it is.
    pub(crate) list: (&'static str, &'static str),
    pub(crate) heading: String,
    pub(crate) about: &'static str,
    /// Where the form goes.
    pub(crate) target: String,
    pub(crate) submit: &'static str,
}

#[derive(Template)]
#[template(path = "object_form.html")]
struct ObjectFormPage {
    shell: PageShell,
    section: &'static str,
    back: String,
    heading: String,
    about: &'static str,
    target: String,
    submit: &'static str,
    wrong: Option<String>,
    fields: Vec<FormField>,
}

pub(crate) async fn page(ctx: &PageContext, about: FormIntro, fields: Vec<FormField>) -> Result<Response, Problem> {
    shown(ctx, about, fields, None).await
}

/// The form as it was typed, with what is wrong at its field.
pub(crate) async fn refused(
    ctx: &PageContext,
    about: FormIntro,
    fields: Vec<FormField>,
    typed: &[(String, String)],
    problem: &Problem,
) -> Result<Response, Problem> {
    let error = |name: &str| {
        let found =
            problem.errors.iter().find(|error| error.field == name || error.field.starts_with(&format!("{name}.")));
        found.map_or_else(String::new, |error| error.message.clone())
    };
    let fields: Vec<FormField> = fields
        .into_iter()
        .map(|one| {
            let value =
                typed.iter().find(|(name, _)| name == one.name).map_or(one.value.clone(), |(_, value)| value.clone());
            FormField { error: error(one.name), value, ..one }
        })
        .collect();
    let is_placed = fields.iter().any(|field| !field.error.is_empty());
    shown(ctx, about, fields, (!is_placed).then(|| problem.detail.clone())).await
}

async fn shown(
    ctx: &PageContext,
    about: FormIntro,
    fields: Vec<FormField>,
    wrong: Option<String>,
) -> Result<Response, Problem> {
    let is_refused = wrong.is_some() || fields.iter().any(|field| !field.error.is_empty());
    let (section, path) = about.list;
    let page = ObjectFormPage {
        shell: PageShell::new(ctx, about.section, about.heading.clone()).await?,
        section,
        back: ctx.link(path),
        heading: about.heading,
        about: about.about,
        target: ctx.link(&about.target),
        submit: about.submit,
        wrong,
        fields,
    };
    answer::page(if is_refused { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK }, &page)
}

/// What was typed into a field, as JSON; nothing for an empty one.
pub(crate) fn typed(fields: &[(String, String)], name: &str) -> Option<serde_json::Value> {
    field(fields, name).map(|text| serde_json::Value::from(text.replace("\r\n", "\n")))
}

/// The object that the fields of these names make, without the empty ones.
pub(crate) fn object(fields: &[(String, String)], names: &[&str]) -> serde_json::Value {
    names.iter().filter_map(|name| Some(((*name).to_owned(), typed(fields, name)?))).collect()
}
