//! Keys of a view, and ranges of them, in terms of columns.
//!
//! Invariant: pure. Keys of one view have one width, so every range of bytes is a range of such keys, with nothing left over.

use ordo_store::{KeyPart, KeyRange, TableShape};
use uuid::Uuid;

const ID_BYTES: usize = 16;

/// A key taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableKey {
    /// Of the first part, where that is one of a few names.
    pub(crate) name: Option<&'static str>,
    pub(crate) ids: Vec<Uuid>,
}

/// Keys with one name from `low` up to but not including `high`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) name: Option<&'static str>,
    pub(crate) low: Vec<Uuid>,
    pub(crate) high: Option<Vec<Uuid>>,
}

/// The column with the name, and the names it may have, by code.
pub(crate) fn named(shape: &TableShape) -> Option<(&'static str, &'static [&'static str])> {
    match shape.key.first() {
        Some(KeyPart::Name(column, names)) => Some((column, names)),
        Some(KeyPart::Id(_)) | None => None,
    }
}

/// The columns with the ids, in the order of the key.
pub(crate) fn id_columns(shape: &TableShape) -> Vec<&'static str> {
    let id = |part: &KeyPart| match part {
        KeyPart::Id(column) => Some(*column),
        KeyPart::Name(..) => None,
    };
    shape.key.iter().filter_map(id).collect()
}

fn width(shape: &TableShape) -> usize {
    usize::from(named(shape).is_some()) + ID_BYTES * id_columns(shape).len()
}

/// None where no row of the view has such a key.
pub(crate) fn take_apart(shape: &TableShape, key: &[u8]) -> Option<TableKey> {
    let whole = Some(key).filter(|key| key.len() == width(shape))?;
    let (name, ids) = match named(shape) {
        None => (None, whole),
        Some((_, names)) => {
            let (code, ids) = whole.split_first()?;
            let name = names.get(usize::from(*code)).filter(|name| shape.left_out != Some(**name))?;
            (Some(*name), ids)
        }
    };
    Some(TableKey { name, ids: uuids(ids) })
}

pub(crate) fn put_together(shape: &TableShape, key: &TableKey) -> Vec<u8> {
    let code = named(shape).zip(key.name).and_then(|((_, names), name)| names.iter().position(|known| *known == name));
    let code = code.and_then(|code| u8::try_from(code).ok());
    code.into_iter().chain(key.ids.iter().flat_map(|id| *id.as_bytes())).collect()
}

/// The parts of a range, in the order of keys: one for each name, or one for all.
pub(crate) fn sections(shape: &TableShape, range: &KeyRange) -> Vec<Section> {
    let Some(low) = first_from(&range.from, width(shape)) else { return Vec::new() };
    let high = range.to.as_ref().and_then(|to| first_from(to, width(shape)));
    if high.as_ref().is_some_and(|high| *high <= low) {
        return Vec::new();
    }
    let Some((_, names)) = named(shape) else {
        return vec![Section { name: None, low: uuids(&low), high: high.as_deref().map(uuids) }];
    };
    let kept = names.iter().zip(0u8..).filter(|(name, _)| shape.left_out != Some(**name));
    kept.filter_map(|(name, code)| section(name, code, &low, high.as_deref())).collect()
}

/// What a range has under one code; its bounds begin with codes.
fn section(name: &'static str, code: u8, low: &[u8], high: Option<&[u8]>) -> Option<Section> {
    let low = match low[0].cmp(&code) {
        std::cmp::Ordering::Less => vec![0; low.len() - 1],
        std::cmp::Ordering::Equal => low[1..].to_vec(),
        std::cmp::Ordering::Greater => return None,
    };
    let high = match high {
        Some(high) if high[0] < code => return None,
        Some(high) if high[0] == code => Some(&high[1..]),
        Some(_) | None => None,
    };
    let is_empty = high.is_some_and(|high| high <= low.as_slice());
    (!is_empty).then(|| Section { name: Some(name), low: uuids(&low), high: high.map(uuids) })
}

/// The first key of the width that does not sort before these bytes.
fn first_from(bytes: &[u8], width: usize) -> Option<Vec<u8>> {
    let mut key = bytes[..bytes.len().min(width)].to_vec();
    key.resize(width, 0);
    if bytes.len() <= width {
        return Some(key);
    }
    let grown = key.iter().rposition(|byte| *byte != 0xff)?;
    key[grown] += 1;
    key[grown + 1..].fill(0);
    Some(key)
}

