//! Secrets: their names. A value goes in and never comes out.

use axum::extract::Form;
use axum::response::Response;
use ordo_model::secret::Secret;
use serde_json::json;

use super::form::{self, FormField, FormIntro, InputKind};
use super::view::confirmed;
use super::{PER_PAGE, after, body, next, signed};
use crate::api::secrets as api;
use crate::http::params::Params;
use crate::http::path::{Named, SecretNamePath};
use crate::http::problem::Problem;
use crate::pages::jobs::actions::{FormFields, field};
use crate::pages::layout::context::{Flash, PageContext};
use crate::pages::layout::html::Html;
use crate::pages::layout::listing::{self, ListContents, ListIntro, ListRow, code, quiet};
use crate::pages::layout::shell::NavSection;

const LIST: (&str, &str) = ("Secrets", "/secrets");

const SECRETS: ListIntro = ListIntro {
    section: NavSection::Secrets,
    heading: "Secrets",
    icon: "held",
    about: "A secret is stored encrypted. Jobs and hooks refer to it by name, and no page and no answer ever shows its value.",
    commands: &[("Store one", "printf 's3cret' | ordo secret set db_password")],
    heads: &["Name", "Stored", "Changed", ""],
    create: Some(("New secret", "/secrets/new")),
};

/// `GET /secrets`
pub(crate) async fn list(ctx: PageContext, mut params: Params) -> Result<Response, Problem> {
    let found = ctx.app.engine.secrets().list(after(&mut params).as_ref(), PER_PAGE).await?;
    let times = ctx.times();
    let row = |secret: &ordo_engine::Versioned<Secret>| ListRow {
        id: format!("secret-{}", secret.id),
        cells: vec![
            code(&secret.name),
            times.relative(secret.created_at),
            times.relative(secret.updated_at),
            removal(&ctx, &secret.name),
        ],
    };
    let rows = found.items.iter().map(row).collect();
    let next = next(&ctx, "/secrets", found.next);
    listing::page(&ctx, &SECRETS, ListContents { rows, next, ..ListContents::default() }).await
}

/// What belongs to a hook, a subscription or a channel goes with that.
fn removal(ctx: &PageContext, name: &str) -> Html {
    match name.split_once('/') {
        Some((owner, _)) => quiet(&format!("removed with its {owner}")),
        None => confirmed(
            &ctx.link(&format!("/secrets/{name}/remove")),
            "Remove",
            "Jobs that refer to it fail from then on. Its value cannot be restored.",
        ),
    }
}

fn intro() -> FormIntro {
    FormIntro {
        section: NavSection::Secrets,
        list: LIST,
        heading: "New secret".to_owned(),
        about: "If the name exists, its value is replaced.",
        target: "/secrets/new".to_owned(),
        submit: "Store secret",
    }
}

fn fields() -> Vec<FormField> {
    vec![
        FormField::line("name", "Name")
            .required()
            .hint("In the input of a job it is written as {\"secret\": \"name\"}"),
        FormField::new("value", "Value", InputKind::Password).required(),
    ]
}

/// `GET /secrets/new`
pub(crate) async fn blank(ctx: PageContext) -> Result<Response, Problem> {
    form::page(&ctx, intro(), fields()).await
}

/// `POST /secrets/new`
pub(crate) async fn put(ctx: PageContext, Form(typed): FormFields) -> Result<Response, Problem> {
    let name = field(&typed, "name").unwrap_or_default().to_owned();
    // Spaces may belong to a value: it is taken as it was typed.
    let value = typed.iter().find(|(key, _)| key == "value").map_or("", |(_, value)| value.as_str());
    let written = body(&json!({ "value": value }));
    match api::put(signed(&ctx), Named(SecretNamePath(name.clone())), written).await {
        Ok(_) => Ok(ctx.go("/secrets", &Flash::good(format!("Stored {name}")))),
        Err(problem) => form::refused(&ctx, intro(), fields(), &typed, &problem).await,
    }
}

/// `POST /secrets/{name}/remove`
pub(crate) async fn remove(ctx: PageContext, Named(SecretNamePath(name)): Named<SecretNamePath>) -> Response {
    match api::remove(signed(&ctx), Named(SecretNamePath(name.clone()))).await {
        Ok(_) => ctx.go("/secrets", &Flash::good(format!("Removed {name}"))),
        Err(problem) => ctx.go("/secrets", &Flash::bad(problem.detail)),
    }
}
