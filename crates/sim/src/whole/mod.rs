//! The whole world: real engines with everything they do besides jobs, on real stores over a simulated disk and network,
//! in one thread from one seed.
//!
//! The jobs' world drives the core by hand and judges it to the millisecond. Here whole engines run on a runtime whose clock
//! jumps to the next thing that happens: rounds, shell, reconcilers, dispatcher of notifications, leases and maintenance are
//! those of the server. One embedded node, or several on one shared store.
//! Invariant: no thread, no real clock, no chance but the seed's. What a seed found once it finds again.

mod clock;
mod cluster;
mod director;
mod ending;
mod executors;
pub mod facts;
mod generation;
mod node;
pub mod oracle;
mod plan;
mod scene;
mod senders;
mod store;
mod tools;
mod users;
mod wire;

pub use facts::WholeHistory;
pub use plan::FaultKind;

use std::sync::Arc;

use crate::record::trace::Trace;
use scene::Scene;

/// Lets the world of a seed happen. Returns what is known of it.
pub fn run(seed: u64, keep_trace: bool) -> (WholeHistory, Trace) {
    ordo_engine::simulated::seed(Some(seed));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without threads and sockets");
    let known = runtime.block_on(async {
        let scene = Arc::new(Scene::new(seed, keep_trace));
        director::play(&scene).await;
        scene.take()
    });
    drop(runtime);
    ordo_engine::simulated::seed(None);
    known
}
