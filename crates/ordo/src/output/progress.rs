//! Progress of long work: a bar on a terminal, silence everywhere else.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// `total` is zero where it is not known before the end.
    pub(crate) fn new(what: &'static str, total: u64) -> Progress {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
        let form =
            if total == 0 { "{spinner} {msg} {human_pos}" } else { "{msg} {wide_bar} {human_pos}/{human_len} {eta}" };
        bar.set_style(ProgressStyle::with_template(form).unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(what);
        Progress(bar)
    }

    pub(crate) fn at(&self, done: u64) {
        self.0.set_position(done);
    }

    pub(crate) fn of(&self, done: u64, total: u64) {
        self.0.set_length(total);
        self.0.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
