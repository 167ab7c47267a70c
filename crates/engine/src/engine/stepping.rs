//! For whoever sets the clock: say that it moved, and see when its work is done.

use crate::core::Input;
use crate::engine::Engine;

impl Engine {
    /// Has the core see what time it is.
    pub fn look_at_the_clock(&self) {
        self.send_input(Input::Time);
    }

    /// Nothing runs here, nothing is about to, and nothing waits in memory for a place.
    pub async fn is_idle(&self) -> bool {
        let load = self.load().await;
        load.is_idle && load.pools.iter().all(|(_, running, waiting)| running + waiting == 0)
    }
}
