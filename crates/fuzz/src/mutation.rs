//! How an input is made: one of the corpus, bent a few times.

/// What readers stumble over.
const AWKWARD: [&str; 24] = [
    "",
    "0",
    "-1",
    "1",
    "99999999999999999999",
    "18446744073709551615",
    "9223372036854775808",
    "1e400",
    "NaN",
    "null",
    "true",
    "\"",
    "\\",
    "\\u0000",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "*",
    "/",
    "\u{2028}",
    "ÿ🙂",
];
/// No input is longer.
const INPUT_MAX: usize = 8 * 1024;

#[derive(Debug)]
pub(crate) struct Mutator {
    state: u64,
    corpus: Vec<Vec<u8>>,
    /// Words of the corpus, to be put in other places.
    words: Vec<Vec<u8>>,
}

impl Mutator {
    pub(crate) fn new(seed: u64, corpus: &[Vec<u8>]) -> Mutator {
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte == b'-';
        let words = corpus.iter().flat_map(|entry| entry.split(|byte| !is_word(byte)));
        let mut words: Vec<Vec<u8>> = words.filter(|word| !word.is_empty()).map(<[u8]>::to_vec).collect();
        words.extend(AWKWARD.iter().map(|text| text.as_bytes().to_vec()));
        let corpus = if corpus.is_empty() { vec![Vec::new()] } else { corpus.to_vec() };
        Mutator { state: seed, corpus, words }
    }

    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.draw() % (end.max(1) as u64)).unwrap_or(0)
    }

    pub(crate) fn next_input(&mut self) -> Vec<u8> {
        let place = self.below(self.corpus.len());
        let mut input = self.corpus[place].clone();
        for _ in 0..=self.below(6) {
            self.bend(&mut input);
        }
        input.truncate(INPUT_MAX);
        input
    }

    fn bend(&mut self, input: &mut Vec<u8>) {
        let at = self.below(input.len() + 1);
        let end = (at + self.below(16)).min(input.len());
        match self.below(9) {
            0 => flip(input, at, 1 << self.below(8)),
            1 => {
                let byte = self.draw().to_le_bytes()[0];
                input.insert(at, byte);
            }
            2 => drop(input.drain(at..end)),
            3 => {
                let again = input[at..end].to_vec();
                drop(input.splice(at..at, again));
            }
            4 => input.truncate(at),
            5 => self.join(input, at),
            6 => flip(input, at, 0x20),
            _ => {
                let place = self.below(self.words.len());
                let word = self.words[place].clone();
                drop(input.splice(at..end, word));
            }
        }
    }

    /// The end of another entry takes the place of this one's.
    fn join(&mut self, input: &mut Vec<u8>, at: usize) {
        let other = self.below(self.corpus.len());
        let from = self.below(self.corpus[other].len() + 1);
        input.truncate(at);
        input.extend_from_slice(&self.corpus[other][from..]);
    }
}

fn flip(input: &mut [u8], at: usize, bits: u8) {
    if let Some(byte) = input.get_mut(at) {
        *byte ^= bits;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_inputs_and_they_differ() {
        let corpus = [b"*/5 * * * *".to_vec(), b"@daily".to_vec()];
        let inputs = |seed| {
            let mut mutator = Mutator::new(seed, &corpus);
            (0..200).map(|_| mutator.next_input()).collect::<Vec<_>>()
        };
        assert_eq!(inputs(7), inputs(7));
        let mut different = inputs(7);
        different.sort();
        different.dedup();
        assert!(different.len() > 100, "{}", different.len());
    }
}
