//! Tokens: who is let in, with which role; a new one is shown once.

use axum::extract::Form;
use axum::http::HeaderMap;
use axum::response::Response;
use ordo_model::Role;
use ordo_model::api_token::ApiToken;
use serde_json::{Value, json};

use super::form::{self, FormField, FormIntro, InputKind};
use super::view::{self, ShownOnce, confirmed};
use super::{PER_PAGE, Presser, after, body, next, signed};
use crate::api::tokens as api;
use crate::http::params::Params;
use crate::http::path::{Named, TokenId};
use crate::http::problem::Problem;
use crate::pages::jobs::actions::{FormFields, field};
use crate::pages::layout::context::{Flash, PageContext};
use crate::pages::layout::html::Html;
use crate::pages::layout::listing::{self, ListContents, ListIntro, ListRow, code, quiet, text};
use crate::pages::layout::shell::NavSection;
use crate::pages::runs::outcome::Badge;

const LIST: (&str, &str) = ("Tokens", "/tokens");

const TOKENS: ListIntro = ListIntro {
    section: NavSection::Tokens,
    heading: "Tokens",
    icon: "tokens",
    about: "A token gives a person or a program access, with the role it needs and no more.",
    commands: &[("Create one for somebody who only reads", "ordo token add ada --role viewer")],
    heads: &["Name", "Role", "State", "Begins with", "Created", "Last used", "Expires", ""],
    create: Some(("New token", "/tokens/new")),
};

/// `GET /tokens`
pub(crate) async fn list(ctx: PageContext, mut params: Params) -> Result<Response, Problem> {
    let found = ctx.app.engine.tokens().list(after(&mut params).as_ref(), PER_PAGE).await?;
    let rows = found.items.iter().map(|token| row(&ctx, token)).collect();
    let next = next(&ctx, "/tokens", found.next);
    listing::page(&ctx, &TOKENS, ListContents { rows, next, ..ListContents::default() }).await
}

fn row(ctx: &PageContext, token: &ordo_engine::Versioned<ApiToken>) -> ListRow {
    let (state, class, icon) = match (token.revoked_at, token.is_alive(ctx.now)) {
        (Some(_), _) => ("revoked", "cancelled", "cancelled"),
        (None, true) => ("active", "completed", "active"),
        (None, false) => ("expired", "skipped", "skipped"),
    };
    let times = ctx.times();
    let revoke = match state {
        "active" => confirmed(
            &ctx.link(&format!("/tokens/{}/revoke", token.id)),
            "Revoke",
            &format!("Whoever uses {} is locked out at once. This cannot be undone.", token.name),
        ),
        _ => Html::new(),
    };
    ListRow {
        id: format!("token-{}", token.id),
        cells: vec![
            Html::new().raw("<span class=\"strong\">").text(&token.name).raw("</span>"),
            text(&token.role.to_string()),
            Badge { text: state.to_owned(), class, icon }.html(),
            code(&token.prefix),
            times.relative(token.created_at),
            token.last_used_at.map_or_else(|| quiet("never"), |at| times.relative(at)),
            token.expires_at.map_or_else(|| quiet("never"), |at| times.relative(at)),
            revoke,
        ],
    }
}

fn intro() -> FormIntro {
    FormIntro {
        section: NavSection::Tokens,
        list: LIST,
        heading: "New token".to_owned(),
        about: TOKENS.about,
        target: "/tokens/new".to_owned(),
        submit: "Create token",
    }
}

fn fields() -> Vec<FormField> {
    let roles = Role::ALL.map(|role| (role.to_string(), role.to_string())).to_vec();
    vec![
        FormField::line("name", "Name")
            .required()
            .hint("Of the person or program that uses it; what it does is signed with it"),
        FormField::new("role", "Role", InputKind::Choice(roles)).value("viewer"),
        FormField::line("expires_in", "Expires in").hint("30d, 1y; empty: never"),
        FormField::line("groups", "Groups")
            .hint("For executors: the groups they may serve, separated by commas; leave empty for any"),
        FormField::line("tools", "Tools")
            .hint("For executors: the tools they may offer, separated by commas; leave empty for any"),
    ]
}

/// `GET /tokens/new`
pub(crate) async fn blank(ctx: PageContext) -> Result<Response, Problem> {
    form::page(&ctx, intro(), fields()).await
}

/// `POST /tokens/new`
pub(crate) async fn create(
    ctx: PageContext,
    Presser(caller): Presser,
    Form(typed): FormFields,
) -> Result<Response, Problem> {
    match api::issue(&signed(&ctx).0, &caller, &HeaderMap::new(), &body(&written(&typed))).await {
        Ok(token) => {
            let name = field(&typed, "name").unwrap_or_default();
            let shown = ShownOnce {
                section: NavSection::Tokens,
                list: LIST,
                heading: format!("Created {name}"),
                what: "Its token",
                value: token.token.unwrap_or_default(),
                next: "/tokens".to_owned(),
            };
            view::once(&ctx, shown).await
        }
        Err(problem) => form::refused(&ctx, intro(), fields(), &typed, &problem).await,
    }
}

/// The token as a client would write it down.
fn written(typed: &[(String, String)]) -> Value {
    let mut token = form::object(typed, &["name", "role", "expires_in"]);
    for name in ["groups", "tools"] {
        if let Some(listed) = field(typed, name) {
            let words: Vec<&str> = listed.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
            token[name] = json!(words);
        }
    }
    token
}

/// `POST /tokens/{id}/revoke`
pub(crate) async fn revoke(ctx: PageContext, Named(TokenId(id)): Named<TokenId>) -> Response {
    match api::revoke(signed(&ctx), Named(TokenId(id))).await {
        Ok(token) => ctx.go("/tokens", &Flash::good(format!("Revoked {}", token.0.name))),
        Err(problem) => ctx.go("/tokens", &Flash::bad(problem.detail)),
    }
}
