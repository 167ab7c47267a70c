//! Every way the server says no, by a name that never changes. Each has a page in `docs/errors/`.

use axum::http::StatusCode;

/// What a problem is about. Clients branch on it; the text beside it may improve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    InvalidJson,
    InvalidHeader,
    Unauthorized,
    HostRefused,
    RouteNotFound,
    JobNotFound,
    RunNotFound,
    StreamNotFound,
    ExecutorNotFound,
    MethodNotAllowed,
    RequestTimeout,
    WrongState,
    RunOver,
    StaleToken,
    TooManyBackfills,
    UniqueKeyTaken,
    Contended,
    MaintenanceRefused,
    StreamTrimmed,
    RevisionMoved,
    BodyTooLarge,
    UnsupportedMediaType,
    InvalidBody,
    InvalidQuery,
    InvalidCursor,
    InvalidJob,
    UnknownTool,
    InvalidToolInput,
    BatchTooLarge,
    IdempotencyKeyReused,
    IdempotencyKeyUnsupported,
    Internal,
    StoreDamaged,
    MaintenanceFailed,
    StoreUnavailable,
    ShuttingDown,
    NotReady,
}

impl Code {
    pub const ALL: [Code; 37] = [
        Code::InvalidJson,
        Code::InvalidHeader,
        Code::Unauthorized,
        Code::HostRefused,
        Code::RouteNotFound,
        Code::JobNotFound,
        Code::RunNotFound,
        Code::StreamNotFound,
        Code::ExecutorNotFound,
        Code::MethodNotAllowed,
        Code::RequestTimeout,
        Code::WrongState,
        Code::RunOver,
        Code::StaleToken,
        Code::TooManyBackfills,
        Code::UniqueKeyTaken,
        Code::Contended,
        Code::MaintenanceRefused,
        Code::StreamTrimmed,
        Code::RevisionMoved,
        Code::BodyTooLarge,
        Code::UnsupportedMediaType,
        Code::InvalidBody,
        Code::InvalidQuery,
        Code::InvalidCursor,
        Code::InvalidJob,
        Code::UnknownTool,
        Code::InvalidToolInput,
        Code::BatchTooLarge,
        Code::IdempotencyKeyReused,
        Code::IdempotencyKeyUnsupported,
        Code::Internal,
        Code::StoreDamaged,
        Code::MaintenanceFailed,
        Code::StoreUnavailable,
        Code::ShuttingDown,
        Code::NotReady,
    ];

