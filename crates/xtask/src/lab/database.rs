//! A PostgreSQL server of one's own, on a host of its own if there is one: it may be ended in the middle of things.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::clock::within;
use super::hosts::command_on;
use super::process::{ChildProcess, UnixSignal, done, is_root};

const UP_WITHIN_MS: i64 = 30_000;
/// Names the folder of PostgreSQL's programs where they are not in Debian's.
const PROGRAMS: &str = "ORDO_TEST_POSTGRES_BIN";

#[derive(Debug)]
pub(crate) struct DatabaseProcess {
    folder: PathBuf,
    programs: PathBuf,
    namespace: Option<String>,
    address: String,
    port: u16,
    server: Option<ChildProcess>,
}

impl DatabaseProcess {
    pub(crate) fn start(folder: &Path, namespace: Option<String>, address: &str) -> Result<DatabaseProcess> {
        std::fs::create_dir_all(folder)?;
        let programs = programs().context("PostgreSQL is not installed (Debian: postgresql)")?;
        let port = if namespace.is_some() { 5432 } else { free_port()? };
        let address = address.to_owned();
        let mut database =
            DatabaseProcess { folder: folder.to_path_buf(), programs, namespace, address, port, server: None };
        if is_root() {
            // The server refuses to be run by root.
            done(Command::new("chown").arg("postgres").arg(folder))?;
        }
        let options = ["-U", "ordo", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C", "-D"];
        done(database.program("initdb").args(options).arg(database.cluster()))?;
        let access = database.cluster().join("pg_hba.conf");
        let mut rules = std::fs::read_to_string(&access)?;
        rules.push_str("host all all 10.213.0.0/16 trust\n");
        std::fs::write(&access, rules)?;
        database.up()?;
        Ok(database)
    }

    pub(crate) fn is_installed() -> bool {
        programs().is_some()
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://ordo@{}:{}/postgres?sslmode=disable", self.address, self.port)
    }

    /// As `pg_ctl restart -m immediate`: nothing is written down, and it comes up through recovery.
    pub(crate) fn restart(&mut self) -> Result<()> {
        if let Some(server) = self.server.take() {
            server.end(UnixSignal::Quit)?;
        }
        self.up()
    }

    fn up(&mut self) -> Result<()> {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.folder.with_extension("log"))?;
        let (cluster, port) = (self.cluster(), self.port.to_string());
        let mut command = self.program("postgres");
        command.arg("-D").arg(cluster).args(["-p", &port, "-c", &format!("listen_addresses={}", self.address)]);
        command.args(["-c", "unix_socket_directories=", "-c", "fsync=on", "-c", "max_connections=200"]);
        self.server = Some(ChildProcess::spawn(command.stdout(Stdio::null()).stderr(log))?);
        let asks = ["-q", "-h", &self.address, "-p", &port];
        let answers = || self.program("pg_isready").args(asks).status().is_ok_and(|status| status.success());
        ensure!(within(UP_WITHIN_MS, answers), "PostgreSQL did not come up");
        Ok(())
    }

    fn cluster(&self) -> PathBuf {
        self.folder.join("cluster")
    }

    fn program(&self, name: &str) -> Command {
        let path = self.programs.join(name);
        let mut command = match is_root() {
            true => {
                let mut command = command_on(self.namespace.as_deref(), Path::new("setpriv"));
                command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(path);
                command
            }
            false => command_on(self.namespace.as_deref(), &path),
        };
        command.current_dir(&self.folder);
        command
    }
}

impl Drop for DatabaseProcess {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            // With it go the processes it started.
            drop(server.end(UnixSignal::Quit));
        }
    }
}

fn programs() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(PROGRAMS) {
        return Some(PathBuf::from(named));
    }
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let folders = versions.filter_map(|version| Some(version.ok()?.path().join("bin")));
    folders.filter(|folder| folder.join("initdb").is_file()).max()
}

pub(crate) fn free_port() -> Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