fn uuids(bytes: &[u8]) -> Vec<Uuid> {
    let (ids, _) = bytes.as_chunks::<ID_BYTES>();
    ids.iter().map(|id| Uuid::from_bytes(*id)).collect()
}

#[cfg(test)]
mod tests {
    use ordo_store::View;

    use super::*;

    fn shape(view: View) -> TableShape {
        view.shape().unwrap()
    }

    fn ids(numbers: &[u128]) -> Vec<Uuid> {
        numbers.iter().map(|number| Uuid::from_u128(*number)).collect()
    }

    fn range(from: &[u8], to: Option<&[u8]>) -> KeyRange {
        KeyRange { from: from.to_vec(), to: to.map(<[u8]>::to_vec) }
    }

    #[test]
    fn a_key_is_taken_apart_and_put_together() {
        let key = [&[3], Uuid::from_u128(7).as_bytes().as_slice()].concat();
        let parts = take_apart(&shape(View::RunsByStatus), &key).unwrap();
        assert_eq!(parts, TableKey { name: Some("failed"), ids: ids(&[7]) });
        assert_eq!(put_together(&shape(View::RunsByStatus), &parts), key);
        let two = [1u128, 2].map(u128::to_be_bytes).concat();
        assert_eq!(take_apart(&shape(View::RunsByJob), &two).unwrap().ids, ids(&[1, 2]));
    }

    #[test]
    fn what_cannot_be_a_key_is_none() {
        let completed = [&[2], Uuid::from_u128(7).as_bytes().as_slice()].concat();
        for (view, key) in [
            (View::Runs, b"short".to_vec()),
            (View::RunsByStatus, completed),
            (View::RunsByStatus, vec![9; 17]),
            (View::RunsByJob, vec![0; 33]),
        ] {
            assert_eq!(take_apart(&shape(view), &key), None, "{view:?}");
        }
    }

    #[test]
    fn the_range_of_a_job_is_all_of_its_runs() {
        let of_job = KeyRange::prefix(Uuid::from_u128(5).as_bytes());
        let expected = Section { name: None, low: ids(&[5, 0]), high: Some(ids(&[6, 0])) };
        assert_eq!(sections(&shape(View::RunsByJob), &of_job), [expected]);
        let all = Section { name: None, low: ids(&[0, 0]), high: None };
        assert_eq!(sections(&shape(View::RunsByJob), &KeyRange::all()), [all]);
    }

    #[test]
    fn a_range_over_several_names_has_a_section_for_each_but_the_one_left_out() {
        let names = |range: &KeyRange| -> Vec<&str> {
            sections(&shape(View::RunsByStatus), range).iter().filter_map(|section| section.name).collect()
        };
        assert_eq!(names(&KeyRange::all()), ["pending", "running", "failed", "cancelled", "skipped"]);
        assert_eq!(names(&KeyRange::prefix(&[3])), ["failed"]);
        assert_eq!(names(&range(&[1, 0xff], Some(&[4]))), ["running", "failed"]);
        assert_eq!(names(&range(&[9], None)), Vec::<&str>::new());
    }

    #[test]
    fn bounds_may_be_shorter_or_longer_than_a_key() {
        let seven = Uuid::from_u128(7);
        let behind = [seven.as_bytes().as_slice(), &[0]].concat();
        let found = sections(&shape(View::Runs), &range(&behind, Some(&[1])));
        assert_eq!(found, [Section { name: None, low: ids(&[8]), high: Some(ids(&[1 << 120])) }]);
        let up_to_and_with = sections(&shape(View::Runs), &range(&[], Some(&behind)));
        assert_eq!(up_to_and_with[0].high, Some(ids(&[8])));
        assert_eq!(sections(&shape(View::Runs), &range(&[0xff; 17], None)), []);
        assert_eq!(sections(&shape(View::Runs), &range(&[], Some(&[0xff; 17])))[0].high, None);
        assert_eq!(sections(&shape(View::Runs), &range(&[2], Some(&[1]))), []);
        assert_eq!(sections(&shape(View::Runs), &range(&[], Some(&[]))), []);
    }
}
