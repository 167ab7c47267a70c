//! A throw-away PostgreSQL server for tests: one for all test processes of a run, a schema for each test.
//!
//! Invariant: fsync is on, as in production. The server ends by itself some seconds after the last process that uses
//! it has ended, however that came about: a script of its own watches a lock that the kernel frees.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, reason = "this is for tests")]
#![allow(clippy::zombie_processes, reason = "the server outlives the test that starts it")]

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use uuid::Uuid;

const SCRIPT: &str = include_str!("testing.sh");
/// Making a database cluster takes a second or two, on a busy machine longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A place in the shared server; as long as it is held, the server stays.
#[derive(Debug)]
pub struct TestServer {
    port: u16,
    folder: PathBuf,
    _using: File,
}

impl TestServer {
    /// Starts the server, or joins those who use it.
    ///
    /// # Panics
    /// If there is no PostgreSQL on this machine, or it does not start.
    pub fn join() -> TestServer {
        TestServer::join_in(&folder())
    }

    /// One that speaks TLS with this certificate, for this test alone; the folder stays as long as the server is used.
    ///
    /// # Panics
    /// As [`TestServer::join`].
    pub fn start_with_tls(folder: &Path, certificate_pem: &str, key_pem: &str) -> TestServer {
        std::fs::write(folder.join("server.crt"), certificate_pem).unwrap();
        std::fs::write(folder.join("server.key"), key_pem).unwrap();
        TestServer::join_in(folder)
    }

    fn join_in(folder: &Path) -> TestServer {
        std::fs::create_dir_all(folder).unwrap();
        let one_at_a_time = lock_file(folder, "starting");
        one_at_a_time.lock().unwrap();
        let using = lock_file(folder, "using");
        using.lock_shared().unwrap();
        let port = running(folder).unwrap_or_else(|| start(folder));
        TestServer { port, folder: folder.to_owned(), _using: using }
    }

    /// A schema that nobody else uses, in the server's one database.
    pub fn fresh_url(&self) -> String {
        self.url_on(self.port, &format!("t{}", Uuid::new_v4().simple()))
    }

    /// A database of its own, for whoever needs the schema to be called `ordo`.
    ///
    /// # Panics
    /// If it cannot be made.
    pub fn fresh_database(&self) -> String {
        let name = format!("d{}", Uuid::new_v4().simple());
        let target = format!("host=127.0.0.1 port={} user=ordo dbname=postgres", self.port);
        let create = format!("CREATE DATABASE {name}");
        let mut psql = Command::new(programs().join("psql"));
        let made = psql.args(["--no-psqlrc", "--quiet", "--dbname", &target, "--command", &create]).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        format!("postgres://ordo@127.0.0.1:{}/{name}?sslmode=disable", self.port)
    }

    /// By another way to the same server, for instance through a proxy.
    pub fn url_on(&self, port: u16, schema: &str) -> String {
        format!("postgres://ordo@127.0.0.1:{port}/postgres?sslmode=disable&schema={schema}")
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// What the server has written about itself and all who use it.
    ///
    /// # Panics
    /// If that cannot be read.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.folder.join("log")).unwrap()).into_owned()
    }
}

/// Where the programs are: `ORDO_TEST_POSTGRES_BIN`, the newest of the usual places, or the path.
pub fn programs() -> PathBuf {
    if let Some(bin) = std::env::var_os("ORDO_TEST_POSTGRES_BIN") {
        return bin.into();
    }
    let mut found: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .filter(|bin| bin.join("initdb").exists())
        .collect();
    found.sort();
    found.pop().unwrap_or_default()
}

/// Short, because a socket's path must be; one per user.
fn folder() -> PathBuf {
    std::env::temp_dir().join(format!("ordo-test-postgres-{}", user()))
}

fn user() -> String {
    let id = Command::new("id").arg("-u").output().expect("id prints the user");
    String::from_utf8_lossy(&id.stdout).trim().to_owned()
}

fn lock_file(folder: &Path, name: &str) -> File {
    OpenOptions::new().write(true).create(true).truncate(false).open(folder.join(name)).unwrap()
}

/// The port of a server that answers.
fn running(folder: &Path) -> Option<u16> {
    let port = std::fs::read_to_string(folder.join("port")).ok()?.trim().parse().ok()?;
    std::net::TcpStream::connect(("127.0.0.1", port)).is_ok().then_some(port)
}

fn start(folder: &Path) -> u16 {
    let port = free_port();
    let script = folder.join("server.sh");
    std::fs::write(&script, SCRIPT).unwrap();
    let log = File::create(folder.join("log")).unwrap();
    // In a session of its own: what ends the test must not end the server under the others.
    let mut child = Command::new("setsid")
        .arg("sh")
        .arg(&script)
        .arg(folder)
        .arg(programs())
        .arg(port.to_string())
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .expect("setsid and sh are there");
    let mut waited = Duration::ZERO;
    while running(folder) != Some(port) {
        let ended = child.try_wait().unwrap().filter(|status| !status.success());
        let said = || std::fs::read_to_string(folder.join("log")).unwrap_or_default();
        assert!(ended.is_none() && waited < PATIENCE, "PostgreSQL does not start:\n{}", said());
        std::thread::sleep(Duration::from_millis(50));
        waited += Duration::from_millis(50);
    }
    port
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").port()
}
