//! The page that asks for a token.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::http::problem::Problem;
use crate::pages::layout::answer;
use crate::pages::layout::context::PageContext;
use crate::pages::layout::shell::{NavSection, PageShell};
use crate::pages::runs::outcome::Counted;

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage {
    shell: PageShell,
    /// What was wrong with the token that was given.
    refused: Option<String>,
    /// Where to go on.
    next: String,
}

/// Asks for a token; the form goes to `POST /login` and comes back to where it was asked.
pub(crate) fn ask(ctx: &PageContext, status: StatusCode, refused: Option<String>) -> Result<Response, Problem> {
    let shell = PageShell::around(ctx, NavSection::Elsewhere, "Sign in".to_owned(), Counted::exactly(0));
    let next = if ctx.here.starts_with("/login") { ctx.link("/") } else { ctx.link(&ctx.here) };
    answer::page(status, &LoginPage { shell, refused, next })
}
