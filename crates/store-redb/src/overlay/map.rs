//! An ordered map from bytes to bytes that may say "gone", with copies that cost nothing: a B+ tree of shared nodes.
//!
//! Invariants: a copy never changes; writing to the map copies the nodes that a copy still holds, and only those.
//! Nothing is ever taken out of it, so nodes never merge: what was deleted stands there as gone, until the whole map
//! is dropped.

use std::sync::Arc;

use super::entries::Entries;
use super::entry::{Entry, KeyHead, SortKey, head_of};

/// Small enough that copying a node is cheap, large enough that a tree of a hundred thousand has four levels.
const NODE_MAX: usize = 32;

#[derive(Debug, Clone)]
pub(crate) struct Map {
    root: Arc<MapNode>,
    len: usize,
}

#[derive(Debug, Clone)]
pub(super) enum MapNode {
    Leaf(Vec<Entry>),
    Branch(Vec<Child>),
}

#[derive(Debug, Clone)]
pub(super) struct Child {
    /// No key of this child lies before it, but for those of the first child: it also has whatever lies further left.
    pub(super) first: Arc<[u8]>,
    head: KeyHead,
    pub(super) node: Arc<MapNode>,
}

impl Child {
    fn new(first: Arc<[u8]>, node: MapNode) -> Child {
        Child { head: head_of(&first), first, node: Arc::new(node) }
    }

    fn sort_key(&self) -> SortKey<'_> {
        SortKey::known(self.head, &self.first)
    }
}

impl Default for Map {
    fn default() -> Map {
        Map { root: Arc::new(MapNode::Leaf(Vec::new())), len: 0 }
    }
}

impl Map {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn root(&self) -> &MapNode {
        &self.root
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<&Entry> {
        let mut node = &*self.root;
        let key = SortKey::of(key);
        loop {
            match node {
                MapNode::Branch(children) => node = &children[child_of(children, key)].node,
                MapNode::Leaf(entries) => {
                    return entries.binary_search_by(|entry| entry.sort_key().cmp(key)).ok().map(|at| &entries[at]);
                }
            }
        }
    }

    /// Puts an entry; returns the one it replaces.
    pub(crate) fn insert(&mut self, entry: Entry) -> Option<Entry> {
        let (replaced, split) = insert(&mut self.root, entry);
        self.len += usize::from(replaced.is_none());
        if let Some(right) = split {
            let left = Child { first: Arc::from([]), head: head_of(&[]), node: std::mem::take(&mut self.root) };
            self.root = Arc::new(MapNode::Branch(vec![left, right]));
        }
        replaced
    }

    /// All entries in ascending order.
    pub(crate) fn iter(&self) -> Entries<'_> {
        use std::ops::Bound::Unbounded;
        Entries::new(self, Unbounded, Unbounded, ordo_store::Direction::Ascending)
    }
}

/// Where a node was taken out to be put elsewhere.
impl Default for MapNode {
    fn default() -> MapNode {
        MapNode::Leaf(Vec::new())
    }
}

fn child_of(children: &[Child], key: SortKey<'_>) -> usize {
    children.partition_point(|child| child.sort_key().cmp(key).is_le()).saturating_sub(1)
}

/// Returns what was replaced, and the right half if the node became too large.
fn insert(node: &mut Arc<MapNode>, entry: Entry) -> (Option<Entry>, Option<Child>) {
    match Arc::make_mut(node) {
        MapNode::Leaf(entries) => match entries.binary_search_by(|there| there.sort_key().cmp(entry.sort_key())) {
            Ok(at) => (Some(std::mem::replace(&mut entries[at], entry)), None),
            Err(at) => {
                entries.insert(at, entry);
                let right = split(entries, at).map(|right| Child::new(Arc::from(right[0].key()), MapNode::Leaf(right)));
                (None, right)
            }
        },
        MapNode::Branch(children) => {
            let at = child_of(children, entry.sort_key());
            let (replaced, grown) = insert(&mut children[at].node, entry);
            let right = grown.and_then(|child| {
                children.insert(at + 1, child);
                let right = split(children, at + 1)?;
                Some(Child::new(Arc::clone(&right[0].first), MapNode::Branch(right)))
            });
            (replaced, right)
        }
    }
}

/// The right half of a node that is too large. One that grew at its end, as with keys in order, stays full.
fn split<T>(whole: &mut Vec<T>, grown_at: usize) -> Option<Vec<T>> {
    if whole.len() <= NODE_MAX {
        return None;
    }
    let at = if grown_at + 1 == whole.len() { grown_at } else { whole.len() / 2 };
    Some(whole.split_off(at))
}
