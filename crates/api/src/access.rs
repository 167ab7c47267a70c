//! Secrets and tokens. The value of a secret only ever goes in; the text of a token is answered once.

use std::collections::BTreeSet;

use ordo_model::api_token::ApiToken;
use ordo_model::secret::Secret;
use ordo_model::{Millis, Right, Role, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretValue {
    #[schema(write_only)]
    pub value: String,
}

impl std::fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretValue")
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Secret)]
pub struct SecretView {
    pub name: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl SecretView {
    pub fn of(secret: &Secret) -> SecretView {
        SecretView { name: secret.name.clone(), created_at: secret.created_at, updated_at: secret.updated_at }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Resealed {
    /// How many there are.
    pub secrets: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    pub name: String,
    #[schema(value_type = Role)]
    pub role: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<Millis>,
    /// The groups that executors with this token may serve; any when left out. For the role `executor` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<BTreeSet<String>>,
    /// The tools that executors with this token may offer; any when left out. For the role `executor` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<BTreeSet<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ApiToken)]
pub struct TokenView {
    pub id: Uuid,
    pub name: String,
    pub role: Role,
    pub state: TokenState,
    /// How the token begins.
    pub prefix: String,
    pub created_at: Timestamp,
    /// The name of the token that made it; `local`: the socket.
    pub created_by: String,
    #[schema(required)]
    pub expires_at: Option<Timestamp>,
    #[schema(required)]
    pub last_used_at: Option<Timestamp>,
    #[schema(required)]
    pub revoked_at: Option<Timestamp>,
    /// Whom executors with this token may serve, in words; only of tokens that executors may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serves: Option<String>,
    /// The groups that executors with this token may serve; left out: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<BTreeSet<String>>,
    /// The tools that executors with this token may offer; left out: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<BTreeSet<String>>,
    /// The token itself: only in the answer to the request that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TokenState {
    Active,
    Expired,
    Revoked,
}

impl TokenView {
    pub fn of(id: Uuid, token: &ApiToken, now: Timestamp) -> TokenView {
        let state = match (token.revoked_at, token.is_alive(now)) {
            (Some(_), _) => TokenState::Revoked,
            (None, true) => TokenState::Active,
            (None, false) => TokenState::Expired,
        };
        TokenView {
            id,
            name: token.name.clone(),
            role: token.role,
            state,
            prefix: token.prefix.clone(),
            created_at: token.created_at,
            created_by: token.created_by.clone(),
            expires_at: token.expires_at,
            last_used_at: token.last_used_at,
            revoked_at: token.revoked_at,
            serves: token.role.may(Right::Execute).then(|| token.scope.to_string()),
            groups: token.scope.groups.clone(),
            tools: token.scope.tools.clone(),
            token: None,
        }
    }
}

/// What the login page sends, as a form.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LoginForm {
    pub token: String,
    /// The path to go to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl std::fmt::Debug for LoginForm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoginForm").field("next", &self.next).finish_non_exhaustive()
    }
}
