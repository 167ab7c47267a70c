//! How a hook verifies its senders, the secret apart from its name.
//!
//! Invariant: whoever is no admin brings a secret with the hook, or leaves the hook the one it has. Which other secrets
//! there are he does not learn.

use ordo_api::Code;
use ordo_api::hooks::{GivenSecret, NewVerify, SecretReference};
use ordo_engine::secrets::SecretsError;
use ordo_model::Right;
use ordo_model::hook::Verify;
use ordo_model::secret::is_shared_name;
use ordo_model::strict::TextOr;

use crate::api::hooks;
use crate::auth::caller::Caller;
use crate::http::problem::Problem;

pub(super) struct HookRequest {
    pub(super) verify: Verify,
    /// A secret that was given with the hook: to be kept under the hook's own name for it.
    pub(super) secret: Option<String>,
}

impl HookRequest {
    pub(super) fn of(asked: NewVerify, own_secret: &str, caller: &Caller) -> Result<HookRequest, Problem> {
        let with_header = || Problem::field(Code::InvalidHook, "verify.header", "only a verification by hmac has one");
        let scheme = asked.r#type.with_header(asked.header).ok_or_else(with_header)?;
        match asked.secret {
            GivenSecret(TextOr::Text(value)) if value.trim().is_empty() => {
                Err(Problem::field(Code::InvalidHook, "verify.secret", "must not be empty"))
            }
            GivenSecret(TextOr::Text(value)) => {
                Ok(HookRequest { verify: Verify { scheme, secret: own_secret.to_owned() }, secret: Some(value) })
            }
            GivenSecret(TextOr::Object(SecretReference { secret }))
                if secret != own_secret && !caller.may(Right::Administer) =>
            {
                let detail = "only an admin may have a hook use a secret that is not its own: give the secret itself";
                Err(Problem::new(Code::Forbidden, detail))
            }
            GivenSecret(TextOr::Object(SecretReference { secret }))
                if secret != own_secret && !is_shared_name(&secret) =>
            {
                Err(hooks::of_secrets(SecretsError::Unknown { name: secret }))
            }
            GivenSecret(TextOr::Object(SecretReference { secret })) => {
                Ok(HookRequest { verify: Verify { scheme, secret }, secret: None })
            }
        }
    }
}
