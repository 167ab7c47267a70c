//! Tokens of the API: made here, found by their hash, noted when used.
//!
//! Invariant: the text of a token exists where it is made and where it is sent, nowhere else; the store has its hash.

use std::sync::Arc;

use ordo_model::api_token::{ApiToken, ApiTokenCommand, ApiTokenRefusal, NewApiToken};
use ordo_model::executor_scope::ExecutorScope;
use ordo_model::{Role, Timestamp};
use ordo_store::Fault;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::commit::command::SubmitError;
use crate::commit::kinds::api_token::BY_HASH;
use crate::commit::state::Versioned;
use crate::engine::Engine;
use crate::random::{RandomError, random};
use crate::read::object_queries::IndexRange;
use crate::read::page::{Cursor, ListPage};
use crate::run::secrets::SecretText;

/// Digits of the random part: 43 of 62 kinds are worth more than 256 bits.
const DIGITS: usize = 43;
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// How many digits of the random part are shown.
const SHOWN: usize = 6;

/// The hash of a token in hexadecimal digits, as the store knows it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TokenHash([u8; 64]);

impl TokenHash {
    pub fn of(token: &str) -> TokenHash {
        let hash: [u8; 32] = Sha256::digest(token.trim().as_bytes()).into();
        let mut digits = [0; 64];
        hex::encode_to_slice(hash, &mut digits).expect("each byte has two digits");
        TokenHash(digits)
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("digits are text")
    }
}

/// A new token, in the clear: `ordo_a_` and what nobody can guess.
pub fn mint(role: Role) -> Result<SecretText, RandomError> {
    let mut text = format!("ordo_{}_", role.initial());
    let length = text.len() + DIGITS;
    while text.len() < length {
        let bytes: [u8; 64] = random()?;
        // The last bytes would make the first digits likelier than others.
        let fair = bytes.iter().filter(|byte| **byte < 248).map(|byte| ALPHABET[usize::from(byte % 62)]);
        text.extend(fair.take(length - text.len()).map(char::from));
    }
    Ok(SecretText::new(text))
}

/// Whether a text looks like a token that was made here: it cannot have been guessed then.
pub fn is_minted(text: &str) -> bool {
    let random = Role::ALL.iter().find_map(|role| text.trim().strip_prefix(&format!("ordo_{}_", role.initial())));
    random.is_some_and(|random| random.len() == DIGITS && random.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// How a token begins, as far as it may be seen. Of a short one nothing is shown.
fn beginning(token: &str) -> String {
    let shown = match token.strip_prefix("ordo_") {
        Some(_) => "ordo_a_".len() + SHOWN,
        None => SHOWN,
    };
    if token.len() < 4 * SHOWN { String::new() } else { token.chars().take(shown).collect() }
}

/// What a token is made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRequest {
    pub name: String,
    pub role: Role,
    pub expires_at: Option<Timestamp>,
    /// Who asked for it.
    pub by: String,
    /// Whom executors that register with it may serve.
    pub scope: ExecutorScope,
}

/// Why a token could not be made, found or revoked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TokensError {
    #[error(transparent)]
    Submit(#[from] SubmitError<ApiTokenRefusal>),
    #[error(transparent)]
    Random(#[from] RandomError),
}

impl From<Fault> for TokensError {
    fn from(fault: Fault) -> TokensError {
        TokensError::Submit(fault.into())
    }
}

/// The tokens of one engine. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Tokens {
    engine: Engine,
}

impl Tokens {
    pub(crate) fn new(engine: Engine) -> Tokens {
        Tokens { engine }
    }

    /// A new token; its text is returned this once.
    pub async fn issue(&self, wanted: TokenRequest) -> Result<(SecretText, Arc<Versioned<ApiToken>>), TokensError> {
        let text = mint(wanted.role)?;
        let command = ApiTokenCommand::Issue(described(wanted, &text));
        Ok((text, self.command(command).await?))
    }

    /// Lets in whoever has this text from now on; another token of the name ends.
    pub async fn replace(
        &self,
        wanted: TokenRequest,
        text: &SecretText,
    ) -> Result<Arc<Versioned<ApiToken>>, TokensError> {
        self.command(ApiTokenCommand::Replace(described(wanted, text))).await
    }

    async fn command(&self, command: ApiTokenCommand) -> Result<Arc<Versioned<ApiToken>>, TokensError> {
        let (ApiTokenCommand::Issue(new) | ApiTokenCommand::Replace(new)) = &command else {
            return Err(SubmitError::Refused(ApiTokenRefusal::NoSuchToken).into());
        };
        let id = ApiToken::id(&new.name).id;
        Ok(self.engine.command::<ApiToken>(id, command).await?.state)
    }

    /// The token with this hash, alive or not.
    pub async fn by_hash(&self, hash: &TokenHash) -> Result<Option<Versioned<ApiToken>>, TokensError> {
        let prefix = [&hash.0[..], &[0]].concat();
        let section = IndexRange { prefix: &prefix, ..IndexRange::all(BY_HASH, 1) };
        let found: ListPage<Versioned<ApiToken>> = self.engine.queries().objects(&section).await?;
        Ok(found.items.into_iter().next().filter(|token| token.hash == hash.as_str()))
    }

    pub async fn by_id(&self, id: Uuid) -> Result<Option<Versioned<ApiToken>>, TokensError> {
        Ok(self.engine.queries().object(id).await?)
    }

    /// By name.
    pub async fn list(
        &self,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<ListPage<Versioned<ApiToken>>, TokensError> {
        Ok(self.engine.queries().objects(&IndexRange { after, ..IndexRange::all(0, limit) }).await?)
    }

    pub async fn revoke(&self, id: Uuid) -> Result<Arc<Versioned<ApiToken>>, TokensError> {
        Ok(self.engine.command::<ApiToken>(id, ApiTokenCommand::Revoke).await?.state)
    }

    /// A browser's session with it ends before its time.
    pub async fn end_session(&self, id: Uuid, session: Uuid, until: Timestamp) -> Result<(), TokensError> {
        self.engine.command::<ApiToken>(id, ApiTokenCommand::EndSession { session, until }).await?;
        Ok(())
    }

    /// It was used. At most once an hour this is written down.
    pub async fn note(&self, id: Uuid) -> Result<(), TokensError> {
        self.engine.command::<ApiToken>(id, ApiTokenCommand::Note).await?;
        Ok(())
    }
}

fn described(wanted: TokenRequest, text: &SecretText) -> NewApiToken {
    let TokenRequest { name, role, expires_at, by, scope } = wanted;
    let hash = TokenHash::of(text.expose()).as_str().to_owned();
    NewApiToken { name, role, hash, prefix: beginning(text.expose().trim()), created_by: by, expires_at, scope }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_says_what_it_is_and_nothing_else() {
        let (one, other) = (mint(Role::Viewer).unwrap(), mint(Role::Viewer).unwrap());
        assert_ne!(one.expose(), other.expose());
        let random = one.expose().strip_prefix("ordo_v_").unwrap();
        assert_eq!(random.len(), DIGITS);
        assert!(random.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        assert_eq!(beginning(one.expose()), one.expose()[..13]);
        assert_eq!(beginning("s3cret"), "", "a short token is not shown by half");
        assert!(is_minted(one.expose()) && !is_minted("s3cret") && !is_minted("ordo_v_short"));
    }

    #[test]
    fn a_token_from_a_file_has_the_same_hash() {
        assert_eq!(TokenHash::of("abc\n"), TokenHash::of("abc"));
        assert_ne!(TokenHash::of("abc"), TokenHash::of("abd"));
    }
}
