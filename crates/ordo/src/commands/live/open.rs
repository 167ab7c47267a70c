//! `ordo open`: a page of the dashboard in the browser.

use std::process::{Command, Stdio};

use ordo_client::Target;
use serde_json::json;
use uuid::Uuid;

use crate::cli::OpenArgs;
use crate::commands::find;
use crate::commands::talk::CommandSession;
use crate::error::{Error, Exit, Result};
use crate::folder::{SOCKET, StateFolder};
use crate::output;

const PAGES: [&str; 6] = ["jobs", "runs", "incidents", "hooks", "executors", "nodes"];

pub(crate) async fn run(talk: &CommandSession, args: &OpenArgs) -> Result<Exit> {
    let path = match args.object.as_deref() {
        None => String::new(),
        Some(page) if PAGES.contains(&page) => page.to_owned(),
        Some(name) => object(talk, name).await?,
    };
    let url = format!("{}/{path}", base(talk)?);
    talk.value(&json!({ "url": url }), || url.clone())?;
    if !args.print && !open(&url) {
        output::note("no browser could be started: open the URL yourself");
    }
    Ok(Exit::Done)
}

/// A job by its label or id, else a run or an incident by its id.
async fn object(talk: &CommandSession, name: &str) -> Result<String> {
    let is_id = name.parse::<Uuid>().is_ok();
    for kind in ["jobs", "runs", "incidents"].into_iter().filter(|_| is_id) {
        if talk.client.get::<serde_json::Value>(&format!("/v1/{kind}/{name}")).await.is_ok() {
            return Ok(format!("{kind}/{name}"));
        }
    }
    match find::job(talk, name).await {
        Ok(id) => Ok(format!("jobs/{id}")),
        Err(error) => match find::run(talk, name).await {
            Ok(id) => Ok(format!("runs/{id}")),
            Err(_) => Err(error),
        },
    }
}

/// Where browsers find the daemon: a socket is not for them.
pub(crate) fn base(talk: &CommandSession) -> Result<String> {
    match talk.client.target() {
        Target::Http { url } => Ok(url.trim_end_matches('/').to_owned()),
        Target::Socket(_) => match StateFolder::nearest_with(SOCKET).and_then(|folder| folder.read_address()) {
            Some(address) => Ok(format!("http://{}", reachable(address))),
            None => Err(Error::failed("the daemon has no dashboard")
                .detail("it listens on its socket only")
                .hint("start it with: ordo serve")),
        },
    }
}

/// An address that stands for all of the machine's is reached at its own.
fn reachable(mut address: std::net::SocketAddr) -> std::net::SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    }
    address
}

fn open(url: &str) -> bool {
    let asked = std::env::var("BROWSER").ok().filter(|browser| !browser.is_empty());
    let programs = asked.into_iter().chain(["xdg-open", "open", "wslview"].map(str::to_owned));
    let start = |program: String| {
        Command::new(program).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().is_ok()
    };
    programs.into_iter().any(start)
}
