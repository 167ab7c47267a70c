//! A page that is one table, or says how to fill it.

use askama::Template;
use axum::response::Response;

use crate::http::problem::Problem;
use crate::pages::layout::answer;
use crate::pages::layout::context::PageContext;
use crate::pages::layout::html::Html;
use crate::pages::layout::shell::{NavSection, PageShell};

pub(crate) struct ListRow {
    pub(crate) id: String,
    pub(crate) cells: Vec<Html>,
}

impl ListRow {
    /// Each cell with the head of its column, which stands before it where there is no room for columns.
    fn labelled<'a>(&'a self, heads: &'a [&'static str]) -> impl Iterator<Item = (&'static str, &'a Html)> {
        heads.iter().copied().zip(&self.cells)
    }
}

/// What a list is called and is for, and the exact commands to get started.
pub(crate) struct ListIntro {
    pub(crate) section: NavSection,
    pub(crate) heading: &'static str,
    pub(crate) icon: &'static str,
    pub(crate) about: &'static str,
    pub(crate) commands: &'static [(&'static str, &'static str)],
    pub(crate) heads: &'static [&'static str],
    /// What makes one, and where.
    pub(crate) create: Option<(&'static str, &'static str)>,
}

#[derive(Template)]
#[template(path = "listing.html")]
struct ListingPage {
    shell: PageShell,
    heading: &'static str,
    icon: &'static str,
    about: &'static str,
    commands: &'static [(&'static str, &'static str)],
    heads: &'static [&'static str],
    create: Option<(&'static str, String)>,
    chips: Vec<(&'static str, String, bool)>,
    extra: Html,
    rows: Vec<ListRow>,
    next: Option<String>,
}

/// What a list shows this time.
#[derive(Default)]
pub(crate) struct ListContents {
    pub(crate) chips: Vec<(&'static str, String, bool)>,
    /// A form above the table.
    pub(crate) extra: Html,
    pub(crate) rows: Vec<ListRow>,
    pub(crate) next: Option<String>,
}

pub(crate) async fn page(ctx: &PageContext, about: &ListIntro, shown: ListContents) -> Result<Response, Problem> {
    let ListContents { chips, extra, rows, next } = shown;
    answer::ok(&ListingPage {
        shell: PageShell::new(ctx, about.section, about.heading).await?,
        heading: about.heading,
        icon: about.icon,
        about: about.about,
        commands: about.commands,
        heads: about.heads,
        create: about.create.filter(|_| ctx.may_see(about.section)).map(|(words, path)| (words, ctx.link(path))),
        chips,
        extra,
        rows,
        next,
    })
}

pub(crate) fn text(text: &str) -> Html {
    Html::new().text(text)
}

pub(crate) fn quiet(words: &str) -> Html {
    Html::new().raw("<span class=\"quiet\">").text(words).raw("</span>")
}

pub(crate) fn code(words: &str) -> Html {
    Html::new().raw("<code class=\"break\">").text(words).raw("</code>")
}

pub(crate) fn link(href: &str, words: &str) -> Html {
    Html::new().raw("<a class=\"strong\" href=\"").text(href).raw("\">").text(words).raw("</a>")
}

/// A button that acts and comes back.
pub(crate) fn button(action: &str, back: &str, words: &str, about: &str) -> Html {
    Html::new()
        .raw("<form method=\"post\" action=\"")
        .text(action)
        .raw("\"><input type=\"hidden\" name=\"back\" value=\"")
        .text(back)
        .raw("\"><button class=\"button small\" aria-label=\"")
        .text(&format!("{words} {about}"))
        .raw("\">")
        .text(words)
        .raw("</button></form>")
}
