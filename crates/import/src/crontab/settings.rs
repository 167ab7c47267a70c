//! The variables that are in force at a line: some speak to cron, the others to the command.

use std::collections::BTreeMap;

use ordo_model::Millis;
use ordo_model::limits::JITTER_MAX;

/// Names that only Ordo may set.
const RESERVED: &str = "ORDO_";
/// How the mail is written that Ordo does not send.
const ABOUT_MAIL: [&str; 4] = ["MAILTO", "MAILFROM", "CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING"];

#[derive(Debug, Default)]
pub(super) struct CrontabSettings {
    /// For the command.
    environment: BTreeMap<String, String>,
    zone: Option<String>,
    mail_to: Option<String>,
    jitter: Option<Millis>,
    notes: Vec<String>,
}

impl CrontabSettings {
    pub(super) fn set(&mut self, name: &str, value: &str) {
        match name {
            "CRON_TZ" => self.zone = Some(value.to_owned()).filter(|zone| !zone.is_empty()),
            "MAILTO" => self.set_mail_to(value),
            "RANDOM_DELAY" => self.set_jitter(value),
            _ if ABOUT_MAIL.contains(&name) => {}
            _ if name.starts_with(RESERVED) => {
                self.note(format!("{name} is left out: names beginning with {RESERVED} are set by Ordo"));
            }
            _ => drop(self.environment.insert(name.to_owned(), value.to_owned())),
        }
    }

    fn set_mail_to(&mut self, value: &str) {
        self.mail_to = Some(value.to_owned()).filter(|to| !to.is_empty());
        if self.mail_to.is_some() {
            self.note("Ordo sends no mail: MAILTO is kept in the descriptions, the output in the logs of runs".into());
        }
    }

    /// Minutes, as cronie counts them.
    fn set_jitter(&mut self, value: &str) {
        let minutes = value.parse::<u64>().ok().map(|minutes| Millis::from_secs(minutes.saturating_mul(60)));
        match minutes.filter(|jitter| *jitter <= JITTER_MAX) {
            Some(jitter) => self.jitter = Some(jitter).filter(|jitter| jitter.ms() > 0),
            None => self.note(format!("RANDOM_DELAY={value} is left out: it is no number of minutes within a day")),
        }
    }

    fn note(&mut self, text: String) {
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    pub(super) fn environment(&self) -> &BTreeMap<String, String> {
        &self.environment
    }

    /// The shell that reads commands, unless it is the usual one.
    pub(super) fn shell(&self) -> Option<&str> {
        let usual = |shell: &&str| ["", "sh", "/bin/sh"].contains(shell);
        self.environment.get("SHELL").map(String::as_str).filter(|shell| !usual(shell))
    }

    pub(super) fn home(&self) -> Option<&str> {
        self.environment.get("HOME").map(String::as_str).filter(|home| !home.is_empty())
    }

    pub(super) fn zone(&self) -> Option<&str> {
        self.zone.as_deref()
    }

    pub(super) fn mail_to(&self) -> Option<&str> {
        self.mail_to.as_deref()
    }

    pub(super) fn jitter(&self) -> Option<Millis> {
        self.jitter
    }

    pub(super) fn notes(self) -> Vec<String> {
        self.notes
    }
}
