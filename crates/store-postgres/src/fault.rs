//! What went wrong between us and the database, and whether trying again may help.
//!
//! Invariant: what is tried again is safe to be done twice, or it is first asked what became of it.

use deadpool_postgres::PoolError;
use ordo_store::Fault;
use tokio_postgres::error::SqlState;

/// A fault of one call, before anybody decided what to do about it.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The database is away, restarting or busy with others: the same again may succeed.
    Passing(Box<dyn std::error::Error + Send + Sync>),
    /// It will not help to try again.
    Lasting(Fault),
}

impl Trouble {
    pub(crate) fn into_fault(self, doing: &'static str) -> Fault {
        match self {
            Trouble::Passing(source) => Fault::unavailable(doing, source),
            Trouble::Lasting(fault) => fault,
        }
    }
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Trouble {
        Trouble::Lasting(fault)
    }
}

impl From<tokio_postgres::Error> for Trouble {
    fn from(error: tokio_postgres::Error) -> Trouble {
        let Some(state) = error.code() else {
            return Trouble::Passing(Box::new(error));
        };
        if is_passing(state) {
            return Trouble::Passing(Box::new(said(&error)));
        }
        Trouble::Lasting(lasting(state, &error))
    }
}

impl From<deadpool::managed::PoolError<PoolError>> for Trouble {
    fn from(error: deadpool::managed::PoolError<PoolError>) -> Trouble {
        match error {
            deadpool::managed::PoolError::Backend(error) => error.into(),
            other => Trouble::Passing(Box::new(other)),
        }
    }
}

impl From<PoolError> for Trouble {
    fn from(error: PoolError) -> Trouble {
        match error {
            PoolError::Backend(error) => error.into(),
            other => Trouble::Passing(Box::new(other)),
        }
    }
}

/// Connections that end, servers that start or stop, others in the way.
fn is_passing(state: &SqlState) -> bool {
    let class = &state.code()[..2];
    class == "08"
        || class == "40"
        || class == "53"
        || class == "57"
        || class == "25"
        || *state == SqlState::LOCK_NOT_AVAILABLE
}

fn lasting(state: &SqlState, error: &tokio_postgres::Error) -> Fault {
    if *state == SqlState::UNIQUE_VIOLATION {
        return Fault::damaged(format!(
            "an event is there already, but its snapshot is older or missing: run `ordo store reindex` ({})",
            said(error)
        ));
    }
    Fault::unavailable("talking to the database", said(error))
}

/// The server's own words: the error's own text does not contain them.
fn said(error: &tokio_postgres::Error) -> std::io::Error {
    let text = match error.as_db_error() {
        Some(error) => format!("{} [{}]", error.message(), error.code().code()),
        None => error.to_string(),
    };
    std::io::Error::other(text)
}
