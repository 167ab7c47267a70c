//! A place in the log: for each partition, the number of the last event seen there.
//!
//! Invariant: inside a partition numbers grow in the order in which events became visible, so a vector of numbers misses
//! nothing. Written as base64url of varints, partition by partition, those at 0 left out.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ordo_store::{Fault, Partition, Position};

/// The first byte: how the rest is written.
const FORM: u8 = 1;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Vector(BTreeMap<Partition, u64>);

impl Vector {
    /// Of one event alone.
    pub(crate) fn single(partition: Partition, number: u64) -> Vector {
        Vector(BTreeMap::from([(partition, number)]))
    }

    /// Partition and number, where there is one of each.
    pub(crate) fn only(&self) -> Option<(Partition, u64)> {
        let (partition, number) = self.0.first_key_value().filter(|_| self.0.len() == 1)?;
        Some((*partition, *number))
    }

    pub(crate) fn at(&self, partition: Partition) -> u64 {
        self.0.get(&partition).copied().unwrap_or(0)
    }

    pub(crate) fn advance(&mut self, partition: Partition, number: u64) {
        self.0.insert(partition, number);
    }

    /// How many numbers were given out after the other place and up to this one.
    pub(crate) fn beyond(&self, other: &Vector) -> u64 {
        let ahead = self.0.iter().map(|(partition, number)| number.saturating_sub(other.at(*partition)));
        // A position may be made up of numbers that no partition ever gives out.
        ahead.fold(0, u64::saturating_add)
    }

    pub(crate) fn read(position: &Position) -> Result<Vector, Fault> {
        if position.0.is_empty() {
            return Ok(Vector::default());
        }
        Vector::decode(&position.0).ok_or_else(|| Fault::NotAPosition { given: position.0.clone() })
    }

    fn decode(text: &str) -> Option<Vector> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (form, mut rest) = bytes.split_first()?;
        let (mut numbers, mut next_partition) = (BTreeMap::new(), 0);
        while !rest.is_empty() && *form == FORM {
            let partition = take(&mut rest)?.checked_add(next_partition)?;
            let number = take(&mut rest).filter(|number| i64::try_from(*number).is_ok_and(|number| number > 0))?;
            numbers.insert(Partition(u8::try_from(partition).ok()?), number);
            next_partition = partition + 1;
        }
        (!numbers.is_empty()).then_some(Vector(numbers))
    }

    pub(crate) fn write(&self) -> Position {
        let (mut bytes, mut next_partition) = (vec![FORM], 0);
        for (partition, number) in &self.0 {
            put(&mut bytes, u64::from(partition.0) - next_partition);
            put(&mut bytes, *number);
            next_partition = u64::from(partition.0) + 1;
        }
        Position(URL_SAFE_NO_PAD.encode(bytes))
    }
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_reads_back_and_is_short() {
        let mut vector = Vector::default();
        for partition in Partition::all() {
            vector.advance(partition, 1 + u64::from(partition.0) * 1_000_003);
        }
        let position = vector.write();
        assert_eq!(Vector::read(&position).unwrap(), vector);
        assert!(position.0.len() < 2_000, "{}", position.0.len());
        assert!(Vector::single(Partition(255), 7).write().0.len() < 8);
        assert_eq!(Vector::read(&Position::default()).unwrap(), Vector::default());
    }

    /// Whoever follows the events names the last one that it saw.
    #[test]
    fn fuzz_positions() {
        ordo_fuzz::fuzz_text("position", include_str!("../../tests/corpus/position.txt"), |text| {
            if let Ok(vector) = Vector::read(&Position(text.to_owned())) {
                assert_eq!(text.is_empty(), vector.0.is_empty(), "{text:?}");
                assert!(text.is_empty() || Vector::read(&vector.write()).unwrap() == vector, "{text:?}");
                assert_eq!(vector.beyond(&vector), 0);
                assert!(vector.beyond(&Vector::default()) >= vector.0.values().copied().max().unwrap_or(0));
            }
        });
    }

    #[test]
    fn what_was_not_given_out_is_refused() {
        for made_up in ["no such position", "12", "AQ", "AgEB", "AQEA", "AQGAgICAgICAgICAAQ"] {
            let read = Vector::read(&Position(made_up.into()));
            assert!(matches!(read, Err(Fault::NotAPosition { .. })), "{made_up}: {read:?}");
        }
    }
}
