//! Hooks and deliveries. A secret is named, never shown.

use ordo_model::hook::{Bound, Delivery, DeliveryOutcome, Filter, Hook, Scheme, Verify};
use ordo_model::strict::TextOr;
use ordo_model::{EntityId, JobId, Kind, RunId, Timestamp};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AnyOfBuilder, ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};
use uuid::Uuid;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewHook {
    pub slug: String,
    /// Without it whoever knows the address may call the hook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<NewVerify>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filter>,
    /// A larger payload is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

/// Fields that are left out stay as they are. Null takes away what may be absent: `"verify": null` is the only way to
/// drop the verification.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HookPatch {
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NewVerify>)]
    pub verify: Option<Option<NewVerify>>,
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Filter>)]
    pub filter: Option<Option<Filter>>,
    /// Null: the default.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>)]
    pub max_bytes: Option<Option<u64>>,
}

/// Distinguishes a field that is null from one that is not there.
pub(crate) fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

/// How a hook verifies its senders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewVerify {
    pub r#type: SchemeName,
    pub secret: GivenSecret,
    /// For `hmac`: where the signature stands; `X-Signature-256` or `X-Signature` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SchemeName {
    Github,
    Slack,
    Stripe,
    Standard,
    Hmac,
    Bearer,
}

impl SchemeName {
    pub const fn of(scheme: &Scheme) -> SchemeName {
        match scheme {
            Scheme::Github => SchemeName::Github,
            Scheme::Slack => SchemeName::Slack,
            Scheme::Stripe => SchemeName::Stripe,
            Scheme::Standard => SchemeName::Standard,
            Scheme::Hmac { .. } => SchemeName::Hmac,
            Scheme::Bearer => SchemeName::Bearer,
        }
    }

    /// Only a verification by hmac has a header of its own.
    pub fn with_header(self, header: Option<String>) -> Option<Scheme> {
        match (self, header) {
            (SchemeName::Hmac, header) => Some(Scheme::Hmac { header }),
            (_, Some(_)) => None,
            (SchemeName::Github, None) => Some(Scheme::Github),
            (SchemeName::Slack, None) => Some(Scheme::Slack),
            (SchemeName::Stripe, None) => Some(Scheme::Stripe),
            (SchemeName::Standard, None) => Some(Scheme::Standard),
            (SchemeName::Bearer, None) => Some(Scheme::Bearer),
        }
    }
}

/// The secret itself as a text, or the name of one that is kept.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GivenSecret(pub TextOr<SecretReference>);

impl std::fmt::Debug for GivenSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            TextOr::Text(_) => f.write_str("a secret"),
            TextOr::Object(reference) => reference.fmt(f),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretReference {
    /// Its name.
    pub secret: String,
}

impl PartialSchema for GivenSecret {
    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new().schema_type(Type::String).min_length(Some(1));
        let reference = utoipa::openapi::Ref::from_schema_name(SecretReference::name());
        let either = AnyOfBuilder::new().item(text).item(reference);
        either.description(Some("The secret itself, or the name of one that is kept.")).into()
    }
}

impl ToSchema for GivenSecret {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((SecretReference::name().into_owned(), SecretReference::schema()));
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Hook)]
pub struct HookView {
    pub slug: String,
    /// Where others call.
    pub path: String,
    #[schema(required)]
    pub verify: Option<VerifyView>,
    #[schema(required)]
    pub filter: Option<Filter>,
    pub max_bytes: u64,
    /// The jobs that listen.
    pub jobs: Vec<JobId>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// How a hook knows its senders: the secret by its name only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Verify)]
pub struct VerifyView {
    pub r#type: SchemeName,
    pub secret: SecretReference,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
}

impl VerifyView {
    fn of(verify: &Verify) -> VerifyView {
        let header = match &verify.scheme {
            Scheme::Hmac { header } => header.clone(),
            Scheme::Github | Scheme::Slack | Scheme::Stripe | Scheme::Standard | Scheme::Bearer => None,
        };
        let secret = SecretReference { secret: verify.secret.clone() };
        VerifyView { r#type: SchemeName::of(&verify.scheme), secret, header }
    }
}

impl HookView {
    pub fn of(hook: &Hook, jobs: Vec<JobId>) -> HookView {
        HookView {
            slug: hook.slug.clone(),
            path: format!("/hooks/{}", hook.slug),
            verify: hook.terms.verify.as_ref().map(VerifyView::of),
            filter: hook.terms.filter.clone(),
            max_bytes: hook.terms.max_bytes,
            jobs,
            created_at: hook.created_at,
            updated_at: hook.updated_at,
        }
    }
}

/// One call of a hook, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Delivery)]
pub struct DeliveryView {
    pub id: Uuid,
    pub hook: String,
    /// How the sender names it.
    #[schema(required)]
    pub sender_id: Option<String>,
    #[schema(required)]
    pub content_type: Option<String>,
    pub bytes: u64,
    pub received_at: Timestamp,
    pub expires_at: Timestamp,
    /// `received`, `running`, `done`, `failed`, `unheard` or `filtered`.
    pub status: String,
    /// Whether it can be replayed.
    pub has_payload: bool,
    pub replays: u32,
    /// Of the arrival, or of the last replay.
    pub runs: Vec<DeliveryRun>,
    pub stream: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeliveryRun {
    pub job_id: JobId,
    #[schema(required)]
    pub run_id: Option<RunId>,
    /// `waiting`, `running`, how the run ended, or `refused`.
    pub status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl DeliveryView {
    pub fn of(id: Uuid, delivery: &Delivery) -> DeliveryView {
        DeliveryView {
            id,
            hook: delivery.hook.clone(),
            sender_id: delivery.sender_id.clone(),
            content_type: delivery.content_type.clone(),
            bytes: delivery.bytes,
            received_at: delivery.received_at,
            expires_at: delivery.expires_at(),
            status: delivery.status().to_owned(),
            has_payload: delivery.payload.is_some(),
            replays: delivery.replays,
            runs: delivery.bound.iter().map(DeliveryRun::of).collect(),
            stream: EntityId { kind: Kind::Delivery, id }.to_string(),
        }
    }
}

impl DeliveryRun {
    fn of(bound: &Bound) -> DeliveryRun {
        let (run_id, status, reason) = match &bound.outcome {
            DeliveryOutcome::Waiting => (None, "waiting", None),
            DeliveryOutcome::Running { run } => (Some(*run), "running", None),
            DeliveryOutcome::Ended { run, status } => (Some(*run), status.as_str(), None),
            DeliveryOutcome::Refused { reason } => (None, "refused", Some(reason.clone())),
        };
        DeliveryRun { job_id: bound.job, run_id, status: status.to_owned(), reason }
    }
}

/// The delivery, durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeliveryReceived {
    pub id: Uuid,
    /// It came before: nothing more happens.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

/// The answer to Slack's question whether somebody is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SlackChallenge {
    pub challenge: String,
}
