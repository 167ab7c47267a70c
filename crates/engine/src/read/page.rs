//! Pages of lists: how every list is read piece by piece, and the cursor that says where the next page begins.
//!
//! Invariant: a page costs a bounded number of reads whatever is looked for. Where that is not enough the page is short,
//! perhaps empty, and its cursor goes on; no entry is met twice and none is passed over.

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ordo_model::Kind;
use ordo_store::{Direction, Fault, KeyRange};
use sha2::{Digest, Sha256};

use crate::read::job_list::JobOrder;

/// How much more each piece of a list holds than the one before it, and how much a piece holds at most.
const GROWTH: usize = 4;
const PIECE_MAX: usize = 5_000;

#[derive(Debug, Clone)]
pub struct ListPage<T> {
    pub items: Vec<T>,
    /// None when the list is over.
    pub next: Option<Cursor>,
}

impl<T> Default for ListPage<T> {
    fn default() -> ListPage<T> {
        ListPage { items: Vec::new(), next: None }
    }
}

/// The lists that have cursors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    Jobs(JobOrder),
    /// Jobs in the order in which their last runs began.
    JobsByLastRun,
    Runs,
    Audit,
    /// An index of objects.
    Index {
        kind: Kind,
        number: u8,
    },
}

impl List {
    const fn code(self) -> [u8; 2] {
        match self {
            List::Jobs(order) => [1, order.code()],
            List::JobsByLastRun => [2, 0],
            List::Runs => [3, 0],
            List::Audit => [4, 0],
            List::Index { kind, number } => [16 + kind.code(), number],
        }
    }
}

/// Behind which entry of which list the next page begins. Opaque to clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    list: [u8; 2],
    key: Vec<u8>,
}

/// A text that no list gave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor")]
pub struct InvalidCursor;

/// Of the text of a cursor; a text of another version is refused like one that somebody made up.
const VERSION: u8 = 1;
const CHECK_BYTES: usize = 4;

impl Cursor {
    pub(crate) fn new(list: List, key: Vec<u8>) -> Cursor {
        Cursor { list: list.code(), key }
    }

    pub(crate) fn is_of(&self, list: List) -> bool {
        self.list == list.code()
    }

    /// The key behind which the list goes on; a cursor of another list is refused.
    pub(crate) fn key(&self, list: List) -> Result<&[u8], Fault> {
        if self.is_of(list) { Ok(&self.key) } else { Err(self.refused()) }
    }

    pub(crate) fn refused(&self) -> Fault {
        Fault::NotAPosition { given: self.to_string() }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = [&[VERSION], self.list.as_slice(), &self.key].concat();
        bytes.extend(check_bytes(&bytes));
        f.write_str(&URL_SAFE_NO_PAD.encode(bytes))
    }
}

impl FromStr for Cursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Cursor, InvalidCursor> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| InvalidCursor)?;
        let (content, check) = bytes.split_last_chunk::<CHECK_BYTES>().ok_or(InvalidCursor)?;
        match content {
            [VERSION, list, number, key @ ..] if *check == check_bytes(content) => {
                Ok(Cursor { list: [*list, *number], key: key.to_vec() })
            }
            _ => Err(InvalidCursor),
        }
    }
}

/// Distinguishes a cursor from a text that was cut, mistyped or made up. Not a secret: a cursor gives no access to anything.
fn check_bytes(content: &[u8]) -> [u8; CHECK_BYTES] {
    let digest = Sha256::digest(content);
    std::array::from_fn(|place| digest[place])
}

/// What stands at one place of a list.
pub(crate) enum ListEntry<T> {
    Shown(T),
    /// Does not fit what is looked for.
    Passed,
    /// Nothing from here on fits.
    End,
}

/// A list as it is walked: keys in its order, each with what stands there.
#[async_trait]
pub(crate) trait ListSource<T>: Sync {
    /// The entries behind a key: exactly `count` of them unless the list ends.
    async fn read(&self, after: Option<&[u8]>, count: usize) -> Result<Vec<(Vec<u8>, ListEntry<T>)>, Fault>;

    /// How many entries one page may look at.
    fn entries_max(&self) -> usize;
}

/// One page. The first piece is as large as the page needs if everything fits; the next ones grow.
pub(crate) async fn read_page<T>(
    source: &dyn ListSource<T>,
    list: List,
    after: Option<&Cursor>,
    limit: usize,
) -> Result<ListPage<T>, Fault> {
    let mut at = after.map(|cursor| cursor.key(list)).transpose()?.map(<[u8]>::to_vec);
    let mut items = Vec::new();
    let (mut walked, mut count) = (0, limit + 1);
    let go_on = |at: Option<Vec<u8>>| at.map(|key| Cursor::new(list, key));
    loop {
        let entries = source.read(at.as_deref(), count).await?;
        let is_end = entries.len() < count;
        walked += entries.len();
        for (key, entry) in entries {
            if items.len() >= limit {
                return Ok(ListPage { items, next: go_on(at) });
            }
            match entry {
                ListEntry::Shown(item) => items.push(item),
                ListEntry::Passed => {}
                ListEntry::End => return Ok(ListPage { items, next: None }),
            }
            at = Some(key);
        }
        if is_end {
            return Ok(ListPage { items, next: None });
        }
        if items.len() >= limit || walked >= source.entries_max() {
            return Ok(ListPage { items, next: go_on(at) });
        }
        count = (count * GROWTH).min(PIECE_MAX).min(source.entries_max() - walked);
    }
}

