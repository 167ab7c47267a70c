//! Every way the server says no, by a name that never changes. Each has a page in `docs/errors/`.

use axum::http::StatusCode;

/// What a problem is about. Clients branch on it; the text beside it may improve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    InvalidJson,
    InvalidHeader,
    HookUnverified,
    Unauthorized,
    HostRefused,
    OriginRefused,
    Forbidden,
    RouteNotFound,
    JobNotFound,
    RunNotFound,
    StreamNotFound,
    HookNotFound,
    DeliveryNotFound,
    NodeNotFound,
    SecretNotFound,
    TokenNotFound,
    MethodNotAllowed,
    RequestTimeout,
    WrongState,
    RunOver,
    StaleToken,
    TooManyBackfills,
    Contended,
    MaintenanceRefused,
    HookExists,
    PayloadGone,
    TokenExists,
    StreamTrimmed,
    RevisionMoved,
    BodyTooLarge,
    HeadersTooLarge,
    UnsupportedMediaType,
    InvalidBody,
    InvalidQuery,
    InvalidCursor,
    InvalidJob,
    UnknownTool,
    InvalidToolInput,
    InvalidHook,
    UnknownSecret,
    InvalidSecret,
    InvalidToken,
    BatchTooLarge,
    IdempotencyKeyReused,
    IdempotencyKeyUnsupported,
    RateLimited,
    Internal,
    StoreDamaged,
    MaintenanceFailed,
    StoreUnavailable,
    HookSecretUnavailable,
    SecretsUnavailable,
    ShuttingDown,
    NotReady,
}

impl Code {
    pub const ALL: [Code; 54] = [
        Code::InvalidJson,
        Code::InvalidHeader,
        Code::HookUnverified,
        Code::Unauthorized,
        Code::HostRefused,
        Code::OriginRefused,
        Code::Forbidden,
        Code::RouteNotFound,
        Code::JobNotFound,
        Code::RunNotFound,
        Code::StreamNotFound,
        Code::HookNotFound,
        Code::DeliveryNotFound,
        Code::NodeNotFound,
        Code::SecretNotFound,
        Code::TokenNotFound,
        Code::MethodNotAllowed,
        Code::RequestTimeout,
        Code::WrongState,
        Code::RunOver,
        Code::StaleToken,
        Code::TooManyBackfills,
        Code::Contended,
        Code::MaintenanceRefused,
        Code::HookExists,
        Code::PayloadGone,
        Code::TokenExists,
        Code::StreamTrimmed,
        Code::RevisionMoved,
        Code::BodyTooLarge,
        Code::HeadersTooLarge,
        Code::UnsupportedMediaType,
        Code::InvalidBody,
        Code::InvalidQuery,
        Code::InvalidCursor,
        Code::InvalidJob,
        Code::UnknownTool,
        Code::InvalidToolInput,
        Code::InvalidHook,
        Code::UnknownSecret,
        Code::InvalidSecret,
        Code::InvalidToken,
        Code::BatchTooLarge,
        Code::IdempotencyKeyReused,
        Code::IdempotencyKeyUnsupported,
        Code::RateLimited,
        Code::Internal,
        Code::StoreDamaged,
        Code::MaintenanceFailed,
        Code::StoreUnavailable,
        Code::HookSecretUnavailable,
        Code::SecretsUnavailable,
        Code::ShuttingDown,
        Code::NotReady,
    ];

