//! How a state or an outcome is shown: one word, one class, one icon, everywhere the same.

use ordo_model::job::{Cause, JobState, Run, RunStatus};

use crate::pages::layout::html::Html;

/// A word with the class that gives it colour and the icon that gives it shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Badge {
    pub(crate) text: String,
    pub(crate) class: &'static str,
    pub(crate) icon: &'static str,
}

impl Badge {
    fn new(text: impl Into<String>, class: &'static str, icon: &'static str) -> Badge {
        Badge { text: text.into(), class, icon }
    }

    pub(crate) fn of_status(status: &RunStatus) -> Badge {
        match status {
            RunStatus::Pending { retry_at: Some(_), .. } => Badge::new("retrying", "pending", "retry"),
            RunStatus::Running { cancelling: Some(_) } => Badge::new("cancelling", "running", "cancelled"),
            RunStatus::Pending { retry_at: None, .. }
            | RunStatus::Running { cancelling: None }
            | RunStatus::Completed { .. }
            | RunStatus::Failed { .. }
            | RunStatus::Cancelled { .. }
            | RunStatus::Skipped { .. } => Badge::named(status.name()),
        }
    }

    /// Icon and word.
    pub(crate) fn html(&self) -> Html {
        Html::new()
            .raw(format_args!("<span class=\"badge {}\">{}", self.class, self.icon()))
            .text(&self.text)
            .raw("</span>")
    }

    /// The icon alone, where the word stands elsewhere.
    pub(crate) fn spot(&self) -> Html {
        Html::new().raw(format_args!("<span class=\"spot {}\">{}</span>", self.class, self.icon()))
    }

    fn icon(&self) -> String {
        format!("<svg class=\"icon\" aria-hidden=\"true\"><use href=\"#i-{}\"/></svg>", self.icon)
    }

    /// By the name of a status.
    pub(crate) fn named(name: &str) -> Badge {
        match name {
            "completed" => Badge::new(name, "completed", "completed"),
            "failed" => Badge::new(name, "failed", "failed"),
            "cancelled" => Badge::new(name, "cancelled", "cancelled"),
            "skipped" => Badge::new(name, "skipped", "skipped"),
            "running" => Badge::new(name, "running", "running"),
            _ => Badge::new(name, "pending", "pending"),
        }
    }

    pub(crate) fn of_state(state: JobState) -> Badge {
        match state {
            JobState::Active => Badge::new("active", "completed", "active"),
            JobState::Paused => Badge::new("paused", "late", "paused"),
            JobState::Held => Badge::new("held", "late", "held"),
            JobState::Finished => Badge::new("finished", "skipped", "completed"),
            JobState::Cancelled => Badge::new("cancelled", "cancelled", "cancelled"),
        }
    }
}

/// Why a run exists, for people.
pub(crate) fn cause(run: &Run) -> &'static str {
    match run.cause {
        Cause::Schedule { .. } => "schedule",
        Cause::Manual => "by hand",
        Cause::Backfill { .. } => "backfill",
        Cause::Retry { .. } => "repeats run",
        Cause::Webhook { .. } => "webhook",
        Cause::After { .. } => "after run",
    }
}

/// What there is to say about an end, if anything.
pub(crate) fn reason(status: &RunStatus) -> Option<String> {
    match status {
        RunStatus::Failed { reason } | RunStatus::Cancelled { reason } => Some(reason.clone()),
        RunStatus::Running { cancelling: Some(reason) } => Some(format!("cancelling: {reason}")),
        RunStatus::Skipped { reason, gap: None } => Some(reason.name().replace('_', " ")),
        RunStatus::Skipped { reason, gap: Some(gap) } => {
            let about = if gap.exact { "" } else { "at least " };
            Some(format!("{}: {about}{}", reason.name().replace('_', " "), occurrences(gap.count)))
        }
        RunStatus::Pending { .. } | RunStatus::Running { cancelling: None } | RunStatus::Completed { .. } => None,
    }
}

/// `1 occurrence`, `12 occurrences`
pub(crate) fn occurrences(count: u64) -> String {
    if count == 1 { "1 occurrence".to_owned() } else { format!("{count} occurrences") }
}

/// A text cut to what fits on a line.
pub(crate) fn shortened(text: &str, chars: usize) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let mut short: String = line.chars().take(chars).collect();
    if short.len() < text.trim_end().len() {
        short.push('…');
    }
    short
}

/// A number of things that was counted to the end, or up to a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) count: usize,
    pub(crate) is_exact: bool,
}

impl Counted {
    pub(crate) const fn exactly(count: usize) -> Counted {
        Counted { count, is_exact: true }
    }

    /// Of what was counted up to one more than `bound`.
    pub(crate) fn up_to(bound: usize, found: usize) -> Counted {
        Counted { count: found.min(bound), is_exact: found <= bound }
    }

    /// `1,234`, `at least 1,000`
    pub(crate) fn words(self) -> String {
        if self.is_exact { grouped(self.count) } else { format!("at least {}", grouped(self.count)) }
    }

    /// `1,234`, `1,000+`
    pub(crate) fn short(self) -> String {
        if self.is_exact { grouped(self.count) } else { format!("{}+", grouped(self.count)) }
    }
}

/// `1 run`, `at least 1,000 runs`
pub(crate) fn counted(counted: Counted, one: &str, many: &str) -> String {
    // Also "at least 1 run".
    let noun = if counted.count == 1 { one } else { many };
    format!("{} {noun}", counted.words())
}

/// `1,234,567`
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_texts_cut() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        let runs = |count: usize, is_exact: bool| counted(Counted { count, is_exact }, "run", "runs");
        assert_eq!([runs(1, true), runs(1, false), runs(2, false)], ["1 run", "at least 1 run", "at least 2 runs"]);
        assert_eq!(shortened("exit 1\nmore", 20), "exit 1…");
        assert_eq!(shortened("short", 20), "short");
        assert_eq!(shortened("äöü", 2), "äö…");
    }
}