/// What is left of a range behind a key. A key outside of the range does not widen it.
pub(crate) fn rest(mut range: KeyRange, after: Option<Vec<u8>>, order: Direction) -> KeyRange {
    match (after, order) {
        (None, _) => {}
        (Some(mut key), Direction::Ascending) => {
            key.push(0);
            range.from = range.from.max(key);
        }
        (Some(key), Direction::Descending) => {
            if range.to.as_ref().is_none_or(|to| key < *to) {
                range.to = Some(key);
            }
        }
    }
    range
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Numbers {
        until: u8,
        entries_max: usize,
    }

    /// Even numbers are shown; the keys are the numbers.
    #[async_trait]
    impl ListSource<u8> for Numbers {
        async fn read(&self, after: Option<&[u8]>, count: usize) -> Result<Vec<(Vec<u8>, ListEntry<u8>)>, Fault> {
            let from = after.map_or(0, |key| key[0] + 1);
            let entry =
                |number: u8| if number.is_multiple_of(2) { ListEntry::Shown(number) } else { ListEntry::Passed };
            Ok((from..self.until).take(count).map(|number| (vec![number], entry(number))).collect())
        }

        fn entries_max(&self) -> usize {
            self.entries_max
        }
    }

    async fn walk(source: &Numbers, limit: usize) -> (Vec<u8>, usize) {
        let (mut items, mut pages, mut after): (Vec<u8>, usize, Option<Cursor>) = (Vec::new(), 0, None);
        loop {
            let page = read_page(source, List::Runs, after.as_ref(), limit).await.unwrap();
            assert!(page.items.len() <= limit);
            items.extend(page.items);
            pages += 1;
            match page.next {
                Some(next) => after = Some(next.to_string().parse().unwrap()),
                None => return (items, pages),
            }
        }
    }

    #[tokio::test]
    async fn every_fitting_entry_is_met_once_whatever_the_limits() {
        let expected: Vec<u8> = (0..100).step_by(2).collect();
        for limit in [1, 2, 3, 49, 50, 51, 200] {
            for entries_max in [1, 2, 7, 1_000] {
                assert_eq!(
                    walk(&Numbers { until: 100, entries_max }, limit).await.0,
                    expected,
                    "{limit} {entries_max}"
                );
            }
        }
        assert_eq!(walk(&Numbers { until: 0, entries_max: 10 }, 5).await, (vec![], 1));
    }

    #[test]
    fn a_cursor_is_read_as_it_was_written_and_nothing_else_is() {
        for list in [List::Jobs(JobOrder::Label), List::Runs, List::Index { kind: Kind::Secret, number: 3 }] {
            for key in [vec![], vec![0, 1, 255], b"backup\0".to_vec()] {
                let cursor = Cursor::new(list, key);
                let text = cursor.to_string();
                assert_eq!(text.parse(), Ok(cursor));
                assert_eq!(text[1..].parse::<Cursor>(), Err(InvalidCursor));
                assert_eq!(text[..text.len() - 1].parse::<Cursor>(), Err(InvalidCursor));
            }
        }
        for nonsense in ["", "x", "12345", "%00", "ü", "AQEAAAAAAA", "018f0000000070008000000000000000"] {
            assert_eq!(nonsense.parse::<Cursor>(), Err(InvalidCursor), "{nonsense}");
        }
    }

    #[test]
    fn a_cursor_of_another_list_is_refused() {
        let cursor = Cursor::new(List::Jobs(JobOrder::Label), vec![1]);
        assert_eq!(cursor.key(List::Jobs(JobOrder::Label)).unwrap(), [1]);
        assert!(matches!(cursor.key(List::Jobs(JobOrder::Newest)), Err(Fault::NotAPosition { .. })));
        assert!(matches!(cursor.key(List::Runs), Err(Fault::NotAPosition { .. })));
    }

    #[test]
    fn a_key_outside_of_a_range_does_not_widen_it() {
        let range = KeyRange::prefix(b"b");
        for order in [Direction::Ascending, Direction::Descending] {
            let (low, high) =
                (rest(range.clone(), Some(b"a".to_vec()), order), rest(range.clone(), Some(b"z".to_vec()), order));
            assert!(low.from >= range.from && high.from >= range.from && low.to <= range.to && high.to <= range.to);
        }
    }
}
