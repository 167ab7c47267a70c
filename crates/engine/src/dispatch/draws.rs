//! The chance that fencing tokens are made of.
//!
//! Invariant: whoever has seen all numbers so far knows nothing about the next. The same key gives the same numbers, so
//! a simulated world can be played again.

use sha2::{Digest, Sha256};

use crate::random::{RandomError, random};

pub struct Draws {
    key: [u8; 32],
    drawn: u64,
}

impl std::fmt::Debug for Draws {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Draws").field("drawn", &self.drawn).finish_non_exhaustive()
    }
}

impl Draws {
    /// With a key that nobody knows.
    pub(crate) fn secret() -> Result<Draws, RandomError> {
        Ok(Draws { key: random()?, drawn: 0 })
    }

    /// With a key that can be had again.
    pub fn of_seed(seed: u64) -> Draws {
        Draws { key: Sha256::digest(seed.to_be_bytes()).into(), drawn: 0 }
    }

    pub(super) fn next(&mut self) -> u64 {
        self.drawn += 1;
        let hash: [u8; 32] =
            Sha256::new().chain_update(self.key).chain_update(self.drawn.to_be_bytes()).finalize().into();
        let [a, b, c, d, e, f, g, h, ..] = hash;
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(mut draws: Draws) -> [u64; 3] {
        [draws.next(), draws.next(), draws.next()]
    }

    #[test]
    fn no_two_servers_draw_the_same_and_a_seed_always_does() {
        assert_ne!(first(Draws::secret().unwrap()), first(Draws::secret().unwrap()));
        assert_eq!(first(Draws::of_seed(7)), first(Draws::of_seed(7)));
        let [a, b, c] = first(Draws::of_seed(7));
        assert!(a != b && b != c);
    }
}
