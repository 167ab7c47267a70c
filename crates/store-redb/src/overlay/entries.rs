//! Walks a range of a map in order, from either end.
//!
//! Invariant: a walk sees the map as it was when it began; it holds a place in each level of the tree.

use std::cmp::Ordering;
use std::ops::Bound;

use ordo_store::Order;

use super::entry::Entry;
use super::map::{Child, Map, Node};

#[derive(Debug)]
pub(crate) struct Entries<'m> {
    /// From the root: the children, and which of them the walk is in.
    path: Vec<(&'m [Child], usize)>,
    leaf: &'m [Entry],
    /// Ascending: the next entry. Descending: the one behind the next.
    at: usize,
    order: Order,
    /// Where the walk ends.
    until: Bound<Vec<u8>>,
}

impl<'m> Entries<'m> {
    pub(crate) fn new(map: &'m Map, from: Bound<&[u8]>, to: Bound<&[u8]>, order: Order) -> Entries<'m> {
        let (start, until) = match order {
            Order::Ascending => (from, to),
            Order::Descending => (to, from),
        };
        let mut entries = Entries { path: Vec::new(), leaf: &[], at: 0, order, until: until.map(<[u8]>::to_vec) };
        entries.seek(map.root(), start);
        entries
    }

    /// The entry the walk stands at.
    pub(crate) fn peek(&self) -> Option<&'m Entry> {
        let entry = match self.order {
            Order::Ascending => self.leaf.get(self.at),
            Order::Descending => self.leaf.get(self.at.checked_sub(1)?),
        };
        entry.filter(|entry| self.is_within(entry.key()))
    }

    pub(crate) fn advance(&mut self) {
        match self.order {
            Order::Ascending => {
                self.at += 1;
                if self.at >= self.leaf.len() {
                    self.step_to_next_leaf();
                }
            }
            Order::Descending => {
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
            Ordering::Less => self.order == Order::Ascending,
            Ordering::Greater => self.order == Order::Descending,
        }
    }

    /// Goes to where the walk starts.
    fn seek(&mut self, root: &'m Node, start: Bound<&[u8]>) {
        // Whether a key lies left of the start, or, from the right, not right of it.
        let is_left = |key: &[u8]| match (self.order, start) {
            (Order::Ascending, Bound::Unbounded) => false,
            (Order::Ascending, Bound::Included(start)) | (Order::Descending, Bound::Excluded(start)) => key < start,
            (Order::Ascending, Bound::Excluded(start)) | (Order::Descending, Bound::Included(start)) => key <= start,
            (Order::Descending, Bound::Unbounded) => true,
        };
        let (mut node, mut path) = (root, Vec::new());
        let (leaf, at) = loop {
            match node {
                Node::Branch(children) => {
                    let child = children.partition_point(|child| is_left(&child.first)).saturating_sub(1);
                    path.push((children.as_slice(), child));
                    node = &children[child].node;
                }
                Node::Leaf(entries) => {
                    break (entries.as_slice(), entries.partition_point(|entry| is_left(entry.key())));
                }
            }
        };
        (self.path, self.leaf, self.at) = (path, leaf, at);
        let is_at_edge = match self.order {
            Order::Ascending => at == leaf.len(),
            Order::Descending => at == 0,
        };
        if is_at_edge {
            self.step_to_next_leaf();
        }
    }

    fn step_to_next_leaf(&mut self) {
        let mut next = None;
        while let Some((children, at)) = self.path.pop() {
            let beside = match self.order {
                Order::Ascending => Some(at + 1).filter(|beside| *beside < children.len()),
                Order::Descending => at.checked_sub(1),
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
        while let Node::Branch(children) = node {
            let edge = match self.order {
                Order::Ascending => 0,
                Order::Descending => children.len() - 1,
            };
            self.path.push((children, edge));
            node = &children[edge].node;
        }
        if let Node::Leaf(entries) = node {
            let at = match self.order {
                Order::Ascending => 0,
                Order::Descending => entries.len(),
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
