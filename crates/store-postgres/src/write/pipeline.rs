//! Statements that are sent together: all of them before the first answer, so that they cost one trip.

use futures_util::future::{BoxFuture, join_all};
use tokio_postgres::types::ToSql;

use crate::connection::session::DatabaseSession;
use crate::fault::Trouble;

type SentStatement<'a> = BoxFuture<'a, Result<(), tokio_postgres::Error>>;

/// Statements to be sent together, in order.
pub(crate) struct Pipeline<'a> {
    client: &'a DatabaseSession,
    sent: Vec<SentStatement<'a>>,
}

impl<'a> Pipeline<'a> {
    pub(crate) fn on(client: &'a DatabaseSession) -> Pipeline<'a> {
        Pipeline { client, sent: Vec::new() }
    }

    pub(crate) async fn add(
        &mut self,
        sql: &str,
        params: Vec<Box<dyn ToSql + Sync + Send + 'a>>,
    ) -> Result<(), Trouble> {
        let (client, statement) = (self.client, self.client.prepare(sql).await?);
        self.sent.push(Box::pin(async move {
            let params: Vec<&(dyn ToSql + Sync)> = params.iter().map(|param| &**param as &(dyn ToSql + Sync)).collect();
            client.run(&statement, &params).await.map(drop)
        }));
        Ok(())
    }

    pub(crate) fn command(&mut self, sql: &'static str) {
        let client = self.client;
        self.sent.push(Box::pin(async move { client.command(sql).await }));
    }

    /// The first error is the cause; what comes behind it was refused because of it, except a COMMIT, which says yes
    /// and rolls back.
    pub(crate) async fn finish(self) -> Result<(), Trouble> {
        join_all(self.sent).await.into_iter().collect::<Result<(), _>>().map_err(Trouble::from)
    }
}

macro_rules! params {
    ($($param:expr),* $(,)?) => { vec![$(Box::new($param) as Box<dyn ToSql + Sync + Send>),*] };
}

pub(crate) use params;
