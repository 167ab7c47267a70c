//! Finds many patterns in a text in one pass over its bytes.
//!
//! Invariant: the time to build it grows with the bytes of the patterns, the time to scan with the bytes of the text; how
//! many patterns there are, how they overlap and how often they stand there changes neither (Aho-Corasick).

use std::collections::HashMap;

use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::nfa::contiguous::{Builder, NFA};
use aho_corasick::{Anchored, MatchKind};

/// A part of a pattern at the edge of a text counts from this length on, if it is also a quarter of the pattern.
pub(super) const PART_MIN_BYTES: usize = 8;

pub(super) struct Scanner {
    automaton: NFA,
    start: StateID,
    /// Of states in which something is known to end; in all others nothing does.
    ends: HashMap<StateID, Ends>,
}

/// How many bytes before a place belong to a pattern.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Ends {
    /// The longest pattern that ends here.
    whole: usize,
    /// The longest beginning of a pattern that ends here and is worth covering.
    part: usize,
}

/// A beginning of one or more patterns.
struct Beginning {
    length: usize,
    /// The length of the shortest pattern that begins so.
    shortest: usize,
    is_pattern: bool,
    /// The state of the longest beginning that ends like this one and is shorter.
    fallback: StateID,
}

impl Scanner {
    pub(super) fn of(patterns: &[Vec<u8>]) -> Scanner {
        let automaton = Builder::new().match_kind(MatchKind::Standard).build(patterns);
        let automaton = automaton.expect("an input does not hold gigabytes of secrets");
        let start = automaton.start_state(Anchored::No).expect("an automaton can begin anywhere");
        let ends = ends(&beginnings(&automaton, start, patterns));
        Scanner { automaton, start, ends }
    }

    /// Goes over the bytes once; names the end and the length of the longest pattern that ends at each place. Returns
    /// how many of the last bytes are a beginning that is worth covering.
    pub(super) fn scan(&self, bytes: impl Iterator<Item = u8>, mut found: impl FnMut(usize, usize)) -> usize {
        let mut state = self.start;
        for (at, byte) in bytes.enumerate() {
            state = self.automaton.next_state(Anchored::No, state, byte);
            if self.automaton.is_match(state) {
                found(at + 1, self.ends_in(state).whole);
            }
        }
        self.ends_in(state).part
    }

    fn ends_in(&self, state: StateID) -> Ends {
        self.ends.get(&state).copied().unwrap_or_default()
    }
}

/// What the automaton knows but does not expose: which beginning each state stands for. Found by walking every pattern from
/// the start, and once more from its second byte: where that walk stands is the fallback.
fn beginnings(automaton: &NFA, start: StateID, patterns: &[Vec<u8>]) -> HashMap<StateID, Beginning> {
    let mut all = HashMap::new();
    for pattern in patterns {
        let (mut state, mut fallback) = (start, start);
        for (at, byte) in pattern.iter().enumerate() {
            state = automaton.next_state(Anchored::No, state, *byte);
            if at > 0 {
                fallback = automaton.next_state(Anchored::No, fallback, *byte);
            }
            let length = at + 1;
            let new = Beginning { length, shortest: pattern.len(), is_pattern: false, fallback };
            let known = all.entry(state).or_insert(new);
            known.shortest = known.shortest.min(pattern.len());
            known.is_pattern |= length == pattern.len();
        }
    }
    all
}

/// Shorter beginnings first: each takes over what its fallback knows.
fn ends(beginnings: &HashMap<StateID, Beginning>) -> HashMap<StateID, Ends> {
    let mut in_order: Vec<(&StateID, &Beginning)> = beginnings.iter().collect();
    in_order.sort_unstable_by_key(|(_, beginning)| beginning.length);
    let mut ends: HashMap<StateID, Ends> = HashMap::new();
    for (state, beginning) in in_order {
        let mut here = ends.get(&beginning.fallback).copied().unwrap_or_default();
        if beginning.is_pattern {
            here.whole = beginning.length;
        }
        if beginning.length >= PART_MIN_BYTES && beginning.length * 4 >= beginning.shortest {
            here.part = beginning.length;
        }
        if here != Ends::default() {
            ends.insert(*state, here);
        }
    }
    ends
}
