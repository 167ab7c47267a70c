//! The first line of the first page: the worst that is known, in a few words.
//!
//! Invariant: "All is well" is said only when nothing on the page says otherwise.

use crate::pages::runs::outcome::{Counted, counted};

/// What there is to worry about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Worries {
    pub(crate) is_ready: bool,
    pub(crate) failing: Counted,
    pub(crate) incidents: Counted,
    pub(crate) late: usize,
    pub(crate) waiting: usize,
    /// Notifications that were given up.
    pub(crate) undelivered: Counted,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Headline {
    pub(crate) class: &'static str,
    pub(crate) icon: &'static str,
    pub(crate) text: String,
}

impl Worries {
    pub(crate) fn headline(&self) -> Headline {
        let line = |class, icon, text: String| Headline { class, icon, text };
        if !self.is_ready {
            return line("trouble", "failed", "This server is not ready".to_owned());
        }
        let failing = (self.failing.count > 0).then(|| counted(self.failing, "failing job", "failing jobs"));
        let incidents = (self.incidents.count > 0).then(|| counted(self.incidents, "open incident", "open incidents"));
        let broken: Vec<String> = failing.into_iter().chain(incidents).collect();
        if !broken.is_empty() {
            return line("trouble", "failed", capitalised(&broken.join(", ")));
        }
        if self.late > 0 || self.waiting > 0 {
            return line("warn", "pending", "Some work is late".to_owned());
        }
        if self.undelivered.count > 0 {
            let what = counted(self.undelivered, "notification was", "notifications were");
            return line("warn", "dead", capitalised(&format!("{what} not delivered")));
        }
        line("calm", "completed", "All is well".to_owned())
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Counted = Counted { count: 0, is_exact: true };
    const CALM: Worries =
        Worries { is_ready: true, failing: NONE, incidents: NONE, late: 0, waiting: 0, undelivered: NONE };

    #[test]
    fn all_is_well_only_while_nothing_is_wrong() {
        assert_eq!(CALM.headline().text, "All is well");
        let one = Counted { count: 1, is_exact: true };
        for worried in [
            Worries { is_ready: false, ..CALM },
            Worries { failing: one, ..CALM },
            Worries { incidents: one, ..CALM },
            Worries { late: 1, ..CALM },
            Worries { waiting: 1, ..CALM },
            Worries { undelivered: one, ..CALM },
        ] {
            assert_ne!(worried.headline().class, "calm", "{worried:?}");
        }
    }

    #[test]
    fn what_was_not_counted_to_the_end_is_at_least_so_much() {
        let worries = Worries {
            failing: Counted { count: 100, is_exact: false },
            incidents: Counted { count: 1, is_exact: true },
            ..CALM
        };
        assert_eq!(worries.headline().text, "At least 100 failing jobs, 1 open incident");
    }
}
