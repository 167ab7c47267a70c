//! The map against the standard library's, with copies taken on the way.

use std::collections::BTreeMap;
use std::ops::Bound;

use bytes::BytesMut;
use ordo_store::Direction;

use super::{Entries, Entry, Map, Mark, Overlay};
use crate::simdisk::DiskRng;
use crate::tables::TableId;

type Model = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

fn random_key(rng: &mut DiskRng, kinds: u64) -> Vec<u8> {
    let number = rng.below(kinds);
    // Some keys differ only behind their first sixteen bytes.
    let mut key = vec![0; if number.is_multiple_of(2) { 0 } else { 16 }];
    key.extend(number.to_be_bytes());
    key.truncate(key.len() - (number % 3) as usize);
    key
}

fn listed(entries: Entries<'_>) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    entries.map(|entry| (entry.key().to_vec(), entry.value().map(<[u8]>::to_vec))).collect()
}

fn random_bound(rng: &mut DiskRng, kinds: u64) -> Bound<Vec<u8>> {
    match rng.below(3) {
        0 => Bound::Unbounded,
        1 => Bound::Included(random_key(rng, kinds)),
        _ => Bound::Excluded(random_key(rng, kinds)),
    }
}

fn is_inverted(from: &Bound<Vec<u8>>, to: &Bound<Vec<u8>>) -> bool {
    match (from, to) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Excluded(from), Bound::Excluded(to)) => from >= to,
        (Bound::Included(from) | Bound::Excluded(from), Bound::Included(to) | Bound::Excluded(to)) => from > to,
    }
}

fn expect_same(map: &Map, model: &Model, rng: &mut DiskRng, kinds: u64, context: &str) {
    assert_eq!(map.len(), model.len(), "{context}");
    for _ in 0..20 {
        let key = random_key(rng, kinds);
        assert_eq!(map.get(&key).map(|entry| entry.value()), model.get(&key).map(Option::as_deref), "{context}");
        let (from, to) = (random_bound(rng, kinds), random_bound(rng, kinds));
        if is_inverted(&from, &to) {
            continue;
        }
        let (from, to) = (from.as_ref().map(Vec::as_slice), to.as_ref().map(Vec::as_slice));
        let mut right: Vec<_> =
            model.range::<[u8], _>((from, to)).map(|(key, value)| (key.clone(), value.clone())).collect();
        assert_eq!(listed(Entries::new(map, from, to, Direction::Ascending)), right, "{context}");
        right.reverse();
        assert_eq!(listed(Entries::new(map, from, to, Direction::Descending)), right, "{context}");
    }
}

#[test]
fn a_map_finds_and_lists_what_was_put_and_a_copy_never_changes() {
    let first = ordo_model::testing::seed_or(1);
    for seed in first..first + 60 {
        let mut rng = DiskRng::new(seed);
        let kinds = [3, 50, 400, 5_000][(seed % 4) as usize];
        let (mut map, mut model) = (Map::default(), Model::new());
        let mut copies: Vec<(Map, Model)> = Vec::new();
        let mut block = BytesMut::new();
        for step in 0..1_500_u64 {
            // Some maps grow in order, as events do.
            let key = if seed % 5 == 0 { step.to_be_bytes().to_vec() } else { random_key(&mut rng, kinds) };
            let value = (!rng.chance(250)).then(|| step.to_be_bytes().to_vec());
            let entry = match &value {
                Some(value) => Entry::put(&key, value, &mut block),
                None => Entry::gone(&key, &mut block),
            };
            let replaced = map.insert(entry).map(|entry| entry.value().map(<[u8]>::to_vec));
            assert_eq!(replaced, model.insert(key, value), "seed {seed}, step {step}");
            if rng.chance(10) {
                copies.push((map.clone(), model.clone()));
            }
        }
        expect_same(&map, &model, &mut rng, kinds, &format!("seed {seed}"));
        for (copy, model) in &copies {
            expect_same(copy, model, &mut rng, kinds, &format!("seed {seed}, a copy"));
        }
    }
}

#[test]
fn what_is_written_counts_until_the_overlay_is_dropped() {
    let (mut overlay, mut block) = (Overlay::empty(Mark::default()), BytesMut::new());
    assert!(overlay.is_empty());
    overlay.put(TableId::Snapshots, &[1; 17], &[2; 700], &mut block);
    let once = overlay.memory_bytes();
    overlay.put(TableId::Snapshots, &[1; 17], &[3; 700], &mut block);
    assert_eq!(overlay.memory_bytes(), 2 * once, "the block of the first has it still");
    overlay.delete(TableId::Snapshots, &[1; 17], &mut block);
    assert!(overlay.memory_bytes() > 2 * once && !overlay.is_empty());
}
