//! What executors say, bent: it is read or refused, and what is read can be written down again.

use std::fmt::Debug;

use ordo_api::executors::{Heartbeat, NewExecutor, Poll};
use ordo_api::reports::{LogChunks, Reports};
use ordo_fuzz::fuzz_text;
use serde::Serialize;
use serde::de::DeserializeOwned;

fn assert_round_trip<T: DeserializeOwned + Serialize + PartialEq + Debug>(text: &str) {
    let Ok(read) = serde_json::from_str::<T>(text) else { return };
    let written = serde_json::to_string(&read).expect("it can be written and read");
    assert_eq!(serde_json::from_str::<T>(&written).expect("it can be written and read"), read, "{written}");
}

#[test]
fn fuzz_executor_messages() {
    fuzz_text("executor", include_str!("corpus/executor.txt"), |text| {
        assert_round_trip::<NewExecutor>(text);
        assert_round_trip::<Heartbeat>(text);
        assert_round_trip::<Poll>(text);
        assert_round_trip::<Reports>(text);
        assert_round_trip::<LogChunks>(text);
    });
}
