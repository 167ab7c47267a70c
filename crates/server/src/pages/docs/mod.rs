//! The documentation of this very version, without a network: pages, contents and search.

mod book;
mod markdown;

use askama::Template;
use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use ordo_api::Code;

use crate::http::params::Params;
use crate::http::problem::Problem;
use crate::pages::layout::answer;
use crate::pages::layout::context::PageContext;
use crate::pages::layout::html::Html;
use crate::pages::layout::shell::{NavSection, PageShell};
use book::{Book, ContentsLine, address};

/// A text that people wrote in Markdown; nothing in it can act.
pub(crate) fn plain_markdown(text: &str) -> Html {
    Html::new().raw(markdown::plain(text))
}

/// What is shown at `/docs` itself.
const FRONT: &str = "docs/why.md";

#[derive(Template)]
#[template(path = "docs.html")]
struct DocsPage {
    shell: PageShell,
    parts: Vec<ContentsPart>,
    text: Html,
    words: String,
    found: Option<Vec<FoundLine>>,
}

struct ContentsPart {
    title: String,
    pages: Vec<(String, String, bool)>,
}

struct FoundLine {
    title: String,
    href: String,
    excerpt: String,
}

/// `/docs`, also with `?q=` words to search for.
pub(crate) async fn front(ctx: PageContext, mut params: Params) -> Result<Response, Problem> {
    let words = params.take_text("q").unwrap_or_default();
    params.finish()?;
    let book = Book::of_this_binary();
    let text = book.page(FRONT).ok_or_else(missing)?;
    if words.trim().is_empty() {
        return show(&ctx, FRONT, text).await;
    }
    let line = |found: book::FoundPage| FoundLine {
        title: found.title,
        href: ctx.link(&format!("/docs/{}", address(&found.path))),
        excerpt: found.excerpt,
    };
    let found = book.search(&words).into_iter().map(line).collect();
    let shell = PageShell::new(&ctx, NavSection::Elsewhere, "Documentation").await?;
    answer::ok(&DocsPage { shell, parts: parts(&ctx, ""), text: Html::new(), words, found: Some(found) })
}

/// A page, or a drawing on one.
pub(crate) async fn page(ctx: PageContext, Path(address): Path<String>) -> Result<Response, Problem> {
    let (path, text) = Book::of_this_binary().at(&address).ok_or_else(missing)?;
    if path.ends_with(".svg") {
        return Ok(([(header::CONTENT_TYPE, "image/svg+xml")], text.to_owned()).into_response());
    }
    show(&ctx, path, text).await
}

async fn show(ctx: &PageContext, path: &str, text: &str) -> Result<Response, Problem> {
    let link = |there: &str| ctx.link(&format!("/docs/{there}"));
    let rendered = markdown::render(text, path, Book::of_this_binary(), &link);
    let shell = PageShell::new(ctx, NavSection::Elsewhere, book::title(text)).await?;
    let text = Html::new().raw(rendered);
    answer::ok(&DocsPage { shell, parts: parts(ctx, path), text, words: String::new(), found: None })
}

/// The contents; decisions and error codes are found by their links and by search, there are too many of them.
fn parts(ctx: &PageContext, current: &str) -> Vec<ContentsPart> {
    let mut parts = vec![ContentsPart { title: String::new(), pages: Vec::new() }];
    for line in Book::of_this_binary().contents() {
        match line {
            ContentsLine::Part(title) => parts.push(ContentsPart { title, pages: Vec::new() }),
            ContentsLine::Page { path, .. } if path.starts_with("docs/adr/0") || path.starts_with("docs/errors/") => {}
            ContentsLine::Page { title, path } => {
                let (href, is_current) = (ctx.link(&format!("/docs/{}", address(&path))), path == current);
                if let Some(part) = parts.last_mut() {
                    part.pages.push((title, href, is_current));
                }
            }
        }
    }
    parts.retain(|part| !part.pages.is_empty());
    parts
}

fn missing() -> Problem {
    Problem::new(Code::RouteNotFound, "there is no such page in the documentation")
}
