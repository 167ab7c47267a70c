//! All promises of the contract, kept through PgBouncer in transaction mode: sessions are lent out for one transaction each, by
//! chance, and nothing may rest on which.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ordo_store::conformance::StoreUnderTest;
use ordo_store::conformance::given::{accept, item, job};
use ordo_store::{Cluster, Hint, Store};
use ordo_store_postgres::testing::TestServer;
use ordo_store_postgres::{PostgresOptions, PostgresStore};

/// A pooler before the server, with few sessions, so that they change hands all the time.
struct Pooled {
    pooler: Child,
    _folder: tempfile::TempDir,
    url: String,
    _server: TestServer,
}

impl Drop for Pooled {
    fn drop(&mut self) {
        self.pooler.kill().unwrap();
        self.pooler.wait().unwrap();
    }
}

#[async_trait]
impl StoreUnderTest for Pooled {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.store().await)
    }
}

impl Pooled {
    async fn store(&self) -> PostgresStore {
        PostgresStore::open(&self.url, PostgresOptions::default()).await.unwrap()
    }
}

fn pooled() -> Pooled {
    let server = TestServer::join();
    let folder = tempfile::Builder::new().prefix("ordo-pgbouncer-").tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("users"), "\"ordo\" \"\"\n").unwrap();
    let config = format!(
        "[databases]\npostgres = host=127.0.0.1 port={} user=ordo\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
         unix_socket_dir =\nauth_type = trust\nauth_file = {}\npool_mode = transaction\ndefault_pool_size = 4\nlogfile = {}\n",
        server.port(),
        path("users"),
        path("log"),
    );
    std::fs::write(path("pgbouncer.ini"), config).unwrap();
    let mut command = match std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0) {
        true => {
            // It refuses to be run by root.
            assert!(Command::new("chown").args(["-R", "postgres"]).arg(folder.path()).status().unwrap().success());
            let mut command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "pgbouncer"]);
            command
        }
        false => Command::new("pgbouncer"),
    };
    command.arg("-q").arg(path("pgbouncer.ini")).stdout(Stdio::null()).stderr(Stdio::null());
    let url = server.fresh_url().replace(&format!(":{}/", server.port()), &format!(":{port}/"));
    let url = format!("{url}&pooler=transaction&listen=127.0.0.1:{}", server.port());
    let pooled = Pooled { pooler: command.spawn().unwrap(), _folder: folder, url, _server: server };
    wait_for(port);
    pooled
}

#[allow(clippy::disallowed_methods, reason = "another process cannot be awaited, only asked again")]
fn wait_for(port: u16) {
    let is_there = || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
    let answered = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        is_there()
    });
    assert!(answered, "PgBouncer does not answer");
}

ordo_store::conformance!(crate::pooled);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hints_come_by_the_way_that_leads_to_the_database_itself() {
    let place = pooled();
    let (store, other) = (place.store().await, place.store().await);
    let mut hints = store.hints();
    let _listening = other.hints();
    assert_eq!(hints.next().await, Some(Hint::Lost), "nobody listened until now");
    let entity = job(1);
    let mut version = 0;
    loop {
        version = accept(&other, item(entity, version)).await;
        let heard = tokio::time::timeout(Duration::from_millis(500), hints.next()).await;
        if let Ok(Some(Hint::Partitions(partitions))) = heard {
            assert_eq!(partitions, [ordo_store::Partition::of(entity)]);
            break;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_such_a_way_nodes_work_together_all_the_same() {
    let place = pooled();
    let without = place.url.split("&listen=").next().unwrap().to_owned();
    let store = PostgresStore::open(&without, PostgresOptions::default()).await.unwrap();
    let mut hints = store.hints();
    assert!(tokio::time::timeout(Duration::from_millis(300), hints.next()).await.is_err(), "nobody is heard of");
    accept(&store, item(job(1), 0)).await;
    assert!(store.at_this_moment().unwrap().load(&[job(1)]).await.unwrap()[0].is_some());
}
