//! What happened, as lines: kept when somebody wants to read them, always part of the world's fingerprint.

use std::fmt;

#[derive(Debug, Clone)]
pub struct Trace {
    hash: u64,
    lines: u64,
    kept: Option<Vec<String>>,
    scratch: String,
}

impl Trace {
    pub fn new(keep: bool) -> Trace {
        Trace { hash: 0xcbf2_9ce4_8422_2325, lines: 0, kept: keep.then(Vec::new), scratch: String::new() }
    }

    pub fn line(&mut self, mono: i64, text: fmt::Arguments<'_>) {
        self.scratch.clear();
        // Writing to a String does not fail.
        let _ = fmt::write(&mut self.scratch, format_args!("{:>10}.{:03} {text}", mono / 1_000, mono % 1_000));
        for byte in self.scratch.bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self.lines += 1;
        if let Some(kept) = &mut self.kept {
            kept.push(self.scratch.clone());
        }
    }

    /// The same seed gives the same fingerprint.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    pub fn len(&self) -> u64 {
        self.lines
    }

    pub fn is_empty(&self) -> bool {
        self.lines == 0
    }

    pub fn lines(&self) -> &[String] {
        self.kept.as_deref().unwrap_or_default()
    }
}
