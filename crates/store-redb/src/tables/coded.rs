//! Keys and values of redb's tables as bytes, so that an overlay holds the rows of all of them in one way.
//!
//! Invariant: bytes of a key sort as redb sorts the key. redb keeps its numbers little-endian; here they are big-endian.

use ordo_store::Fault;
use redb::Value;

use crate::tables::keys::number_of;

pub(crate) trait Coded: Value + 'static {
    fn with_bytes<T>(value: &Self::SelfType<'_>, work: impl FnOnce(&[u8]) -> T) -> T;

    fn parse(bytes: &[u8]) -> Result<Self::SelfType<'_>, Fault>;
}

impl Coded for u64 {
    fn with_bytes<T>(value: &u64, work: impl FnOnce(&[u8]) -> T) -> T {
        work(&value.to_be_bytes())
    }

    fn parse(bytes: &[u8]) -> Result<u64, Fault> {
        number_of(bytes)
    }
}

impl Coded for &'static [u8] {
    fn with_bytes<T>(value: &&[u8], work: impl FnOnce(&[u8]) -> T) -> T {
        work(value)
    }

    fn parse(bytes: &[u8]) -> Result<&[u8], Fault> {
        Ok(bytes)
    }
}

impl<const N: usize> Coded for &'static [u8; N] {
    fn with_bytes<T>(value: &&[u8; N], work: impl FnOnce(&[u8]) -> T) -> T {
        work(value.as_slice())
    }

    fn parse(bytes: &[u8]) -> Result<&[u8; N], Fault> {
        bytes.try_into().map_err(|_| Fault::damaged(format!("{} bytes where {N} belong", bytes.len())))
    }
}

impl Coded for () {
    fn with_bytes<T>(_: &(), work: impl FnOnce(&[u8]) -> T) -> T {
        work(&[])
    }

    fn parse(_: &[u8]) -> Result<(), Fault> {
        Ok(())
    }
}
