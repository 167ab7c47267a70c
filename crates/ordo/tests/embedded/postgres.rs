//! On PostgreSQL: the host's own pool, and work that belongs to the host's own transaction.

use std::time::Duration;

use ordo::postgres::deadpool_postgres::{Config, Pool, PoolConfig, Runtime};
use ordo::postgres::tokio_postgres::NoTls;
use ordo::{Enqueuer, Error, Ordo};
use ordo_store_postgres::testing::TestServer;

use crate::{DOUBLE, double};

/// A pool as a program would have it, and the schema for Ordo.
fn pool(url: &str, size: usize) -> (Pool, String) {
    let (place, query) = url.split_once('?').unwrap();
    let schema = query.rsplit_once("schema=").unwrap().1.to_owned();
    let config = Config { url: Some(place.to_owned()), pool: Some(PoolConfig::new(size)), ..Config::default() };
    (config.create_pool(Some(Runtime::Tokio1), NoTls).unwrap(), schema)
}

#[tokio::test]
async fn two_programs_share_a_database() {
    let server = TestServer::join();
    let url = server.fresh_url();
    let open = |node: &str| Ordo::postgres(&url).node(node).handle(DOUBLE, double).start();
    let (first, second) = (open("one").await.unwrap(), open("two").await.unwrap());
    let job = first.ensure(DOUBLE.job("shared", &4)).await.unwrap().into_job();
    assert_eq!(second.find("shared").await.unwrap().unwrap().id, job.id());
    let run = second.trigger(job.id()).await.unwrap();
    assert_eq!(first.result(DOUBLE, run).await.unwrap(), 8);
    first.shutdown(Duration::from_secs(1)).await;
    second.shutdown(Duration::from_secs(1)).await;
}

#[tokio::test]
async fn a_hosts_pool_is_used_and_its_connections_come_back_as_they_were() {
    let server = TestServer::join();
    let (pool, schema) = pool(&server.fresh_url(), 8);
    let ordo = Ordo::postgres_with(pool.clone()).schema(&schema).handle(DOUBLE, double).start().await.unwrap();
    let job = ordo.schedule(DOUBLE.job("d", &1)).await.unwrap();
    assert_eq!(ordo.call(&job, &21).await.unwrap(), 42);
    assert!(pool.status().size <= 8, "{:?}", pool.status());
    // Half of the pool is left to the host, with the settings that the host's connections have.
    let mut hosts = Vec::new();
    for _ in 0..4 {
        hosts.push(pool.get().await.unwrap());
    }
    for client in hosts {
        let path: String = client.query_one("SHOW search_path", &[]).await.unwrap().get(0);
        assert!(!path.contains(&schema), "{path}");
    }
    ordo.shutdown(Duration::from_secs(5)).await;
    drop(ordo);
    let (small, schema) = self::pool(&server.fresh_url(), 2);
    let refused = Ordo::postgres_with(small).schema(&schema).start().await.unwrap_err().to_string();
    assert!(refused.contains("at most 2 connections"), "{refused}");
}

#[tokio::test]
async fn what_is_enqueued_in_a_transaction_shares_its_fate() {
    let server = TestServer::join();
    let (pool, schema) = pool(&server.fresh_url(), 8);
    let ordo = Ordo::postgres_with(pool.clone()).schema(&schema).handle(DOUBLE, double).start().await.unwrap();
    let there = ordo.schedule(DOUBLE.job("there", &1)).await.unwrap();
    let mut client = pool.get().await.unwrap();

    let transaction = client.transaction().await.unwrap();
    ordo.enqueue_in(&transaction, DOUBLE.job("never", &1)).await.unwrap();
    transaction.rollback().await.unwrap();

    let transaction = client.transaction().await.unwrap();
    let once = ordo.enqueue_in(&transaction, DOUBLE.job("once", &5).attempts(2, Duration::from_secs(1))).await.unwrap();
    let called = ordo.call_in(&transaction, &there, &6).await.unwrap();
    assert!(ordo.find("once").await.unwrap().is_none(), "not before the commit");
    transaction.commit().await.unwrap();

    let once = ordo.submitted(once).await.unwrap();
    assert_eq!(ordo.result(DOUBLE, ordo.newest_run(once.job).await.unwrap()).await.unwrap(), 10);
    assert_eq!(ordo.job(once.job).await.unwrap().unwrap().definition.retry.max_attempts, 2);
    let called = ordo.submitted(called).await.unwrap();
    assert_eq!((called.job, ordo.result(DOUBLE, called.run.unwrap()).await.unwrap()), (there.id(), 12));
    assert!(ordo.find("never").await.unwrap().is_none());

    // A program that does not run Ordo enqueues all the same; what cannot be is said where it can be seen.
    let enqueuer = Enqueuer::in_schema(&schema).unwrap();
    let transaction = client.transaction().await.unwrap();
    let elsewhere = enqueuer.job(&transaction, DOUBLE.job("elsewhere", &8)).await.unwrap();
    let run = enqueuer.run_with(&transaction, DOUBLE, "there", &9).await.unwrap();
    let nobody = enqueuer.run(&transaction, "nobody").await.unwrap();
    transaction.commit().await.unwrap();
    let elsewhere = ordo.submitted(elsewhere).await.unwrap();
    assert_eq!(ordo.result(DOUBLE, ordo.newest_run(elsewhere.job).await.unwrap()).await.unwrap(), 16);
    assert_eq!(ordo.result(DOUBLE, ordo.submitted(run).await.unwrap().run.unwrap()).await.unwrap(), 18);
    assert!(matches!(ordo.submitted(nobody).await, Err(Error::Failed(why)) if why.contains("no job is called")));
    assert!(Enqueuer::in_schema("Bad name").is_err());
    ordo.shutdown(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn without_a_database_there_is_no_transaction_to_share() {
    let server = TestServer::join();
    let (pool, _) = pool(&server.fresh_url(), 4);
    let ordo = Ordo::in_memory().handle(DOUBLE, double).start().await.unwrap();
    let mut client = pool.get().await.unwrap();
    let transaction = client.transaction().await.unwrap();
    let refused = ordo.enqueue_in(&transaction, DOUBLE.job("x", &1)).await;
    assert!(matches!(refused, Err(Error::Invalid(why)) if why.contains("PostgreSQL")));
    ordo.shutdown(Duration::ZERO).await;
}
