//! Colours: only where a person looks at a terminal and has not asked for none (NO_COLOR).

use std::io::IsTerminal;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    pub(crate) fn for_stdout() -> Paint {
        Paint { on: std::io::stdout().is_terminal() && wanted() }
    }

    pub(crate) fn for_stderr() -> Paint {
        Paint { on: std::io::stderr().is_terminal() && wanted() }
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    pub(crate) fn warn(self, text: &str) -> String {
        self.paint("33", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// A state of a job or a status of a run in its colour.
    pub(crate) fn state(self, name: &str) -> String {
        match name {
            "active" | "completed" | "up" => self.good(name),
            "failed" | "open" | "silent" | "failing" => self.bad(name),
            "paused" | "held" | "skipped" | "pending" | "mitigating" => self.warn(name),
            "finished" | "cancelled" | "resolved" | "declined" => self.dim(name),
            other => other.to_owned(),
        }
    }
}

fn wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
