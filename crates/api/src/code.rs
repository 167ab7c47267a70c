//! Every way the server says no, by a name that never changes. Each has a page in `docs/errors/`.

use std::borrow::Cow;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// One line per code: its name here, its status, its name on the wire, its title. In the order of status.
macro_rules! codes {
    ($($name:ident { $status:literal, $text:literal, $title:literal })+) => {
        /// What a problem is about. Clients branch on it; the text beside it may improve.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code {
            $($name,)+
        }

        impl Code {
            pub const ALL: [Code; [$($status),+].len()] = [$(Code::$name),+];

            pub const fn text(self) -> &'static str {
                match self {
                    $(Code::$name => $text,)+
                }
            }

            pub const fn title(self) -> &'static str {
                match self {
                    $(Code::$name => $title,)+
                }
            }

            /// The HTTP status that goes with it.
            pub const fn status(self) -> u16 {
                match self {
                    $(Code::$name => $status,)+
                }
            }
        }
    };
}

codes! {
    InvalidJson { 400, "invalid_json", "The body is not JSON" }
    InvalidHeader { 400, "invalid_header", "A header cannot be understood" }
    HookUnverified { 401, "hook_unverified", "The signature or token of the delivery is invalid" }
    Unauthorized { 401, "unauthorized", "A valid token is needed" }
    SlackSignatureInvalid { 401, "slack_signature_invalid", "Not signed as Slack signs" }
    HostRefused { 403, "host_refused", "The host is not this machine" }
    OriginRefused { 403, "origin_refused", "The request comes from another site" }
    Forbidden { 403, "forbidden", "The role of the token does not allow this" }
    RouteNotFound { 404, "route_not_found", "No such route" }
    JobNotFound { 404, "job_not_found", "No such job" }
    RunNotFound { 404, "run_not_found", "No such run" }
    StreamNotFound { 404, "stream_not_found", "No such stream" }
    ExecutorNotFound { 404, "executor_not_found", "No such executor" }
    HookNotFound { 404, "hook_not_found", "No such hook" }
    DeliveryNotFound { 404, "delivery_not_found", "No such delivery" }
    RevisionNotFound { 404, "revision_not_found", "No such revision" }
    NodeNotFound { 404, "node_not_found", "No such node" }
    SecretNotFound { 404, "secret_not_found", "No such secret" }
    TokenNotFound { 404, "token_not_found", "No such token" }
    IncidentNotFound { 404, "incident_not_found", "No such incident" }
    NotificationNotFound { 404, "notification_not_found", "No such notification" }
    MonitorNotFound { 404, "monitor_not_found", "No such monitor" }
    SlackNotConfigured { 404, "slack_not_configured", "Slack is not configured" }
    XxlNotConfigured { 404, "xxl_not_configured", "Executors of XXL-JOB are not served" }
    SilenceNotFound { 404, "silence_not_found", "No such silence" }
    ChannelNotFound { 404, "channel_not_found", "No such channel" }
    EscalationNotFound { 404, "escalation_not_found", "No such escalation chain" }
    SubscriptionNotFound { 404, "subscription_not_found", "No such subscription" }
    MethodNotAllowed { 405, "method_not_allowed", "The route does not have this method" }
    RequestTimeout { 408, "request_timeout", "The body did not arrive in time" }
    WrongState { 409, "wrong_state", "Not in this state" }
    RunOver { 409, "run_over", "The run is over" }
    StaleToken { 409, "stale_token", "The attempt is no longer the current one" }
    TooManyBackfills { 409, "too_many_backfills", "Too many backfills under way" }
    UniqueKeyTaken { 409, "unique_key_taken", "There is one with this key already" }
    Contended { 409, "contended", "Others kept changing the job" }
    MaintenanceRefused { 409, "maintenance_refused", "Not possible as asked" }
    HookExists { 409, "hook_exists", "The hook exists already" }
    ChannelExists { 409, "channel_exists", "The channel exists already" }
    EscalationExists { 409, "escalation_exists", "The escalation chain exists already" }
    PayloadGone { 409, "payload_gone", "The payload is no longer kept" }
    TokenExists { 409, "token_exists", "The name is taken" }
    TooManyExecutors { 409, "too_many_executors", "Too many executors" }
    TooManyChannels { 409, "too_many_channels", "Too many channels" }
    TooManyEscalations { 409, "too_many_escalations", "Too many escalation chains" }
    TooManySilences { 409, "too_many_silences", "Too many silences" }
    TooManySubscriptions { 409, "too_many_subscriptions", "Too many subscriptions" }
    RevisionGone { 410, "revision_gone", "The revision is no longer kept" }
    StreamTrimmed { 410, "stream_trimmed", "The events are no longer kept" }
    RevisionMoved { 412, "revision_moved", "The job was changed by somebody else" }
    BodyTooLarge { 413, "body_too_large", "The body is too large" }
    UnsupportedMediaType { 415, "unsupported_media_type", "The body must be JSON" }
    InvalidBody { 422, "invalid_body", "The body does not have the right shape" }
    InvalidQuery { 422, "invalid_query", "A query parameter is invalid" }
    InvalidCursor { 422, "invalid_cursor", "Not a cursor of this list" }
    InvalidJob { 422, "invalid_job", "The job is invalid" }
    UnknownTool { 422, "unknown_tool", "No such tool" }
    InvalidToolInput { 422, "invalid_tool_input", "The tool does not take this input" }
    InvalidHook { 422, "invalid_hook", "The hook is invalid" }
    BatchTooLarge { 422, "batch_too_large", "Too many jobs in one batch" }
    IdempotencyKeyReused { 422, "idempotency_key_reused", "The key was used for something else" }
    IdempotencyKeyUnsupported { 422, "idempotency_key_unsupported", "This route takes no idempotency key" }
    UnknownSecret { 422, "unknown_secret", "The job refers to a secret that is not there" }
    InvalidSecret { 422, "invalid_secret", "The secret is invalid" }
    InvalidToken { 422, "invalid_token", "The token is invalid" }
    InvalidIncident { 422, "invalid_incident", "The incident is invalid" }
    InvalidMonitor { 422, "invalid_monitor", "The monitor is invalid" }
    InvalidSilence { 422, "invalid_silence", "The silence is invalid" }
    InvalidChannel { 422, "invalid_channel", "The channel is invalid" }
    InvalidEscalation { 422, "invalid_escalation", "The escalation chain is invalid" }
    InvalidSubscription { 422, "invalid_subscription", "The subscription is invalid" }
    TooManyStreams { 429, "too_many_streams", "Too many streams" }
    RateLimited { 429, "rate_limited", "Too many requests" }
    HeadersTooLarge { 431, "headers_too_large", "The headers are too large" }
    Internal { 500, "internal", "A mistake of the server" }
    StoreDamaged { 500, "store_damaged", "The store is damaged" }
    MaintenanceFailed { 500, "maintenance_failed", "The work on the store failed" }
    StoreUnavailable { 503, "store_unavailable", "The store is unavailable" }
    HookSecretUnavailable { 503, "hook_secret_unavailable", "The hook's secret cannot be read" }
    Overloaded { 503, "overloaded", "Too many commands are waiting to be written" }
    ShuttingDown { 503, "shutting_down", "The server is shutting down" }
    NotReady { 503, "not_ready", "The server is not ready yet" }
    SecretsUnavailable { 503, "secrets_unavailable", "The key for secrets cannot be used" }
}

impl Code {
    /// After how many seconds trying again may help.
    pub const fn retry_after_secs(self) -> Option<u32> {
        match self {
            Code::StoreUnavailable | Code::HookSecretUnavailable | Code::ShuttingDown => Some(5),
            Code::Contended | Code::RateLimited | Code::TooManyStreams | Code::NotReady | Code::Overloaded => Some(1),
            _ => None,
        }
    }
}

/// The names on the wire.
impl PartialSchema for Code {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::String).enum_values(Some(Code::ALL.map(Code::text))).into()
    }
}

impl ToSchema for Code {
    fn name() -> Cow<'static, str> {
        "ErrorCode".into()
    }
}
