//! Whether a commit would succeed now.
//!
//! Invariant: what is written to find out changes nothing, and is written as a commit is: durably.

use ordo_store::Fault;

use crate::connection::connect::ConnectionPools;
use crate::fault::Trouble;

/// A row that is written as it stands: refused by a database that only reads, or that has no room.
const TOUCH: &str = "UPDATE meta SET layout = layout WHERE one = 1";
const REBUILDING: &str = "SELECT 1 FROM partitions WHERE rebuilding LIMIT 1";

pub(crate) async fn try_write(database: &ConnectionPools) -> Result<(), Fault> {
    let done =
        touch(database).await.map_err(|trouble| trouble.into_fault("looking whether the database can be written"));
    if done? {
        return Err(Fault::damaged(crate::rebuild::INCOMPLETE));
    }
    Ok(())
}

/// Returns whether a rebuild is under way.
async fn touch(database: &ConnectionPools) -> Result<bool, Trouble> {
    let client = database.writer().await?;
    client.query_alone(TOUCH, &[]).await?;
    Ok(!client.query_alone(REBUILDING, &[]).await?.is_empty())
}
