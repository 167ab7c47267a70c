//! A hook as it is asked for.

use ordo_model::hook::{Filter, HookTerms, Scheme, Verify};
use ordo_model::limits::PAYLOAD_DEFAULT_BYTES;
use serde::Deserialize;

use crate::http::code::Code;
use crate::http::problem::Problem;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewHook {
    pub(crate) slug: String,
    #[serde(default)]
    verify: Option<VerifyForm>,
    #[serde(default)]
    filter: Option<Filter>,
    #[serde(default)]
    max_bytes: Option<u64>,
}

/// The same for a hook that is there: all but its slug.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangedHook {
    #[serde(default)]
    verify: Option<VerifyForm>,
    #[serde(default)]
    filter: Option<Filter>,
    #[serde(default)]
    max_bytes: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VerifyForm {
    r#type: String,
    secret: SecretForm,
    #[serde(default)]
    header: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "the secret itself as a text, or {\"secret\": \"name\"}")]
enum SecretForm {
    Text(String),
    Reference(Reference),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reference {
    secret: String,
}

/// What was asked for, the secret apart.
pub(crate) struct Asked {
    pub(crate) terms: HookTerms,
    /// A secret that was given with the hook: to be kept under the hook's own name for it.
    pub(crate) secret: Option<String>,
}

impl NewHook {
    pub(crate) fn asked(self, own_secret: &str) -> Result<(String, Asked), Problem> {
        let NewHook { slug, verify, filter, max_bytes } = self;
        Ok((slug, ChangedHook { verify, filter, max_bytes }.asked(own_secret)?))
    }
}

impl ChangedHook {
    pub(crate) fn asked(self, own_secret: &str) -> Result<Asked, Problem> {
        let max_bytes = self.max_bytes.unwrap_or(PAYLOAD_DEFAULT_BYTES);
        let Some(form) = self.verify else {
            return Ok(Asked { terms: HookTerms { verify: None, filter: self.filter, max_bytes }, secret: None });
        };
        let scheme = scheme(&form.r#type, form.header)?;
        let (secret, value) = match form.secret {
            SecretForm::Text(value) if value.trim().is_empty() => {
                return Err(Problem::field(Code::InvalidHook, "verify.secret", "must not be empty"));
            }
            SecretForm::Text(value) => (own_secret.to_owned(), Some(value)),
            SecretForm::Reference(Reference { secret }) => (secret, None),
        };
        let terms = HookTerms { verify: Some(Verify { scheme, secret }), filter: self.filter, max_bytes };
        Ok(Asked { terms, secret: value })
    }
}

fn scheme(name: &str, header: Option<String>) -> Result<Scheme, Problem> {
    if header.is_some() && name != "hmac" {
        return Err(Problem::field(Code::InvalidHook, "verify.header", "only a verification by hmac has one"));
    }
    match name {
        "github" => Ok(Scheme::Github),
        "slack" => Ok(Scheme::Slack),
        "stripe" => Ok(Scheme::Stripe),
        "standard" => Ok(Scheme::Standard),
        "hmac" => Ok(Scheme::Hmac { header }),
        "bearer" => Ok(Scheme::Bearer),
        _ => {
            let known = Scheme::NAMES.join(", ");
            Err(Problem::field(Code::InvalidHook, "verify.type", format!("must be one of {known}")))
        }
    }
}
