//! Hosts on one machine: each a network namespace with an address of its own, and a router between them that can lose
//! everything from one host to another, in one direction or in both, without a word to either.
//!
//! Invariant: nothing here touches the network of the machine itself; with the namespaces all of it is gone.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::process::{done, is_root};

#[derive(Debug)]
pub(crate) struct Hosts {
    prefix: String,
    names: Vec<&'static str>,
    cuts: Vec<(usize, usize)>,
}

impl Hosts {
    /// Needs root and `ip`.
    pub(crate) fn make(names: &[&'static str]) -> Result<Hosts> {
        ensure!(is_root(), "network namespaces need root");
        let mut hosts = Hosts { prefix: format!("ot{}", std::process::id()), names: names.to_vec(), cuts: Vec::new() };
        hosts.build().context("making network namespaces")?;
        Ok(hosts)
    }

    fn build(&mut self) -> Result<()> {
        let router = self.router();
        ip(&["netns", "add", &router])?;
        in_namespace(&router, &["sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"])?;
        for (index, name) in self.names.iter().enumerate() {
            let (host, address, gateway) = (self.namespace(index), self.address(index), gateway(index));
            ip(&["netns", "add", &host])?;
            // Both ends are made where they belong.
            in_namespace(
                &router,
                &["ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", &host],
            )?;
            in_namespace(&router, &["ip", "addr", "add", &format!("{gateway}/24"), "dev", name])?;
            in_namespace(&router, &["ip", "link", "set", name, "up"])?;
            in_namespace(&host, &["ip", "link", "set", "lo", "up"])?;
            in_namespace(&host, &["ip", "addr", "add", &format!("{address}/24"), "dev", "eth0"])?;
            in_namespace(&host, &["ip", "link", "set", "eth0", "up"])?;
            in_namespace(&host, &["ip", "route", "add", "default", "via", &gateway])?;
        }
        Ok(())
    }

    pub(crate) fn name(&self, host: usize) -> &'static str {
        self.names[host]
    }

    pub(crate) fn namespace(&self, host: usize) -> String {
        format!("{}-{}", self.prefix, self.names[host])
    }

    pub(crate) fn address(&self, host: usize) -> String {
        format!("10.213.{}.2", host + 1)
    }

    /// Everything that one sends to the other is lost from now on.
    pub(crate) fn cut(&mut self, from: usize, to: usize) -> Result<()> {
        self.cuts.push((from, to));
        self.rule("add", from, to)
    }

    /// Nothing is lost any more.
    pub(crate) fn heal(&mut self) -> Result<()> {
        for (from, to) in std::mem::take(&mut self.cuts) {
            self.rule("del", from, to)?;
        }
        Ok(())
    }

    fn rule(&self, verb: &str, from: usize, to: usize) -> Result<()> {
        let (from, to) = (self.address(from), self.address(to));
        in_namespace(&self.router(), &["ip", "rule", verb, "from", &from, "to", &to, "blackhole"])
    }

    fn router(&self) -> String {
        format!("{}-router", self.prefix)
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        // A namespace that was not made yet is not there to be removed.
        for host in 0..self.names.len() {
            drop(ip(&["netns", "del", &self.namespace(host)]));
        }
        drop(ip(&["netns", "del", &self.router()]));
    }
}

fn gateway(host: usize) -> String {
    format!("10.213.{}.1", host + 1)
}

fn ip(args: &[&str]) -> Result<()> {
    done(Command::new("ip").args(args))
}

fn in_namespace(namespace: &str, command: &[&str]) -> Result<()> {
    ip(&[&["netns", "exec", namespace], command].concat())
}

/// A command on a host, or on the machine itself where there are none.
pub(crate) fn command_on(namespace: Option<&str>, program: &Path) -> Command {
    let Some(namespace) = namespace else { return super::process::clean_command(program) };
    let mut command = super::process::clean_command(Path::new("ip"));
    command.args(["netns", "exec", namespace]).arg(program);
    command
}
