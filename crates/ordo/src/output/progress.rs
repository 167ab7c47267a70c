//! Progress of long work: a bar on a terminal, silence everywhere else.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const TURN_EVERY: Duration = Duration::from_millis(100);

/// Gone from the terminal when dropped.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Work whose length will be known.
    pub(crate) fn counted(what: &'static str) -> Progress {
        Progress::new(what, "{msg} {wide_bar} {human_pos}/{human_len} {eta}")
    }

    /// Work that says nothing until its end.
    pub(crate) fn silent(what: &'static str) -> Progress {
        let progress = Progress::new(what, "{spinner} {msg} {elapsed}");
        progress.0.enable_steady_tick(TURN_EVERY);
        progress
    }

    fn new(what: &'static str, form: &str) -> Progress {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        bar.set_style(ProgressStyle::with_template(form).unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(what);
        Progress(bar)
    }

    pub(crate) fn at(&self, done: u64, total: u64) {
        self.0.set_length(total);
        self.0.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
