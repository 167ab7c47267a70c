//! Rows: derived views in key order.

use super::StoreUnderTest;
use super::given::{accept, commit, delete, item, job, put};
use crate::{Direction, KeyRange, RowWrite, Store, View};

/// One whose keys and values only the engine understands.
const VIEW: View = View::Index;

pub async fn a_row_is_put_replaced_and_deleted(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, item(job(1), 0).with_rows(vec![put(VIEW, b"k", b"old")])).await;
    assert_eq!(store.row(VIEW, b"k").await.unwrap(), Some(b"old".to_vec()));
    accept(&*store, item(job(1), 1).with_rows(vec![put(VIEW, b"k", b"new")])).await;
    assert_eq!(store.row(VIEW, b"k").await.unwrap(), Some(b"new".to_vec()));
    accept(&*store, item(job(1), 2).with_rows(vec![delete(VIEW, b"k")])).await;
    assert_eq!(store.row(VIEW, b"k").await.unwrap(), None);
}

pub async fn deleting_a_row_that_is_not_there_is_harmless(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, item(job(1), 0).with_rows(vec![delete(VIEW, b"nothing")])).await;
    assert_eq!(keys(&*store, &KeyRange::all(), Direction::Ascending, 10).await, Vec::<String>::new());
}

pub async fn rows_come_in_the_order_of_their_keys(place: &dyn StoreUnderTest) {
    let store = with(place, &["b", "a", "c", "aa"]).await;
    assert_eq!(keys(&*store, &KeyRange::all(), Direction::Ascending, 10).await, ["a", "aa", "b", "c"]);
    assert_eq!(keys(&*store, &KeyRange::all(), Direction::Ascending, 2).await, ["a", "aa"]);
}

pub async fn rows_come_backwards_when_asked(place: &dyn StoreUnderTest) {
    let store = with(place, &["b", "a", "c", "aa"]).await;
    assert_eq!(keys(&*store, &KeyRange::all(), Direction::Descending, 10).await, ["c", "b", "aa", "a"]);
    let range = KeyRange { from: b"aa".to_vec(), to: Some(b"c".to_vec()) };
    assert_eq!(keys(&*store, &range, Direction::Descending, 10).await, ["b", "aa"]);
    assert_eq!(keys(&*store, &range, Direction::Descending, 1).await, ["b"]);
}

pub async fn a_range_includes_its_start_and_excludes_its_end(place: &dyn StoreUnderTest) {
    let store = with(place, &["a", "b", "c", "d"]).await;
    let range = KeyRange { from: b"b".to_vec(), to: Some(b"d".to_vec()) };
    assert_eq!(keys(&*store, &range, Direction::Ascending, 10).await, ["b", "c"]);
    let open = KeyRange { from: b"c".to_vec(), to: None };
    assert_eq!(keys(&*store, &open, Direction::Ascending, 10).await, ["c", "d"]);
}

pub async fn a_prefix_range_finds_exactly_its_rows(place: &dyn StoreUnderTest) {
    let store = with(place, &["job", "job/", "job/1", "job/2", "job0", "k"]).await;
    assert_eq!(keys(&*store, &KeyRange::prefix(b"job/"), Direction::Ascending, 10).await, ["job/", "job/1", "job/2"]);
    assert_eq!(keys(&*store, &KeyRange::prefix(b"job/"), Direction::Descending, 1).await, ["job/2"]);
    let rows = vec![put(VIEW, &[0xff], b""), put(VIEW, &[0xff, 0xff], b"")];
    accept(&*store, item(job(2), 0).with_rows(rows)).await;
    assert_eq!(store.rows(VIEW, &KeyRange::prefix(&[0xff]), Direction::Ascending, 10).await.unwrap().len(), 2);
}

pub async fn a_range_that_ends_before_it_starts_is_empty(place: &dyn StoreUnderTest) {
    let store = with(place, &["a", "b"]).await;
    for (from, to) in [("b", "a"), ("a", "a")] {
        let range = KeyRange { from: from.into(), to: Some(to.into()) };
        assert_eq!(keys(&*store, &range, Direction::Ascending, 10).await, Vec::<String>::new());
    }
}

pub async fn views_do_not_see_each_others_rows(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let opaque: Vec<View> = View::ALL.into_iter().filter(|view| view.shape().is_none()).collect();
    let rows = opaque.iter().map(|view| put(*view, b"k", view.name().as_bytes())).collect();
    accept(&*store, item(job(1), 0).with_rows(rows)).await;
    for view in opaque {
        assert_eq!(store.row(view, b"k").await.unwrap(), Some(view.name().into()));
        assert_eq!(store.rows(view, &KeyRange::all(), Direction::Ascending, 10).await.unwrap().len(), 1);
    }
}

