//! Around the pages: a refusal becomes a page for whoever asked for one, and a message is shown once.

use axum::extract::{FromRequestParts, Request};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::Response;
use ordo_api::Code;

use crate::app::App;
use crate::http::cookies;
use crate::http::problem::Problem;
use crate::pages::layout::answer;
use crate::pages::layout::context::{FLASH, PageContext};
use crate::pages::layout::login;
use crate::pages::layout::shell::{NavSection, PageShell};
use crate::pages::runs::outcome::Counted;

pub(crate) async fn around<F: Future<Output = Response>>(
    app: &App,
    request: Request,
    next: impl FnOnce(Request) -> F,
) -> Response {
    if !wants_page(request.headers(), request.uri().path()) {
        return next(request).await;
    }
    let (mut parts, body) = request.into_parts();
    let is_login = parts.uri.path() == "/login" && (parts.method == Method::POST || parts.uri.query().is_some());
    let ctx = PageContext::from_request_parts(&mut parts, app).await.ok();
    let mut response = next(Request::from_parts(parts, body)).await;
    let Some(ctx) = ctx else { return response };
    if let Some(problem) = response.extensions().get::<Problem>().cloned() {
        response = problem_page(&ctx, problem, is_login).unwrap_or(response);
    }
    if ctx.flash.is_some() && response.status() != StatusCode::SEE_OTHER {
        let path = format!("{}/", app.base_path);
        response.headers_mut().append(header::SET_COOKIE, cookies::gone(FLASH, &path));
    }
    response
}

/// A browser that asks for a page; programs get JSON.
fn wants_page(headers: &HeaderMap, path: &str) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted.contains("text/html") && !path.starts_with("/v1/")
}

#[derive(askama::Template)]
#[template(path = "problem.html")]
struct ProblemPage {
    shell: PageShell,
    status: u16,
    title: &'static str,
    problem: Problem,
    code: &'static str,
}

fn problem_page(ctx: &PageContext, problem: Problem, is_login: bool) -> Option<Response> {
    let status = problem.status();
    if problem.code == Code::Unauthorized || (is_login && problem.code == Code::RateLimited) {
        return login::ask(ctx, status, is_login.then_some(problem.detail)).ok();
    }
    let title = problem.code.title();
    let shell = PageShell::around(ctx, NavSection::Elsewhere, title.to_owned(), Counted::exactly(0));
    let code = problem.code.text();
    answer::page(status, &ProblemPage { shell, status: status.as_u16(), title, problem, code }).ok()
}
