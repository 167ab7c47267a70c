//! `ordo token`: who is let in, and as what.

use ordo_api::access::NewToken;
use ordo_model::Role;
use ordo_model::api_token::ApiToken;
use serde_json::Value;
use uuid::Uuid;

use super::find::text;
use super::pages;
use super::talk::CommandSession;
use crate::cli::Format;
use crate::cli::token::{RoleName, TokenAddArgs, TokenCommand};
use crate::commands::confirm;
use crate::error::{Exit, Result};
use crate::output::{self, table, time};

pub(crate) async fn run(talk: &CommandSession, command: TokenCommand) -> Result<Exit> {
    match command {
        TokenCommand::Add(args) => add(talk, &args).await,
        TokenCommand::List(every) => pages::show_all(talk, "/v1/tokens", every, |items| human(talk, items)).await,
        TokenCommand::Revoke(args) => {
            let token = &args.what.token;
            confirm::removal(&args, &format!("Revoke {token} for good? Whoever uses it is locked out."))?;
            revoke(talk, token).await
        }
    }
}

/// The token alone goes to standard output, so that it can be piped to where it belongs.
async fn add(talk: &CommandSession, args: &TokenAddArgs) -> Result<Exit> {
    let some = |names: &[String]| (!names.is_empty()).then(|| names.iter().cloned().collect());
    let form = NewToken {
        name: args.name.clone(),
        role: Role::from(args.role).name().to_owned(),
        expires_at: None,
        expires_in: args.expires,
        groups: some(&args.groups),
        tools: some(&args.tools),
    };
    let made = talk.post("/v1/tokens", &form).await?;
    if talk.format == Format::Table {
        let until = time::of(&made["expires_at"]).map(|end| format!(", until {}", time::absolute(end, &talk.zone)));
        let serves = made["serves"].as_str().filter(|_| args.role == RoleName::Executor);
        output::note(&format!(
            "{} has the role {}{}{}; this is shown once:",
            args.name,
            text(&made, "role"),
            serves.map(|scope| format!(" for {scope}")).unwrap_or_default(),
            until.unwrap_or_default()
        ));
    }
    talk.value(&made, || format!("{}\n", text(&made, "token")))?;
    Ok(Exit::Done)
}

fn human(talk: &CommandSession, items: &[Value]) -> String {
    let when = |item: &Value, field: &str, otherwise: &str| {
        time::of(&item[field]).map_or_else(|| otherwise.to_owned(), |at| time::relative(at, talk.now()))
    };
    let row = |item: &Value| {
        vec![
            text(item, "name"),
            text(item, "role"),
            item["serves"].as_str().unwrap_or("-").to_owned(),
            state(talk, &text(item, "state")),
            text(item, "prefix"),
            when(item, "created_at", ""),
            when(item, "expires_at", "never"),
            when(item, "last_used_at", "never"),
        ]
    };
    let names = ["NAME", "ROLE", "SERVES", "STATE", "BEGINS", "CREATED", "EXPIRES", "USED"];
    table::rows(&names, items.iter().map(row).collect(), talk.paint)
}

fn state(talk: &CommandSession, name: &str) -> String {
    if name == "active" { talk.paint.good(name) } else { talk.paint.dim(name) }
}

/// A name has one token: its id follows from it.
async fn revoke(talk: &CommandSession, token: &str) -> Result<Exit> {
    let id = token.parse::<Uuid>().unwrap_or_else(|_| ApiToken::id(token).id);
    let revoked = talk.client.delete::<Value>(&format!("/v1/tokens/{id}")).await?;
    talk.value(&revoked, || format!("revoked token {}\n", text(&revoked, "name")))?;
    Ok(Exit::Done)
}
