//! A refusal or a fault as clients see it: RFC 9457, with a stable code.
//!
//! Invariant: every answer that is not a success is made here.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ordo_api::{Code, FieldError, ProblemDetails};
use ordo_engine::secrets::SecretsError;
use ordo_engine::tokens::TokensError;
use ordo_engine::{SubmitError, error_chain};
use ordo_model::api_token::ApiTokenRefusal;
use ordo_model::incident::IncidentRefusal;
use ordo_model::job::{Invalid, Refusal};
use ordo_model::monitor::MonitorRefusal;
use ordo_model::notification::NotificationRefusal;
use ordo_model::secret::SecretRefusal;
use ordo_model::silence::SilenceRefusal;
use ordo_model::strict::Misread;
use ordo_store::Fault;

use crate::api::maintenance::MaintenanceError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub code: Code,
    /// What was wrong this time, and what to do.
    pub detail: String,
    pub errors: Vec<FieldError>,
}

impl Problem {
    pub fn new(code: Code, detail: impl Into<String>) -> Problem {
        Problem { code, detail: detail.into(), errors: Vec::new() }
    }

    /// A problem of one field; the text stands alone, the field is named beside it.
    pub fn field(code: Code, field: impl Into<String>, message: impl Into<String>) -> Problem {
        let error = FieldError { field: field.into(), message: message.into() };
        Problem { code, detail: format!("{}: {}", error.field, error.message), errors: vec![error] }
    }

    pub(crate) fn no_job(id: impl std::fmt::Display) -> Problem {
        Problem::new(Code::JobNotFound, format!("there is no job {id}"))
    }

    pub(crate) fn no_run(id: impl std::fmt::Display) -> Problem {
        Problem::new(Code::RunNotFound, format!("there is no run {id}"))
    }

    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.code.status()).expect("every code has a status of HTTP")
    }

    /// What a client is answered.
    pub fn details(&self) -> ProblemDetails {
        ProblemDetails::new(self.code, self.detail.clone(), self.errors.clone())
    }

    /// JSON of another shape: says which field.
    pub(crate) fn misread(code: Code, misread: Misread) -> Problem {
        match misread.field() {
            field if field.is_empty() => Problem::new(code, misread.message),
            field => Problem::field(code, field, misread.message),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut answer = (self.status(), Json(self.details())).into_response();
        let headers = answer.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(secs) = self.code.retry_after_secs() {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(secs));
        }
        if self.code == Code::Unauthorized {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"ordo\""));
        }
        // For a page that says it to people.
        answer.extensions_mut().insert(self);
        answer
    }
}

impl From<Invalid> for Problem {
    fn from(invalid: Invalid) -> Problem {
        Problem::field(Code::InvalidJob, invalid.field, invalid.message)
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        let text = refusal.to_string();
        match refusal {
            Refusal::NoSuchJob => Problem::new(Code::JobNotFound, text),
            Refusal::NoSuchRun => Problem::new(Code::RunNotFound, text),
            Refusal::Invalid(invalid) => invalid.into(),
            Refusal::Exists | Refusal::WrongState { .. } => Problem::new(Code::WrongState, text),
            Refusal::RevisionMoved { .. } => Problem::new(Code::RevisionMoved, text),
            Refusal::RunOver => Problem::new(Code::RunOver, text),
            Refusal::StaleToken => Problem::new(Code::StaleToken, text),
            Refusal::TooManyBackfills => Problem::new(Code::TooManyBackfills, text),
            Refusal::QueueFull | Refusal::ChainTooLong | Refusal::TrimmedMeanwhile => {
                Problem::new(Code::WrongState, text)
            }
        }
    }
}

impl From<SecretsError> for Problem {
    fn from(error: SecretsError) -> Problem {
        let text = error.to_string();
        match error {
            SecretsError::Submit(error) => error.into(),
            SecretsError::Length => Problem::field(Code::InvalidSecret, "value", text),
            SecretsError::Unknown { .. } => Problem::new(Code::UnknownSecret, text),
            SecretsError::Unopened { .. } | SecretsError::NoKey | SecretsError::Key(_) | SecretsError::Random(_) => {
                tracing::error!(error = %text, "a secret could not be used");
                Problem::new(Code::SecretsUnavailable, text)
            }
        }
    }
}

impl From<SecretRefusal> for Problem {
    fn from(refusal: SecretRefusal) -> Problem {
        let text = refusal.to_string();
        match refusal {
            SecretRefusal::NoSuchSecret => Problem::new(Code::SecretNotFound, text),
            SecretRefusal::BadName { .. } => Problem::field(Code::InvalidSecret, "name", text),
        }
    }
}

impl<R: std::error::Error + Into<Problem>> From<SubmitError<R>> for Problem {
    fn from(error: SubmitError<R>) -> Problem {
        of_submit(error, Into::into)
    }
}

/// Why a command was not carried out.
pub(crate) fn of_submit<R: std::error::Error>(error: SubmitError<R>, refused: impl FnOnce(R) -> Problem) -> Problem {
    let text = error.to_string();
    match error {
        SubmitError::Refused(refusal) => refused(refusal),
        // Logged where the round failed.
        SubmitError::Store(fault) => of_fault(&fault),
        SubmitError::Contended => Problem::new(Code::Contended, text),
        SubmitError::Stopped => Problem::new(Code::ShuttingDown, text),
        SubmitError::Duplicate(_) => Problem::new(Code::IdempotencyKeyReused, text),
        SubmitError::Overloaded => Problem::new(Code::Overloaded, text),
        _ => Problem::new(Code::Internal, text),
    }
}

