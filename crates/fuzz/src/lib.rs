//! Made-up inputs for whatever reads what others wrote: bent and joined from a small corpus, tried until one breaks it.
//!
//! A target is a test of the crate that it reads for, so private readers can be tried too, on the stable toolchain. In
//! `cargo xtask ci` each takes a moment; `cargo xtask fuzz [TARGET] --minutes N` goes on for as long as it is given.
//! Invariant: the same seed tries the same inputs in the same order. An input that broke something is written down, and
//! belongs into the corpus.

#![allow(
    clippy::disallowed_methods,
    reason = "how long to go on comes from the environment, and is measured, in tests alone"
)]

mod mutation;

use std::panic::{RefUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

use mutation::Mutator;

/// How many inputs are tried when nobody asks for more.
const TRIES: u64 = 20_000;
/// And no longer than this.
const MOMENT: Duration = Duration::from_secs(2);
/// Stands between two entries of a corpus that is a text.
const BETWEEN: &str = "\n%%\n";

/// Tries inputs made from the entries of a corpus, which is a text with a line `%%` between two of them.
pub fn fuzz_text(target: &str, corpus: &str, read: impl Fn(&str) + RefUnwindSafe) {
    let entries: Vec<Vec<u8>> = corpus.trim_end().split(BETWEEN).map(|entry| entry.as_bytes().to_vec()).collect();
    fuzz(target, &entries, |bytes| {
        if let Ok(text) = std::str::from_utf8(bytes) {
            read(text);
        }
    });
}

/// Tries inputs made from these.
///
/// # Panics
/// When one of them breaks the reader; says where it was written to.
pub fn fuzz(target: &str, corpus: &[Vec<u8>], read: impl Fn(&[u8]) + RefUnwindSafe) {
    let seed = number("ORDO_SEED").unwrap_or(1);
    let minutes = number("ORDO_FUZZ_MINUTES");
    let (began, within) = (Instant::now(), minutes.map_or(MOMENT, |minutes| Duration::from_secs(60 * minutes)));
    for entry in corpus {
        attempt(target, entry, &read);
    }
    let mut mutator = Mutator::new(seed, corpus);
    let mut tried = 0_u64;
    while began.elapsed() < within && (minutes.is_some() || tried < TRIES) {
        attempt(target, &mutator.next_input(), &read);
        tried += 1;
    }
    println!("{target}: {tried} inputs from ORDO_SEED={seed}, {} in the corpus", corpus.len());
}

fn attempt(target: &str, input: &[u8], read: &(impl Fn(&[u8]) + RefUnwindSafe)) {
    if let Err(broke) = catch_unwind(|| read(input)) {
        let path = std::env::temp_dir().join(format!("ordo-fuzz-{target}"));
        let kept = std::fs::write(&path, input).map_or_else(|error| error.to_string(), |()| path.display().to_string());
        println!("{target} broke on {:?}; kept: {kept}", String::from_utf8_lossy(input));
        resume_unwind(broke);
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}
