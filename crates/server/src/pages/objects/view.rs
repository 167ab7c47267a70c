//! The page of one object, and of a value that is shown once.

use askama::Template;
use axum::response::Response;

use crate::http::problem::Problem;
use crate::pages::layout::answer;
use crate::pages::layout::context::PageContext;
use crate::pages::layout::html::Html;
use crate::pages::layout::shell::{NavSection, PageShell};
use crate::pages::runs::outcome::Badge;

/// One object: its state, what can be done with it, and what there is to know.
pub(crate) struct ObjectView {
    pub(crate) section: NavSection,
    pub(crate) list: (&'static str, &'static str),
    pub(crate) heading: String,
    pub(crate) badge: Option<Badge>,
    pub(crate) under: Html,
    pub(crate) acts: Html,
    /// (title, a word beside it, content)
    pub(crate) cards: Vec<(&'static str, String, Html)>,
}

#[derive(Template)]
#[template(path = "object.html")]
struct ObjectPage {
    shell: PageShell,
    section: &'static str,
    back: String,
    heading: String,
    badge: Option<Badge>,
    under: Html,
    acts: Html,
    cards: Vec<(&'static str, String, Html)>,
}

pub(crate) async fn page(ctx: &PageContext, view: ObjectView) -> Result<Response, Problem> {
    let ObjectView { section, list, heading, badge, under, acts, cards } = view;
    answer::ok(&ObjectPage {
        shell: PageShell::new(ctx, section, heading.clone()).await?,
        section: list.0,
        back: ctx.link(list.1),
        heading,
        badge,
        under,
        acts,
        cards,
    })
}

/// A secret that nobody can read again.
pub(crate) struct ShownOnce {
    pub(crate) section: NavSection,
    pub(crate) list: (&'static str, &'static str),
    pub(crate) heading: String,
    pub(crate) what: &'static str,
    pub(crate) value: String,
    /// Where to go on.
    pub(crate) next: String,
}

#[derive(Template)]
#[template(path = "shown_once.html")]
struct ShownOncePage {
    shell: PageShell,
    section: &'static str,
    back: String,
    heading: String,
    what: &'static str,
    value: String,
    next: String,
}

pub(crate) async fn once(ctx: &PageContext, shown: ShownOnce) -> Result<Response, Problem> {
    let ShownOnce { section, list, heading, what, value, next } = shown;
    answer::ok(&ShownOncePage {
        shell: PageShell::new(ctx, section, heading.clone()).await?,
        section: list.0,
        back: ctx.link(list.1),
        heading,
        what,
        value,
        next: ctx.link(&next),
    })
}

/// Names and values, one below the other.
pub(crate) fn facts(rows: &[(&str, Html)]) -> Html {
    let html = rows.iter().fold(Html::new().raw("<dl class=\"facts\">"), |html, (name, value)| {
        html.raw("<div><dt>").text(name).raw("</dt><dd>").raw(value).raw("</dd></div>")
    });
    html.raw("</dl>")
}

/// Something to copy: a name, and the text.
pub(crate) fn command(name: &str, text: &str) -> Html {
    Html::new()
        .raw("<div class=\"command\"><span>")
        .text(name)
        .raw("</span><pre tabindex=\"0\"><code>")
        .text(text)
        .raw("</code></pre><button type=\"button\" class=\"icon-button\" data-copy hidden aria-label=\"Copy\"><svg class=\"icon\" aria-hidden=\"true\"><use href=\"#i-copy\"/></svg></button></div>")
}

pub(crate) fn link_button(href: &str, words: &str) -> Html {
    Html::new().raw("<a class=\"button\" href=\"").text(href).raw("\">").text(words).raw("</a>")
}

/// A button that acts at once: what it does can be undone.
pub(crate) fn act(action: &str, words: &str) -> Html {
    Html::new()
        .raw("<form method=\"post\" action=\"")
        .text(action)
        .raw("\"><button class=\"button\">")
        .text(words)
        .raw("</button></form>")
}

/// A button behind a question: what it does cannot be undone.
pub(crate) fn confirmed(action: &str, words: &str, question: &str) -> Html {
    Html::new()
        .raw("<details class=\"pop\"><summary class=\"button danger\">")
        .text(words)
        .raw("…</summary><form method=\"post\" action=\"")
        .text(action)
        .raw("\" class=\"sheet stack\"><p>")
        .text(question)
        .raw("</p><button class=\"button danger\">")
        .text(words)
        .raw("</button></form></details>")
}
