//! Ids and random bytes from a seed, for a simulated world; only with the feature `sim`, which nothing shipped has.
//!
//! Invariant: a thread that was given no seed, or whose seed was taken back, gets real ones.

use std::cell::Cell;

use uuid::Uuid;

thread_local! {
    /// What the next draw is made of, and how many ids were made.
    static DRAWN: Cell<Option<(u64, u64)>> = const { Cell::new(None) };
}

/// From here on everything on this thread is made from this seed; None: from chance again.
pub fn seed(seed: Option<u64>) {
    DRAWN.set(seed.map(|seed| (seed, 0)));
}

/// An id that comes after all before it, as a real one does.
pub(crate) fn id() -> Option<Uuid> {
    let low = draw()?;
    let (state, ids) = DRAWN.get()?;
    DRAWN.set(Some((state, ids + 1)));
    let high = (1_900_000_000_000_u64 + ids) << 16 | 0x7000;
    Some(Uuid::from_u64_pair(high, (low >> 2) | 1 << 63))
}

/// Fills the bytes; false: this thread has no seed.
pub(crate) fn fill(bytes: &mut [u8]) -> bool {
    for part in bytes.chunks_mut(8) {
        let Some(drawn) = draw() else { return false };
        part.copy_from_slice(&drawn.to_be_bytes()[..part.len()]);
    }
    true
}

fn draw() -> Option<u64> {
    let (state, ids) = DRAWN.get()?;
    DRAWN.set(Some((state.wrapping_add(0x9e37_79b9_7f4a_7c15), ids)));
    Some(ordo_model::id::mix(state))
}