impl From<IncidentRefusal> for Problem {
    fn from(refusal: IncidentRefusal) -> Problem {
        let text = refusal.to_string();
        match refusal {
            IncidentRefusal::NoSuchIncident => Problem::new(Code::IncidentNotFound, text),
            IncidentRefusal::Invalid(invalid) => Problem::field(Code::InvalidIncident, invalid.field, invalid.message),
            IncidentRefusal::NoSuchAction { .. } => Problem::field(Code::InvalidIncident, "number", text),
            IncidentRefusal::NoSuchMove { .. }
            | IncidentRefusal::Ended { .. }
            | IncidentRefusal::TooManyLinks
            | IncidentRefusal::TooManyActions => Problem::new(Code::WrongState, text),
        }
    }
}

impl From<TokensError> for Problem {
    fn from(error: TokensError) -> Problem {
        match error {
            TokensError::Submit(error) => error.into(),
            TokensError::Random(error) => Problem::new(Code::Internal, error.to_string()),
        }
    }
}

impl From<ApiTokenRefusal> for Problem {
    fn from(refusal: ApiTokenRefusal) -> Problem {
        let text = refusal.to_string();
        match refusal {
            ApiTokenRefusal::NoSuchToken => Problem::new(Code::TokenNotFound, text),
            ApiTokenRefusal::Exists { .. } => Problem::field(Code::TokenExists, "name", text),
            ApiTokenRefusal::BadName { .. } => Problem::field(Code::InvalidToken, "name", text),
            ApiTokenRefusal::BadExpiry => Problem::field(Code::InvalidToken, "expires_at", text),
            ApiTokenRefusal::BadScope(refusal) => Problem::field(Code::InvalidToken, refusal.field(), text),
        }
    }
}

impl From<NotificationRefusal> for Problem {
    fn from(refusal: NotificationRefusal) -> Problem {
        let text = refusal.to_string();
        match refusal {
            NotificationRefusal::NoSuchNotification => Problem::new(Code::NotificationNotFound, text),
            NotificationRefusal::WrongState { .. } => Problem::new(Code::WrongState, text),
        }
    }
}

impl From<SilenceRefusal> for Problem {
    fn from(refusal: SilenceRefusal) -> Problem {
        let text = refusal.to_string();
        match refusal {
            SilenceRefusal::NoSuchSilence => Problem::new(Code::SilenceNotFound, text),
            SilenceRefusal::Exists => Problem::new(Code::WrongState, text),
            SilenceRefusal::Invalid(invalid) => Problem::field(Code::InvalidSilence, invalid.field, invalid.message),
        }
    }
}

impl From<MonitorRefusal> for Problem {
    fn from(refusal: MonitorRefusal) -> Problem {
        let text = refusal.to_string();
        match refusal {
            MonitorRefusal::NoSuchMonitor => Problem::new(Code::MonitorNotFound, text),
            MonitorRefusal::Invalid(invalid) => Problem::field(Code::InvalidMonitor, invalid.field, invalid.message),
        }
    }
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Problem {
        // A cursor that no list gave out is the caller's mistake, not the store's.
        if !matches!(fault, Fault::NotAPosition { .. }) {
            tracing::error!(error = %error_chain(&fault), "the store could not answer a request");
        }
        of_fault(&fault)
    }
}

fn of_fault(fault: &Fault) -> Problem {
    let code = match fault {
        Fault::Unavailable { .. } | Fault::Held { .. } => Code::StoreUnavailable,
        Fault::Damaged { .. } => Code::StoreDamaged,
        Fault::NotAPosition { .. } => Code::InvalidCursor,
        Fault::Misuse { .. } => Code::Internal,
    };
    // With its causes: "no space left" is what the caller can do something about.
    Problem::new(code, error_chain(fault))
}

impl From<MaintenanceError> for Problem {
    fn from(error: MaintenanceError) -> Problem {
        match error {
            MaintenanceError::Refused(text) => Problem::new(Code::MaintenanceRefused, text),
            MaintenanceError::Store(fault) => fault.into(),
            MaintenanceError::Failed(text) => {
                tracing::error!(error = %text, "work on the store failed");
                Problem::new(Code::MaintenanceFailed, text)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_model_refuses_keeps_its_meaning() {
        let refused = |refusal: Refusal| Problem::from(SubmitError::Refused(refusal)).code;
        assert_eq!(refused(Refusal::NoSuchJob), Code::JobNotFound);
        assert_eq!(refused(Refusal::NoSuchRun), Code::RunNotFound);
        assert_eq!(refused(Refusal::Exists), Code::WrongState);
        assert_eq!(refused(Refusal::StaleToken), Code::StaleToken);
        assert_eq!(refused(Refusal::RevisionMoved { actual: 2 }), Code::RevisionMoved);
        assert_eq!(Problem::from(SubmitError::<Refusal>::Contended).code, Code::Contended);
    }

    #[test]
    fn a_fault_of_the_store_is_not_blamed_on_the_client() {
        let lost = Fault::unavailable("committing", "disk full");
        let answer = Problem::from(SubmitError::<Refusal>::Store(std::sync::Arc::new(lost))).into_response();
        assert_eq!((answer.status().as_u16(), &answer.headers()["retry-after"]), (503, &HeaderValue::from(5)));
        assert_eq!(Problem::from(Fault::NotAPosition { given: "x".into() }).code, Code::InvalidCursor);
    }
}
