//! The admin token of this node: in its folder for its owner, its hash among the tokens of the store.
//!
//! Invariant: after this the store has a living token for the one in the folder, so nobody has to be let in without.
//! A token that was revoked stays revoked: another takes its place.

use std::io::IsTerminal;

use ordo_engine::Engine;
use ordo_engine::secrets::SecretText;
use ordo_engine::tokens::{TokenHash, TokenRequest, mint};
use ordo_model::Role;
use ordo_model::limits::TOKEN_NAME_MAX_BYTES;

use crate::config::LogStyle;
use crate::error::{Error, Result};
use crate::folder::StateFolder;

/// The token of this node.
#[derive(Debug)]
pub(super) struct AdminToken {
    pub(super) text: SecretText,
    /// It was made by this start.
    pub(super) is_new: bool,
}

pub(super) async fn admit(engine: &Engine, folder: &StateFolder, node: &str) -> Result<AdminToken> {
    if let Some(text) = folder.read_token().map(SecretText::new) {
        let found = engine.tokens().by_hash(&TokenHash::of(text.expose())).await.map_err(unkept)?;
        match found {
            Some(token) if token.is_alive(engine.clock().now()) => return Ok(AdminToken { text, is_new: false }),
            Some(_) => tracing::warn!("the token in the folder was revoked or has expired: a new one takes its place"),
            None => {
                engine.tokens().replace(wanted(node), &text).await.map_err(unkept)?;
                return Ok(AdminToken { text, is_new: false });
            }
        }
    }
    let text = mint(Role::Admin).map_err(unkept)?;
    // First the file: a token that is in the store only could be used by nobody.
    folder.write_token(text.expose())?;
    engine.tokens().replace(wanted(node), &text).await.map_err(unkept)?;
    Ok(AdminToken { text, is_new: true })
}

fn unkept(error: impl std::fmt::Display) -> Error {
    Error::failed("the admin token cannot be kept").detail(error.to_string())
}

fn wanted(node: &str) -> TokenRequest {
    TokenRequest {
        name: name(node),
        role: Role::Admin,
        expires_at: None,
        by: "serve".into(),
        scope: Default::default(),
    }
}

/// `admin@node`; what a name of a token cannot hold becomes `-`.
fn name(node: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '-' };
    format!("admin@{node}")
        .chars()
        .enumerate()
        .map(|(at, c)| if at == 5 { '@' } else { plain(c) })
        .take(TOKEN_NAME_MAX_BYTES)
        .collect()
}

/// How to get in with a browser. A link holds the token: it goes to a person, not into a log that machines keep.
pub(super) fn say_how_to_log_in(url: &str, token: &AdminToken, log: LogStyle) {
    let is_watched = std::io::stderr().is_terminal();
    let is_of_a_service = ["JOURNAL_STREAM", "INVOCATION_ID"].iter().any(|name| std::env::var_os(name).is_some());
    let is_logged = is_of_a_service || log == LogStyle::Json;
    if is_watched || (token.is_new && !is_logged) {
        eprintln!("  log in with a browser:     {}/login?token={}", reachable(url), token.text.expose());
    } else if token.is_new {
        tracing::info!(login = %format!("{}/login", reachable(url)), "made an admin token: it is in .ordo/token");
    }
}

/// An address that stands for all of them is not one that a browser can open.
fn reachable(url: &str) -> String {
    url.replace("://0.0.0.0:", "://127.0.0.1:").replace("://[::]:", "://[::1]:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_node_has_a_name_for_its_token() {
        assert_eq!(name("local"), "admin@local");
        assert_eq!(name("rack 7/ä@x"), "admin@rack-7---x");
        assert_eq!(name(&"n".repeat(500)).len(), TOKEN_NAME_MAX_BYTES);
    }

    #[test]
    fn a_link_can_be_opened() {
        assert_eq!(reachable("http://0.0.0.0:7070"), "http://127.0.0.1:7070");
        assert_eq!(reachable("http://[::]:7070"), "http://[::1]:7070");
        assert_eq!(reachable("http://10.0.0.5:7070"), "http://10.0.0.5:7070");
    }
}
