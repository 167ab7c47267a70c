//! How a hook verifies its senders, the secret apart from its name.

use ordo_api::Code;
use ordo_api::hooks::{GivenSecret, NewVerify, SecretReference};
use ordo_model::hook::Verify;
use ordo_model::strict::TextOr;

use crate::http::problem::Problem;

pub(super) struct HookRequest {
    pub(super) verify: Verify,
    /// A secret that was given with the hook: to be kept under the hook's own name for it.
    pub(super) secret: Option<String>,
}

impl HookRequest {
    pub(super) fn of(asked: NewVerify, own_secret: &str) -> Result<HookRequest, Problem> {
        let with_header = || Problem::field(Code::InvalidHook, "verify.header", "only a verification by hmac has one");
        let scheme = asked.r#type.with_header(asked.header).ok_or_else(with_header)?;
        match asked.secret {
            GivenSecret(TextOr::Text(value)) if value.trim().is_empty() => {
                Err(Problem::field(Code::InvalidHook, "verify.secret", "must not be empty"))
            }
            GivenSecret(TextOr::Text(value)) => {
                Ok(HookRequest { verify: Verify { scheme, secret: own_secret.to_owned() }, secret: Some(value) })
            }
            GivenSecret(TextOr::Object(SecretReference { secret })) => {
                Ok(HookRequest { verify: Verify { scheme, secret }, secret: None })
            }
        }
    }
}
