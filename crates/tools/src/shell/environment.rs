//! The environment a command sees.
//!
//! Invariant: no variable beginning with ORDO_ comes from the server or from an input; those that exist say
//! which attempt this is.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use ordo_engine::tool::{DeliveryPayload, Work};

use crate::fields::InputError;
use crate::trace_context;

/// Ours; the server's own hold its token and its configuration.
const RESERVED: &str = "ORDO_";

/// What a service manager says to the server alone: a command that used it would speak in the server's name.
const OF_THE_SERVICE: [&str; 6] =
    ["NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"];

/// What commands inherit.
#[derive(Clone)]
pub struct Environment(Arc<BTreeMap<OsString, OsString>>);

impl Environment {
    pub fn of_this_process() -> Environment {
        Environment::of(std::env::vars_os())
    }

    pub fn of(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Environment {
        let inherited = variables.into_iter().filter(|(name, _)| !is_reserved(name) && !is_of_the_service(name));
        Environment(Arc::new(inherited.collect()))
    }

    /// Everything one attempt's command is started with.
    pub(crate) fn for_attempt(&self, asked: &BTreeMap<String, String>, work: &Work) -> BTreeMap<OsString, OsString> {
        let mut all = BTreeMap::clone(&self.0);
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

fn is_reserved(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(RESERVED.as_bytes())
}

fn is_of_the_service(name: &OsStr) -> bool {
    OF_THE_SERVICE.iter().any(|known| name == OsStr::new(known))
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
        let environment = Environment::of([("KEY".into(), "hunter2".into()), ("ORDO_TOKEN".into(), "t".into())]);
        assert_eq!(format!("{environment:?}"), r#"{"KEY"}"#);
    }
}
