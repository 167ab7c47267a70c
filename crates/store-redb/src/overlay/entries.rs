//! Walks a range of a map in order, from either end.
//!
//! Invariant: a walk sees the map as it was when it began; it holds a place in each level of the tree.

use std::cmp::Ordering;
use std::ops::Bound;

use ordo_store::Direction;

use super::entry::Entry;
use super::map::{Child, Map, MapNode};

#[derive(Debug)]
pub(crate) struct Entries<'m> {
    /// From the root: the children, and which of them the walk is in.
    path: Vec<(&'m [Child], usize)>,
    leaf: &'m [Entry],
    /// Ascending: the next entry. Descending: the one behind the next.
    at: usize,
    order: Direction,
    /// Where the walk ends.
    until: Bound<Vec<u8>>,
}

impl<'m> Entries<'m> {
    pub(crate) fn new(map: &'m Map, from: Bound<&[u8]>, to: Bound<&[u8]>, order: Direction) -> Entries<'m> {
        let (start, until) = match order {
            Direction::Ascending => (from, to),
            Direction::Descending => (to, from),
        };
        let mut entries = Entries { path: Vec::new(), leaf: &[], at: 0, order, until: until.map(<[u8]>::to_vec) };
        entries.seek(map.root(), start);
        entries
    }

    /// The entry the walk stands at.
    pub(crate) fn peek(&self) -> Option<&'m Entry> {
        let entry = match self.order {
            Direction::Ascending => self.leaf.get(self.at),
            Direction::Descending => self.leaf.get(self.at.checked_sub(1)?),
        };
        entry.filter(|entry| self.is_within(entry.key()))
    }

    pub(crate) fn advance(&mut self) {
        match self.order {
            Direction::Ascending => {
                self.at += 1;
                if self.at >= self.leaf.len() {
                    self.step_to_next_leaf();
                }
            }
            Direction::Descending => {
                self.at = self.at.saturating_sub(1);
                if self.at == 0 {
                    self.step_to_next_leaf();
                }
            }
        }
    }

    fn is_within(&self, key: &[u8]) -> bool {
        let (end, included) = match &self.until {
            Bound::Unbounded => return true,
            Bound::Included(end) => (end, true),
            Bound::Excluded(end) => (end, false),
        };
        match key.cmp(end) {
            Ordering::Equal => included,
            Ordering::Less => self.order == Direction::Ascending,
            Ordering::Greater => self.order == Direction::Descending,
        }
    }

    /// Goes to where the walk starts.
    fn seek(&mut self, root: &'m MapNode, start: Bound<&[u8]>) {
        // Whether a key lies left of the start, or, from the right, not right of it.
        let is_left = |key: &[u8]| match (self.order, start) {
            (Direction::Ascending, Bound::Unbounded) => false,
            (Direction::Ascending, Bound::Included(start)) | (Direction::Descending, Bound::Excluded(start)) => {
                key < start
            }
            (Direction::Ascending, Bound::Excluded(start)) | (Direction::Descending, Bound::Included(start)) => {
                key <= start
            }
            (Direction::Descending, Bound::Unbounded) => true,
        };
        let (mut node, mut path) = (root, Vec::new());
        let (leaf, at) = loop {
            match node {
                MapNode::Branch(children) => {
                    let child = children.partition_point(|child| is_left(&child.first)).saturating_sub(1);
                    path.push((children.as_slice(), child));
                    node = &children[child].node;
                }
                MapNode::Leaf(entries) => {
                    break (entries.as_slice(), entries.partition_point(|entry| is_left(entry.key())));
                }
            }
        };
        (self.path, self.leaf, self.at) = (path, leaf, at);
        let is_at_edge = match self.order {
            Direction::Ascending => at == leaf.len(),
            Direction::Descending => at == 0,
        };
        if is_at_edge {
            self.step_to_next_leaf();
        }
    }

    fn step_to_next_leaf(&mut self) {
        let mut next = None;
        while let Some((children, at)) = self.path.pop() {
            let beside = match self.order {
                Direction::Ascending => Some(at + 1).filter(|beside| *beside < children.len()),
                Direction::Descending => at.checked_sub(1),
            };
            if let Some(beside) = beside {
                self.path.push((children, beside));
                next = Some(&*children[beside].node);
                break;
            }
        }
        let Some(mut node) = next else {
            (self.leaf, self.at) = (&[], 0);
            return;
        };
        while let MapNode::Branch(children) = node {
            let edge = match self.order {
                Direction::Ascending => 0,
                Direction::Descending => children.len() - 1,
            };
            self.path.push((children, edge));
            node = &children[edge].node;
        }
        if let MapNode::Leaf(entries) = node {
            let at = match self.order {
                Direction::Ascending => 0,
                Direction::Descending => entries.len(),
            };
            (self.leaf, self.at) = (entries, at);
        }
    }
}

impl<'m> Iterator for Entries<'m> {
    type Item = &'m Entry;

    fn next(&mut self) -> Option<&'m Entry> {
        let entry = self.peek()?;
        self.advance();
        Some(entry)
    }
}
