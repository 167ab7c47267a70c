//! Whether a commit would succeed: found out with a record that holds nothing, and by waiting for redb.

use crate::sync::atomic::Ordering;
use std::convert::Infallible;

use ordo_store::Fault;
use tokio::sync::oneshot;

use super::{Done, Handle};
use crate::apply::Lasting;
use crate::commit::Writing;
use crate::journal::Journaling;

/// What shows that a commit would succeed, once redb durably holds this record, or a later one than it held then.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Proof {
    generation: u64,
    record: u64,
    durable: u64,
}

impl Handle {
    /// Appends a record that holds nothing, as a commit would; or does without it where others were appended since the
    /// last time: they are proof enough. For redb, [`Handle::begin_proving`] decides.
    pub(crate) fn try_append(&self) -> Result<Proof, Fault> {
        let mut writing = self.lock_writing();
        self.refuse_damaged()?;
        self.open_anew(&mut writing)?;
        // Records of before say nothing about a rebuild that has begun since.
        Writing::expect_complete(&self.moment()?.1)?;
        let before = self.probed.load(Ordering::Acquire);
        let record = match &*writing {
            Journaling::Without => {
                self.write_locked(|_, _| Ok(Done::Write(())))?;
                0
            }
            Journaling::Idle | Journaling::Open(_) => {
                if self.shared.lock().active.mark.record <= before {
                    self.commit_locked(&mut writing, &[])?;
                }
                before + 1
            }
        };
        let state = self.shared.lock();
        self.probed.store(state.active.mark.record, Ordering::Release);
        Ok(Proof { generation: state.generation, record, durable: state.durable.record })
    }

    /// None: redb has durably taken what there is to prove. Otherwise this hands it over, and what is returned ends when
    /// redb has gone on, or has failed.
    pub(crate) fn begin_proving(&self, proof: Proof) -> Result<Option<oneshot::Receiver<Infallible>>, Fault> {
        let _writing = self.lock_writing();
        let state = self.shared.lock();
        if state.durable.record >= proof.record || state.durable.record > proof.durable {
            return Ok(None);
        }
        if state.generation != proof.generation {
            return Err(Fault::unavailable("writing to redb", "it failed, and the store was opened anew: try again"));
        }
        state.expect_well()?;
        self.refuse_damaged()?;
        // What redb takes next is proof enough.
        let next = state.to_follow().map_or(proof.record, |next| next.overlay.mark.record.min(proof.record));
        Ok(Some(self.begin_holding(state, next, Lasting::Durably)))
    }
}
