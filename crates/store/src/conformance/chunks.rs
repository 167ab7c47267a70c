//! Chunks: the bytes beside the events, in order, gone with their owner.

use uuid::Uuid;

use super::StoreUnderTest;
use super::given::{chunk, grow, item, job};
use crate::{Batch, Chunk, CommitOutcome, Item, Store};

pub async fn chunks_come_in_order_of_number_not_of_arrival(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    write(&*store, vec![chunk(1, 256, "c"), chunk(1, 0, "a")]).await;
    write(&*store, vec![chunk(1, 255, "b")]).await;
    assert_eq!(texts(&*store, 1, 0, 10).await, ["a", "b", "c"]);
}

pub async fn chunks_page_from_a_number(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    write(&*store, (0..5).map(|seq| chunk(1, seq, &seq.to_string())).collect()).await;
    assert_eq!(texts(&*store, 1, 2, 2).await, ["2", "3"]);
    assert_eq!(texts(&*store, 1, 5, 2).await, Vec::<String>::new());
    write(&*store, vec![chunk(1, u64::MAX, "last")]).await;
    assert_eq!(texts(&*store, 1, 5, 2).await, ["last"]);
}

pub async fn chunks_of_owners_do_not_mix(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    write(&*store, vec![chunk(1, 0, "one"), chunk(2, 0, "two"), chunk(3, 0, "three")]).await;
    assert_eq!(texts(&*store, 2, 0, 10).await, ["two"]);
    assert_eq!(texts(&*store, 4, 0, 10).await, Vec::<String>::new());
}

pub async fn forgetting_an_owner_forgets_all_its_chunks_and_no_others(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let mut chunks: Vec<Chunk> = (0..100).map(|seq| chunk(2, seq, "gone")).collect();
    chunks.extend([chunk(1, u64::MAX, "before"), chunk(3, 0, "after"), chunk(2, u64::MAX, "gone")]);
    write(&*store, chunks).await;
    forget(&*store, item(job(1), 0), 2).await;
    assert_eq!(texts(&*store, 2, 0, 200).await, Vec::<String>::new());
    assert_eq!(
        (texts(&*store, 1, 0, 10).await, texts(&*store, 3, 0, 10).await),
        (vec!["before".into()], vec!["after".into()])
    );
    assert_eq!(store.stats().await.unwrap().chunks, 2);
}

pub async fn a_refused_item_forgets_no_chunks(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    write(&*store, vec![chunk(1, 0, "kept")]).await;
    forget(&*store, item(job(1), 9), 1).await;
    assert_eq!(texts(&*store, 1, 0, 10).await, ["kept"]);
}

pub async fn chunks_alone_make_a_batch(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let outcomes = store.commit(Batch { items: Vec::new(), chunks: vec![chunk(1, 0, "a")] }).await.unwrap();
    assert_eq!(outcomes, []);
    assert_eq!(texts(&*store, 1, 0, 10).await, ["a"]);
}

pub async fn chunks_are_written_even_where_all_items_are_refused(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    grow(&*store, job(1), 1).await;
    let batch = Batch { items: vec![item(job(1), 0)], chunks: vec![chunk(1, 0, "log")] };
    assert_eq!(store.commit(batch).await.unwrap(), [CommitOutcome::Conflict { actual: 1 }]);
    assert_eq!(texts(&*store, 1, 0, 10).await, ["log"]);
}

pub async fn a_chunk_given_with_the_item_that_forgets_its_owner_is_forgotten(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let forgets = Item { forget_chunks: vec![Uuid::from_u128(1)], ..item(job(1), 0) };
    store.commit(Batch { items: vec![forgets], chunks: vec![chunk(1, 0, "late")] }).await.unwrap();
    assert_eq!(texts(&*store, 1, 0, 10).await, Vec::<String>::new());
}

pub async fn a_chunk_given_again_replaces_the_former(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    write(&*store, vec![chunk(1, 0, "first"), chunk(1, 1, "beside")]).await;
    write(&*store, vec![chunk(1, 0, "second")]).await;
    assert_eq!(texts(&*store, 1, 0, 10).await, ["second", "beside"]);
    assert_eq!(store.stats().await.unwrap().chunks, 2);
}

async fn write(store: &dyn Store, chunks: Vec<Chunk>) {
    store.commit(Batch { items: Vec::new(), chunks }).await.unwrap();
}

async fn forget(store: &dyn Store, item: Item, owner: u128) {
    let item = Item { forget_chunks: vec![Uuid::from_u128(owner)], ..item };
    store.commit(Batch { items: vec![item], chunks: Vec::new() }).await.unwrap();
}

async fn texts(store: &dyn Store, owner: u128, from: u64, limit: usize) -> Vec<String> {
    let chunks = store.chunks(Uuid::from_u128(owner), from, limit).await.unwrap();
    chunks.into_iter().map(|chunk| String::from_utf8(chunk.bytes).unwrap()).collect()
}