pub async fn the_last_write_of_a_row_in_an_item_stays(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let rows = vec![
        put(VIEW, b"k", b"1"),
        delete(VIEW, b"k"),
        put(VIEW, b"k", b"2"),
        put(VIEW, b"gone", b""),
        delete(VIEW, b"gone"),
    ];
    accept(&*store, item(job(1), 0).with_rows(rows)).await;
    assert_eq!(store.row(VIEW, b"k").await.unwrap(), Some(b"2".to_vec()));
    assert_eq!(store.row(VIEW, b"gone").await.unwrap(), None);
}

pub async fn rows_of_a_refused_item_are_not_written(place: &dyn StoreUnderTest) {
    let store = with(place, &["kept"]).await;
    let rows = vec![put(VIEW, b"new", b""), delete(VIEW, b"kept")];
    commit(&*store, vec![item(job(1), 9).with_rows(rows)]).await;
    assert_eq!(keys(&*store, &KeyRange::all(), Direction::Ascending, 10).await, ["kept"]);
}

pub async fn an_empty_value_is_a_row(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, item(job(1), 0).with_rows(vec![put(VIEW, b"", b"")])).await;
    assert_eq!(store.row(VIEW, b"").await.unwrap(), Some(Vec::new()));
    assert_eq!(store.rows(VIEW, &KeyRange::all(), Direction::Descending, 10).await.unwrap().len(), 1);
}

pub async fn a_page_may_be_of_no_rows(place: &dyn StoreUnderTest) {
    let store = with(place, &["a"]).await;
    assert_eq!(keys(&*store, &KeyRange::all(), Direction::Ascending, 0).await, Vec::<String>::new());
}

pub async fn rows_by_key_are_one_answer_per_key_in_order(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let rows = vec![put(VIEW, b"a", b"1"), put(VIEW, b"b", b""), put(View::Queue, b"c", b"3")];
    accept(&*store, item(job(1), 0).with_rows(rows)).await;
    let asked = [b"b".to_vec(), b"c".to_vec(), b"a".to_vec(), Vec::new(), b"a".to_vec()];
    let one = Some(b"1".to_vec());
    let found = store.rows_by_key(VIEW, &asked).await.unwrap();
    assert_eq!(found, [Some(Vec::new()), None, one.clone(), None, one]);
    assert_eq!(store.rows_by_key(VIEW, &[]).await.unwrap(), Vec::<Option<Vec<u8>>>::new());
}

pub async fn rows_of_ranges_are_one_list_per_range_each_cut_at_the_limit(place: &dyn StoreUnderTest) {
    let store = with(place, &["a/1", "a/2", "a/3", "b/1", "c/1", "c/2"]).await;
    let ranges = [KeyRange::prefix(b"c/"), KeyRange::prefix(b"x/"), KeyRange::prefix(b"a/"), KeyRange::prefix(b"a/")];
    for (order, expected) in [
        (Direction::Ascending, [vec!["c/1", "c/2"], vec![], vec!["a/1", "a/2"], vec!["a/1", "a/2"]]),
        (Direction::Descending, [vec!["c/2", "c/1"], vec![], vec!["a/3", "a/2"], vec!["a/3", "a/2"]]),
    ] {
        assert_eq!(ranged(&*store, &ranges, order, 2).await, expected);
    }
    assert_eq!(ranged(&*store, &[], Direction::Ascending, 2).await, Vec::<Vec<String>>::new());
}

pub async fn rows_of_ranges_may_be_open_empty_or_the_wrong_way_round(place: &dyn StoreUnderTest) {
    let store = with(place, &["a", "b", "c"]).await;
    let open = KeyRange { from: b"b".to_vec(), to: None };
    let reversed = KeyRange { from: b"c".to_vec(), to: Some(b"a".to_vec()) };
    assert_eq!(ranged(&*store, &[open, KeyRange::all()], Direction::Descending, 2).await, [["c", "b"], ["c", "b"]]);
    let found = ranged(&*store, &[reversed, KeyRange::prefix(b"b")], Direction::Ascending, 2).await;
    assert_eq!(found, [vec![], vec!["b"]]);
}

async fn ranged(store: &dyn Store, ranges: &[KeyRange], order: Direction, limit: usize) -> Vec<Vec<String>> {
    let found = store.rows_of_ranges(VIEW, ranges, order, limit).await.unwrap();
    let texts = |rows: Vec<crate::Row>| rows.into_iter().map(|row| String::from_utf8(row.key).unwrap()).collect();
    found.into_iter().map(texts).collect()
}

async fn with(place: &dyn StoreUnderTest, keys: &[&str]) -> std::sync::Arc<dyn Store> {
    let store = place.open().await;
    let rows: Vec<RowWrite> = keys.iter().map(|key| put(VIEW, key.as_bytes(), b"v")).collect();
    accept(&*store, item(job(1), 0).with_rows(rows)).await;
    store
}

async fn keys(store: &dyn Store, range: &KeyRange, order: Direction, limit: usize) -> Vec<String> {
    let rows = store.rows(VIEW, range, order, limit).await.unwrap();
    rows.into_iter().map(|row| String::from_utf8(row.key).unwrap()).collect()
}