    pub const fn text(self) -> &'static str {
        match self {
            Code::InvalidJson => "invalid_json",
            Code::InvalidHeader => "invalid_header",
            Code::Unauthorized => "unauthorized",
            Code::HostRefused => "host_refused",
            Code::RouteNotFound => "route_not_found",
            Code::JobNotFound => "job_not_found",
            Code::RunNotFound => "run_not_found",
            Code::StreamNotFound => "stream_not_found",
            Code::ExecutorNotFound => "executor_not_found",
            Code::MethodNotAllowed => "method_not_allowed",
            Code::RequestTimeout => "request_timeout",
            Code::WrongState => "wrong_state",
            Code::RunOver => "run_over",
            Code::StaleToken => "stale_token",
            Code::TooManyBackfills => "too_many_backfills",
            Code::UniqueKeyTaken => "unique_key_taken",
            Code::Contended => "contended",
            Code::MaintenanceRefused => "maintenance_refused",
            Code::StreamTrimmed => "stream_trimmed",
            Code::RevisionMoved => "revision_moved",
            Code::BodyTooLarge => "body_too_large",
            Code::UnsupportedMediaType => "unsupported_media_type",
            Code::InvalidBody => "invalid_body",
            Code::InvalidQuery => "invalid_query",
            Code::InvalidCursor => "invalid_cursor",
            Code::InvalidJob => "invalid_job",
            Code::UnknownTool => "unknown_tool",
            Code::InvalidToolInput => "invalid_tool_input",
            Code::BatchTooLarge => "batch_too_large",
            Code::IdempotencyKeyReused => "idempotency_key_reused",
            Code::IdempotencyKeyUnsupported => "idempotency_key_unsupported",
            Code::Internal => "internal",
            Code::StoreDamaged => "store_damaged",
            Code::MaintenanceFailed => "maintenance_failed",
            Code::StoreUnavailable => "store_unavailable",
            Code::ShuttingDown => "shutting_down",
            Code::NotReady => "not_ready",
        }
    }

    pub const fn title(self) -> &'static str {
        match self {
            Code::InvalidJson => "The body is not JSON",
            Code::InvalidHeader => "A header cannot be understood",
            Code::Unauthorized => "A valid token is needed",
            Code::HostRefused => "The host is not this machine",
            Code::RouteNotFound => "No such route",
            Code::JobNotFound => "No such job",
            Code::RunNotFound => "No such run",
            Code::StreamNotFound => "No such stream",
            Code::ExecutorNotFound => "No such executor",
            Code::MethodNotAllowed => "The route does not have this method",
            Code::RequestTimeout => "The body did not arrive in time",
            Code::WrongState => "Not in this state",
            Code::RunOver => "The run is over",
            Code::StaleToken => "The attempt is no longer the current one",
            Code::TooManyBackfills => "Too many backfills under way",
            Code::UniqueKeyTaken => "There is one with this key already",
            Code::Contended => "Others kept changing the job",
            Code::MaintenanceRefused => "Not possible as asked",
            Code::StreamTrimmed => "The events are no longer kept",
            Code::RevisionMoved => "The job was changed by somebody else",
            Code::BodyTooLarge => "The body is too large",
            Code::UnsupportedMediaType => "The body must be JSON",
            Code::InvalidBody => "The body does not have the right shape",
            Code::InvalidQuery => "A query parameter is not right",
            Code::InvalidCursor => "Not a cursor of this list",
            Code::InvalidJob => "The job is not right",
            Code::UnknownTool => "No such tool",
            Code::InvalidToolInput => "The tool does not take this input",
            Code::BatchTooLarge => "Too many jobs in one batch",
            Code::IdempotencyKeyReused => "The key was used for something else",
            Code::IdempotencyKeyUnsupported => "This route takes no idempotency key",
            Code::Internal => "A mistake of the server",
            Code::StoreDamaged => "The store is damaged",
            Code::MaintenanceFailed => "The work on the store failed",
            Code::StoreUnavailable => "The store is unavailable",
            Code::ShuttingDown => "The server is shutting down",
            Code::NotReady => "The server is not ready yet",
        }
    }

    pub const fn status(self) -> StatusCode {
        match self {
            Code::InvalidJson | Code::InvalidHeader => StatusCode::BAD_REQUEST,
            Code::Unauthorized => StatusCode::UNAUTHORIZED,
            Code::HostRefused => StatusCode::FORBIDDEN,
            Code::RouteNotFound
            | Code::JobNotFound
            | Code::RunNotFound
            | Code::StreamNotFound
            | Code::ExecutorNotFound => StatusCode::NOT_FOUND,
            Code::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Code::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            Code::WrongState
            | Code::RunOver
            | Code::StaleToken
            | Code::TooManyBackfills
            | Code::UniqueKeyTaken
            | Code::Contended
            | Code::MaintenanceRefused => StatusCode::CONFLICT,
            Code::StreamTrimmed => StatusCode::GONE,
            Code::RevisionMoved => StatusCode::PRECONDITION_FAILED,
            Code::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Code::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Code::InvalidBody
            | Code::InvalidQuery
            | Code::InvalidCursor
            | Code::InvalidJob
            | Code::UnknownTool
            | Code::InvalidToolInput
            | Code::BatchTooLarge
            | Code::IdempotencyKeyReused
            | Code::IdempotencyKeyUnsupported => StatusCode::UNPROCESSABLE_ENTITY,
            Code::Internal | Code::StoreDamaged | Code::MaintenanceFailed => StatusCode::INTERNAL_SERVER_ERROR,
            Code::StoreUnavailable | Code::ShuttingDown | Code::NotReady => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// After how many seconds trying again may help.
    pub const fn retry_after_secs(self) -> Option<u32> {
        match self {
            Code::StoreUnavailable | Code::ShuttingDown => Some(5),
            Code::NotReady | Code::Contended => Some(1),
            _ => None,
        }
    }
}
