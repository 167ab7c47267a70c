//! How a command ends: its exit code, and what a person reads when it did not do what was asked.
//!
//! Invariant: 0 done, 1 refused or failed, 2 misused, 3 server unreachable. Other programs rely on these.

use std::error::Error as StdError;
use std::fmt::Write;
use std::io::ErrorKind;
use std::process::ExitCode;

use crate::folder::shown;
use crate::output::style::Paint;
use crate::store_location::StoreLocation;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    Failed,
    Misused,
    Unreachable,
}

impl Exit {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Misused => 2,
            Exit::Unreachable => 3,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// What went wrong, for a person.
#[derive(Debug)]
pub(crate) struct Error {
    exit: Exit,
    said: Box<Said>,
}

/// A title, perhaps more about it, perhaps what to do.
#[derive(Debug, Default)]
struct Said {
    title: String,
    detail: Option<String>,
    /// (field, message)
    fields: Vec<(String, String)>,
    hint: Option<String>,
    code: Option<String>,
    server: Option<String>,
}

impl Error {
    fn new(exit: Exit, title: impl Into<String>) -> Error {
        Error { exit, said: Box::new(Said { title: title.into(), ..Said::default() }) }
    }

    pub(crate) fn failed(title: impl Into<String>) -> Error {
        Error::new(Exit::Failed, title)
    }

    pub(crate) fn misused(title: impl Into<String>) -> Error {
        Error::new(Exit::Misused, title)
    }

    pub(crate) fn unreachable(title: impl Into<String>) -> Error {
        Error::new(Exit::Unreachable, title)
    }

    /// A refusal of the server. Fields that its detail names already are not repeated.
    pub(crate) fn problem(code: &str, title: &str, detail: &str, mut fields: Vec<(String, String)>) -> Error {
        fields.retain(|(_, message)| !detail.contains(message.as_str()));
        let mut error = Error::failed(title).fields(fields);
        error.said.detail = Some(detail.to_owned()).filter(|detail| !is_said(title, detail));
        error.said.code = Some(code.to_owned());
        error
    }

    pub(crate) fn detail(mut self, detail: impl Into<String>) -> Error {
        self.said.detail = Some(detail.into());
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Error {
        self.said.hint = Some(hint.into());
        self
    }

    pub(crate) fn fields(mut self, fields: Vec<(String, String)>) -> Error {
        self.said.fields = fields;
        self
    }

    pub(crate) fn title(&self) -> &str {
        &self.said.title
    }

    /// In one line, without what to do.
    pub(crate) fn summary(&self) -> String {
        match &self.said.detail {
            Some(detail) => format!("{}: {detail}", self.said.title),
            None => self.said.title.clone(),
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// The server that refused.
    pub(crate) fn by(mut self, server: impl Into<String>) -> Error {
        self.said.server = Some(server.into());
        self
    }

    /// The same for programs.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        let said = &self.said;
        let fields: Vec<serde_json::Value> = said
            .fields
            .iter()
            .map(|(field, message)| serde_json::json!({ "field": field, "message": message }))
            .collect();
        let mut error = serde_json::json!({ "title": said.title, "exit_code": self.exit.code() });
        let texts = [("code", &said.code), ("detail", &said.detail), ("hint", &said.hint), ("server", &said.server)];
        for (name, text) in texts.into_iter().filter_map(|(name, text)| Some((name, text.as_ref()?))) {
            error[name] = serde_json::json!(text);
        }
        if !fields.is_empty() {
            error["errors"] = serde_json::json!(fields);
        }
        serde_json::json!({ "error": error })
    }

    pub(crate) fn render(&self, paint: Paint) -> String {
        let said = &self.said;
        let mut text = format!("{} {}", paint.bad("error:"), said.title);
        if let Some(detail) = &said.detail {
            let _ = write!(text, ": {detail}");
        }
        if let Some(code) = &said.code {
            let _ = write!(text, " {}", paint.dim(&format!("[{code}]")));
        }
        text.push('\n');
        for (field, message) in &said.fields {
            let _ = writeln!(text, "  {field}: {message}");
        }
        if let Some(server) = &said.server {
            let _ = writeln!(text, "{} {server}", paint.dim("server:"));
        }
        if let Some(hint) = &said.hint {
            let _ = writeln!(text, "{} {hint}", paint.dim("hint:"));
        }
        text
    }
}

/// Whether a title has said all that a detail says: `No such secret: there is no such secret`.
fn is_said(title: &str, detail: &str) -> bool {
    let plain = |text: &str| text.trim_end_matches('.').to_lowercase();
    let (title, detail) = (plain(title), plain(detail));
    detail.is_empty() || detail.strip_prefix("there is ").unwrap_or(&detail) == title
}

/// An error and its causes in one line; a cause that only repeats what was said is left out.
pub(crate) fn chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let said = next.to_string();
        if !text.contains(&said) {
            let _ = write!(text, ": {said}");
        }
        cause = next.source();
    }
    text
}

const FULL: &str = "no space is left on the disk";

impl From<ordo_store::Fault> for Error {
    fn from(fault: ordo_store::Fault) -> Error {
        match is_full(&fault) {
            true => {
                Error::failed(FULL).detail(fault.to_string()).hint("free some space; nothing that was stored is lost")
            }
            false => Error::failed(chain(&fault)),
        }
    }
}

fn is_full(error: &(dyn StdError + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |cause| (*cause).source());
    causes.any(|cause| {
        let kind = cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        matches!(kind, Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge))
    })
}

impl Error {
    /// The store cannot be used at the start of a daemon: what to do before the next one.
    pub(crate) fn at_start(self, place: &StoreLocation) -> Error {
        match (self.said.title == FULL, place) {
            (true, StoreLocation::File(path)) => self.hint(format!(
                "free at least {ROOM_AT_START} on the disk of {} (df shows it), then start Ordo again: nothing that \
                 was stored is lost",
                shown(path)
            )),
            (_, _) => self,
        }
    }
}

/// The journal, and as much for the tables.
const ROOM_AT_START: &str = "256 MiB";
