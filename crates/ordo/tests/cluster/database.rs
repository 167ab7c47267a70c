//! A PostgreSQL server of one's own, that may be killed and started again.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::common::eventually;

#[derive(Debug)]
pub(crate) struct Database {
    folder: tempfile::TempDir,
    port: u16,
    server: Option<Child>,
}

impl Database {
    pub(crate) fn start() -> Database {
        let folder = tempfile::Builder::new().prefix("ordo-pg-").tempdir().unwrap();
        let mut database = Database { folder, port: free_port(), server: None };
        if is_root() {
            // The server refuses to be run by root.
            let owned = Command::new("chown").arg("postgres").arg(database.folder.path()).status().unwrap();
            assert!(owned.success());
        }
        let cluster = database.cluster();
        let made = database
            .program("initdb")
            .args(["-U", "ordo", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C", "-D"])
            .arg(cluster)
            .stdout(Stdio::null())
            .status();
        assert!(made.unwrap().success(), "initdb");
        database.up();
        database
    }

    /// A standby that follows it by streaming, made as an administrator makes one.
    pub(crate) fn standby(&self) -> Database {
        let folder = tempfile::Builder::new().prefix("ordo-pg-").tempdir().unwrap();
        let mut standby = Database { folder, port: free_port(), server: None };
        if is_root() {
            let owned = Command::new("chown").arg("postgres").arg(standby.folder.path()).status().unwrap();
            assert!(owned.success());
        }
        let cluster = standby.cluster();
        let copied = standby
            .program("pg_basebackup")
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", "ordo", "-R", "--checkpoint=fast", "-D"])
            .arg(cluster)
            .stdout(Stdio::null())
            .status();
        assert!(copied.unwrap().success(), "pg_basebackup");
        standby.up();
        standby
    }

    /// What the server answers to one statement.
    pub(crate) fn sql(&self, statement: &str) -> String {
        let mut psql = self.program("psql");
        psql.args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", "ordo", "-d", "postgres", "-Atc", statement]);
        let said = psql.output().unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8(said.stdout).unwrap().trim().to_owned()
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url_on(port: u16) -> String {
        format!("postgres://ordo@127.0.0.1:{port}/postgres?sslmode=disable")
    }

    pub(crate) fn up(&mut self) {
        let cluster = self.cluster();
        let server = self
            .program("postgres")
            .arg("-D")
            .arg(cluster)
            .args(["-p", &self.port.to_string(), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="])
            .args(["-c", "fsync=on", "-c", "max_connections=200", "-c", "log_min_messages=panic"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.server = Some(server);
        eventually("PostgreSQL answers", || {
            let asked =
                self.program("pg_isready").args(["-q", "-h", "127.0.0.1", "-p", &self.port.to_string()]).status();
            asked.unwrap().success().then_some(())
        });
    }

    /// As `pg_ctl restart -m immediate`: without writing anything down, and up again through recovery.
    pub(crate) fn restart_immediately(&mut self) {
        self.quit();
        self.up();
    }

    /// Gone in the middle of things, as when its machine is.
    pub(crate) fn quit(&mut self) {
        if let Some(mut server) = self.server.take() {
            let pid = rustix::process::Pid::from_child(&server);
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::QUIT);
            server.wait().unwrap();
        }
    }

    fn cluster(&self) -> PathBuf {
        self.folder.path().join("cluster")
    }

    fn program(&self, name: &str) -> Command {
        let path = ordo_store_postgres::testing::programs().join(name);
        let mut command = match is_root() {
            true => {
                let mut command = Command::new("setpriv");
                command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(path);
                command
            }
            false => Command::new(path),
        };
        command.current_dir(self.folder.path());
        command
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.quit();
    }
}

fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
