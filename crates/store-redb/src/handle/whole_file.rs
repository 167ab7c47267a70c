//! Work on redb's file as a whole: nothing else reads or writes meanwhile.

use std::sync::Arc;

use ordo_store::Fault;
use redb::Database;

use super::Handle;
use crate::apply::Lasting;
use crate::fault::file_damage;
use crate::files::unfinished::Unfinished;
use crate::guard::guarded;
use crate::journal::Journaling;
use crate::state::closed;
use crate::tables::base::Base;

impl Handle {
    /// For work that needs the database for itself: nothing else reads or writes meanwhile.
    pub(crate) fn alone<T>(&self, work: impl FnOnce(&mut Database) -> Result<T, Fault>) -> Result<T, Fault> {
        let mut writing = self.lock_writing();
        self.open_anew(&mut writing)?;
        self.drain(Lasting::Durably)?;
        let mut database = self.shared.lock_database();
        let database = database.as_mut().ok_or_else(closed)?;
        let mut state = self.shared.lock();
        // redb wants no reader, and this is one.
        state.base = None;
        let done = guarded("working on the whole file", || work(database));
        if let Err(fault) = &done {
            self.shared.latch(fault);
            if matches!(fault, Fault::Unavailable { .. }) || file_damage(fault).is_some() {
                state.fail(fault);
            }
        }
        // Without a base the store is opened anew, which says why.
        state.base = guarded("reading", || Base::of(database)).ok().map(Arc::new);
        done
    }

    /// Puts another file in the place of redb's, if there is one to put: it holds the same and needs no journal.
    pub(crate) fn replace_file(
        &self,
        make: impl FnOnce(&Database) -> Result<Option<Unfinished>, Fault>,
    ) -> Result<(), Fault> {
        let mut writing = self.lock_writing();
        self.open_anew(&mut writing)?;
        self.drain(Lasting::Durably)?;
        let mut database = self.shared.lock_database();
        let made = guarded("copying it", || database.as_ref().ok_or_else(closed).and_then(make));
        let made = made.inspect_err(|fault| self.shared.latch(fault))?;
        let Some(file) = made else { return Ok(()) };
        let mut state = self.shared.lock();
        // From here on whoever comes next opens what is there, should one of these steps fail.
        state.base = None;
        self.close_database(&mut database)?;
        *writing = Journaling::Without;
        file.finish()?;
        self.source.remove_journal()?;
        self.counters.emptied();
        self.open_into(&mut database, &mut state, &mut writing)
    }
}
