//! The environment a command sees.
//!
//! Invariant: of the server's environment only what is listed here, or named in the configuration, reaches a command;
//! no variable beginning with ORDO_ comes from the server or from an input: those that exist say which attempt this is.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use ordo_engine::tool::{DeliveryPayload, Work};

use crate::confinement::Confinement;
use crate::fields::InputError;
use crate::trace_context;

/// Ours; the server's own hold its token and its configuration.
const RESERVED: &str = "ORDO_";

/// What a command needs to run as it would for a person; whatever else the server was started with is its own.
const USUAL: [&str; 12] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TZDIR",
    "TMPDIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];
/// How the variables of the locale begin.
const LOCALE: &str = "LC_";

/// What commands inherit.
#[derive(Clone)]
pub struct Environment(Arc<BTreeMap<OsString, OsString>>);

impl Environment {
    pub fn of_this_process() -> Environment {
        Environment::of(std::env::vars_os(), &[])
    }

    /// The usual variables among these, and those that are named.
    pub fn of(variables: impl IntoIterator<Item = (OsString, OsString)>, named: &[String]) -> Environment {
        let inherited = variables.into_iter().filter(|(name, _)| is_passed_on(name, named));
        Environment(Arc::new(inherited.collect()))
    }

    /// Everything one attempt's command is started with.
    pub(crate) fn for_attempt(
        &self,
        asked: &BTreeMap<String, String>,
        confinement: &Confinement,
        work: &Work,
    ) -> BTreeMap<OsString, OsString> {
        let mut all = BTreeMap::clone(&self.0);
        all.extend(confinement.environment());
        all.insert(trace_context::VARIABLE.into(), work.traceparent().to_string().into());
        all.extend(asked.iter().map(|(name, value)| (name.into(), value.into())));
        all.extend(about(work).into_iter().map(|(name, value)| (name.into(), value.into())));
        let hook = work.payload.iter().flat_map(about_hook);
        all.extend(hook.map(|(name, value)| (name.into(), value.into())));
        all
    }
}

/// Values may be secrets: only the names are shown.
impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

fn is_passed_on(name: &OsStr, named: &[String]) -> bool {
    let is_reserved = name.as_encoded_bytes().starts_with(RESERVED.as_bytes());
    let is_locale = name.as_encoded_bytes().starts_with(LOCALE.as_bytes());
    let is_listed =
        USUAL.iter().any(|known| name == OsStr::new(known)) || named.iter().any(|known| name == OsStr::new(known));
    !is_reserved && (is_locale || is_listed)
}

fn about(work: &Work) -> Vec<(&'static str, String)> {
    let mut all = vec![
        ("ORDO_JOB_ID", work.job_id.to_string()),
        ("ORDO_RUN_ID", work.run_id.to_string()),
        ("ORDO_ATTEMPT", work.attempt.to_string()),
        ("ORDO_FENCE", work.token.0.to_string()),
        ("ORDO_LABEL", clean(&work.label)),
    ];
    all.extend(work.scheduled_for.map(|at| ("ORDO_SCHEDULED_FOR", at.to_string())));
    if let Some(shard) = work.shard {
        all.push(("ORDO_SHARD_INDEX", shard.index.to_string()));
        all.push(("ORDO_SHARD_TOTAL", shard.total.to_string()));
    }
    all
}

/// What came with the webhook, but for its body, which is the command's input.
fn about_hook(payload: &DeliveryPayload) -> BTreeMap<String, String> {
    let mut all = BTreeMap::from([
        ("ORDO_HOOK_SLUG".to_owned(), payload.hook.clone()),
        ("ORDO_HOOK_DELIVERY".to_owned(), payload.delivery.to_string()),
    ]);
    all.extend(payload.header("content-type").map(|kind| ("ORDO_HOOK_CONTENT_TYPE".to_owned(), clean(kind))));
    for (name, value) in &payload.headers {
        let name = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' });
        let name = format!("ORDO_HOOK_HEADER_{}", name.collect::<String>());
        // A header that came twice is one list, as HTTP has it.
        all.entry(name)
            .and_modify(|known| {
                known.push_str(", ");
                known.push_str(&clean(value));
            })
            .or_insert_with(|| clean(value));
    }
    all
}

/// The system cannot pass on a zero byte.
fn clean(text: &str) -> String {
    text.replace('\0', "")
}

/// Refuses names that are ours or that no environment can hold.
pub(crate) fn check_env(env: &BTreeMap<String, String>) -> Result<(), InputError> {
    for (name, value) in env {
        let field = || format!("env.{name}");
        if name.starts_with(RESERVED) {
            return Err(InputError::invalid(field(), "names beginning with ORDO_ are set by Ordo, choose another"));
        }
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(InputError::invalid(field(), "a name is not empty and holds neither = nor a zero byte"));
        }
        if value.contains('\0') {
            return Err(InputError::invalid(field(), "a value cannot hold a zero byte"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_ours_or_impossible_are_refused() {
        for (name, value) in [("ORDO_TOKEN", "x"), ("ORDO_", "x"), ("", "x"), ("A=B", "x"), ("A", "\0")] {
            let env = BTreeMap::from([(name.to_owned(), value.to_owned())]);
            assert!(check_env(&env).is_err(), "{name}");
        }
        assert_eq!(check_env(&BTreeMap::from([("ordo_x".to_owned(), "y".to_owned())])), Ok(()));
    }

    #[test]
    fn the_debug_form_shows_no_values() {
        let environment = Environment::of([("PATH".into(), "hunter2".into())], &[]);
        assert_eq!(format!("{environment:?}"), r#"{"PATH"}"#);
    }

    #[test]
    fn only_the_usual_and_the_named_variables_of_the_server_are_passed_on() {
        let all = [
            "PATH",
            "HOME",
            "LC_ALL",
            "ORDO_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "JAVA_HOME",
            "NOTIFY_SOCKET",
            "LD_PRELOAD",
        ];
        let variables = all.map(|name| (OsString::from(name), OsString::from("x")));
        let named = ["JAVA_HOME".to_owned(), "ORDO_TOKEN".to_owned()];
        let environment = Environment::of(variables, &named);
        assert_eq!(format!("{environment:?}"), r#"{"HOME", "JAVA_HOME", "LC_ALL", "PATH"}"#);
    }
}