    pub const fn text(self) -> &'static str {
        match self {
            Code::InvalidJson => "invalid_json",
            Code::InvalidHeader => "invalid_header",
            Code::HookUnverified => "hook_unverified",
            Code::Unauthorized => "unauthorized",
            Code::HostRefused => "host_refused",
            Code::OriginRefused => "origin_refused",
            Code::Forbidden => "forbidden",
            Code::RouteNotFound => "route_not_found",
            Code::JobNotFound => "job_not_found",
            Code::RunNotFound => "run_not_found",
            Code::StreamNotFound => "stream_not_found",
            Code::HookNotFound => "hook_not_found",
            Code::DeliveryNotFound => "delivery_not_found",
            Code::NodeNotFound => "node_not_found",
            Code::SecretNotFound => "secret_not_found",
            Code::TokenNotFound => "token_not_found",
            Code::MethodNotAllowed => "method_not_allowed",
            Code::RequestTimeout => "request_timeout",
            Code::WrongState => "wrong_state",
            Code::RunOver => "run_over",
            Code::StaleToken => "stale_token",
            Code::TooManyBackfills => "too_many_backfills",
            Code::Contended => "contended",
            Code::MaintenanceRefused => "maintenance_refused",
            Code::HookExists => "hook_exists",
            Code::PayloadGone => "payload_gone",
            Code::TokenExists => "token_exists",
            Code::StreamTrimmed => "stream_trimmed",
            Code::RevisionMoved => "revision_moved",
            Code::BodyTooLarge => "body_too_large",
            Code::HeadersTooLarge => "headers_too_large",
            Code::UnsupportedMediaType => "unsupported_media_type",
            Code::InvalidBody => "invalid_body",
            Code::InvalidQuery => "invalid_query",
            Code::InvalidCursor => "invalid_cursor",
            Code::InvalidJob => "invalid_job",
            Code::UnknownTool => "unknown_tool",
            Code::InvalidToolInput => "invalid_tool_input",
            Code::InvalidHook => "invalid_hook",
            Code::UnknownSecret => "unknown_secret",
            Code::InvalidSecret => "invalid_secret",
            Code::InvalidToken => "invalid_token",
            Code::BatchTooLarge => "batch_too_large",
            Code::IdempotencyKeyReused => "idempotency_key_reused",
            Code::IdempotencyKeyUnsupported => "idempotency_key_unsupported",
            Code::RateLimited => "rate_limited",
            Code::Internal => "internal",
            Code::StoreDamaged => "store_damaged",
            Code::MaintenanceFailed => "maintenance_failed",
            Code::StoreUnavailable => "store_unavailable",
            Code::HookSecretUnavailable => "hook_secret_unavailable",
            Code::SecretsUnavailable => "secrets_unavailable",
            Code::ShuttingDown => "shutting_down",
            Code::NotReady => "not_ready",
        }
    }

    pub const fn title(self) -> &'static str {
        match self {
            Code::InvalidJson => "The body is not JSON",
            Code::InvalidHeader => "A header cannot be understood",
            Code::HookUnverified => "The signature or token of the delivery is not right",
            Code::Unauthorized => "A valid token is needed",
            Code::HostRefused => "The host is not this machine",
            Code::OriginRefused => "The request comes from another site",
            Code::Forbidden => "The role of the token does not allow this",
            Code::RouteNotFound => "No such route",
            Code::JobNotFound => "No such job",
            Code::RunNotFound => "No such run",
            Code::StreamNotFound => "No such stream",
            Code::HookNotFound => "No such hook",
            Code::DeliveryNotFound => "No such delivery",
            Code::NodeNotFound => "No such node",
            Code::SecretNotFound => "No such secret",
            Code::TokenNotFound => "No such token",
            Code::MethodNotAllowed => "The route does not have this method",
            Code::RequestTimeout => "The body did not arrive in time",
            Code::WrongState => "Not in this state",
            Code::RunOver => "The run is over",
            Code::StaleToken => "The attempt is no longer the current one",
            Code::TooManyBackfills => "Too many backfills under way",
            Code::Contended => "Others kept changing the job",
            Code::MaintenanceRefused => "Not possible as asked",
            Code::HookExists => "The hook exists already",
            Code::PayloadGone => "The payload is no longer kept",
            Code::TokenExists => "The name is taken",
            Code::StreamTrimmed => "The events are no longer kept",
            Code::RevisionMoved => "The job was changed by somebody else",
            Code::BodyTooLarge => "The body is too large",
            Code::HeadersTooLarge => "The headers are too large",
            Code::UnsupportedMediaType => "The body must be JSON",
            Code::InvalidBody => "The body does not have the right shape",
            Code::InvalidQuery => "A query parameter is not right",
            Code::InvalidCursor => "Not a cursor of this list",
            Code::InvalidJob => "The job is not right",
            Code::UnknownTool => "No such tool",
            Code::InvalidToolInput => "The tool does not take this input",
            Code::InvalidHook => "The hook is not right",
            Code::UnknownSecret => "The job refers to a secret that is not there",
            Code::InvalidSecret => "The secret is not right",
            Code::InvalidToken => "The token is not right",
            Code::BatchTooLarge => "Too many jobs in one batch",
            Code::IdempotencyKeyReused => "The key was used for something else",
            Code::IdempotencyKeyUnsupported => "This route takes no idempotency key",
            Code::RateLimited => "Too many requests",
            Code::Internal => "A mistake of the server",
            Code::StoreDamaged => "The store is damaged",
            Code::MaintenanceFailed => "The work on the store failed",
            Code::StoreUnavailable => "The store is unavailable",
            Code::HookSecretUnavailable => "The hook's secret cannot be read",
            Code::SecretsUnavailable => "The key for secrets cannot be used",
            Code::ShuttingDown => "The server is shutting down",
            Code::NotReady => "The server is not ready yet",
        }
    }

    pub const fn status(self) -> StatusCode {
        match self {
            Code::InvalidJson | Code::InvalidHeader => StatusCode::BAD_REQUEST,
            Code::Unauthorized | Code::HookUnverified => StatusCode::UNAUTHORIZED,
            Code::HostRefused | Code::OriginRefused | Code::Forbidden => StatusCode::FORBIDDEN,
            Code::RouteNotFound
            | Code::JobNotFound
            | Code::RunNotFound
            | Code::StreamNotFound
            | Code::HookNotFound
            | Code::DeliveryNotFound
            | Code::NodeNotFound
            | Code::SecretNotFound
            | Code::TokenNotFound => StatusCode::NOT_FOUND,
            Code::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Code::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            Code::WrongState
            | Code::RunOver
            | Code::StaleToken
            | Code::TooManyBackfills
            | Code::Contended
            | Code::MaintenanceRefused
            | Code::HookExists
            | Code::PayloadGone
            | Code::TokenExists => StatusCode::CONFLICT,
            Code::StreamTrimmed => StatusCode::GONE,
            Code::RevisionMoved => StatusCode::PRECONDITION_FAILED,
            Code::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Code::HeadersTooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Code::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Code::InvalidBody
            | Code::InvalidQuery
            | Code::InvalidCursor
            | Code::InvalidJob
            | Code::UnknownTool
            | Code::InvalidToolInput
            | Code::InvalidHook
            | Code::UnknownSecret
            | Code::InvalidSecret
            | Code::InvalidToken
            | Code::BatchTooLarge
            | Code::IdempotencyKeyReused
            | Code::IdempotencyKeyUnsupported => StatusCode::UNPROCESSABLE_ENTITY,
            Code::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            Code::Internal | Code::StoreDamaged | Code::MaintenanceFailed => StatusCode::INTERNAL_SERVER_ERROR,
            Code::StoreUnavailable
            | Code::HookSecretUnavailable
            | Code::SecretsUnavailable
            | Code::ShuttingDown
            | Code::NotReady => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// After how many seconds trying again may help.
    pub const fn retry_after_secs(self) -> Option<u32> {
        match self {
            Code::StoreUnavailable | Code::HookSecretUnavailable | Code::ShuttingDown => Some(5),
            Code::NotReady | Code::Contended | Code::RateLimited => Some(1),
            _ => None,
        }
    }
}
