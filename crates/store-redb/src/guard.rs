//! redb panics on files that contradict themselves; here a panic becomes a fault.
//!
//! Invariant: no panic of redb leaves this crate. Whoever prints panics may ask [`is_guarded`] and stay silent: the
//! fault says it better.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ordo_store::Fault;

use crate::fault::FILE_DAMAGED;

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread is caught and returned as a fault.
pub fn is_guarded() -> bool {
    GUARDED.get()
}

/// Does the work; a panic means that the file is damaged. What it leaves half done is thrown away with its transaction,
/// and the store takes no more writes.
pub(crate) fn guarded<T>(doing: &'static str, work: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    let before = GUARDED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(before);
    done.unwrap_or_else(|panic| Err(damaged(doing, &*panic)))
}

#[cold]
fn damaged(doing: &'static str, panic: &(dyn Any + Send)) -> Fault {
    let said = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    let said = said.unwrap_or("without a word").lines().next().unwrap_or_default();
    Fault::damaged(format!("{FILE_DAMAGED}, found while {doing} ({said}): restore a backup"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_fault_that_says_what_was_being_done() {
        let fault = guarded::<()>("reading", || panic!("page {} is odd", 7)).unwrap_err();
        assert!(
            matches!(&fault, Fault::Damaged { what } if what.contains("reading") && what.contains("page 7 is odd"))
        );
        assert!(!is_guarded());
    }
}
