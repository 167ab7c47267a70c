//! Pages about what Ordo is made of: nodes and executors; and those of parts that have nothing to show yet.

use askama::Template;
use axum::response::Response;

use super::answer;
use super::desk::Desk;
use super::home::bytes;
use super::moment::length;
use super::outcome::grouped;
use super::shell::{Section, Shell, queries};
use crate::problem::Problem;

#[derive(Template)]
#[template(path = "empty.html")]
struct EmptyPage {
    shell: Shell,
    icon: &'static str,
    heading: &'static str,
    /// What it is for.
    about: &'static str,
    /// The exact commands to get started.
    commands: Vec<(&'static str, &'static str)>,
}

async fn empty(
    desk: &Desk,
    section: Section,
    (icon, heading, about): (&'static str, &'static str, &'static str),
    commands: &[(&'static str, &'static str)],
) -> Result<Response, Problem> {
    let shell = Shell::new(desk, section, heading).await?;
    answer::ok(&EmptyPage { shell, icon, heading, about, commands: commands.to_vec() })
}

pub(crate) async fn incidents(desk: Desk) -> Result<Response, Problem> {
    let about = "An incident is something people work on until it is resolved. A failing job can open one by itself.";
    let commands = [
        ("Open one by hand", "ordo incident start \"Payments are slow\" --severity high"),
        (
            "Let a job open one after two failures",
            "ordo job update nightly-report --on-failure '{\"incident\": {\"severity\": \"high\", \"after\": 2}}'",
        ),
    ];
    empty(&desk, Section::Incidents, ("incidents", "Incidents", about), &commands).await
}

pub(crate) async fn monitors(desk: Desk) -> Result<Response, Problem> {
    let about = "A monitor watches something that runs elsewhere and says so when it falls silent.";
    let commands = [
        ("Add one", "ordo monitor add backup --every 1d --grace 1h"),
        ("Watch a command", "ordo watch --monitor backup -- ./backup.sh"),
    ];
    empty(&desk, Section::Monitors, ("monitors", "Monitors", about), &commands).await
}

pub(crate) async fn hooks(desk: Desk) -> Result<Response, Problem> {
    let about = "A hook takes calls from other systems, keeps them and starts jobs.";
    let commands = [
        ("Add one", "ordo hook add github --verify github"),
        ("Let a job run on it", "ordo job add deploy --on-hook github -- ./deploy.sh"),
    ];
    empty(&desk, Section::Hooks, ("hooks", "Hooks", about), &commands).await
}

pub(crate) async fn dead_letters(desk: Desk) -> Result<Response, Problem> {
    let about = "What could not be delivered after all its retries waits here for people.";
    let commands = [("See what failed lately", "ordo run list --status failed")];
    empty(&desk, Section::DeadLetters, ("dead", "Dead letters", about), &commands).await
}

pub(crate) async fn tokens(desk: Desk) -> Result<Response, Problem> {
    let about = "A token lets a person or a program in, with the role it needs and no more.";
    let commands = [("Make one for somebody who only looks", "ordo token add ada --role viewer")];
    empty(&desk, Section::Tokens, ("tokens", "Tokens", about), &commands).await
}

#[derive(Template)]
#[template(path = "executors.html")]
struct ExecutorsPage {
    shell: Shell,
    name: String,
    tools: Vec<String>,
    pools: Vec<(&'static str, usize, usize)>,
}

pub(crate) async fn executors(desk: Desk) -> Result<Response, Problem> {
    let load = desk.app.engine.load().await;
    let page = ExecutorsPage {
        name: desk.app.node.name.clone(),
        tools: desk.app.engine.tools().keys().cloned().collect(),
        pools: load.pools,
        shell: Shell::new(&desk, Section::Executors, "Executors").await?,
    };
    answer::ok(&page)
}

#[derive(Template)]
#[template(path = "nodes.html")]
struct NodesPage {
    shell: Shell,
    facts: Vec<(&'static str, String)>,
    store: Vec<(&'static str, String)>,
}

pub(crate) async fn nodes(desk: Desk) -> Result<Response, Problem> {
    let (load, stats) = (desk.app.engine.load().await, queries(&desk).store().stats().await?);
    let uptime = i64::try_from(desk.app.since.elapsed().ms()).unwrap_or(i64::MAX);
    let count = |number: u64| grouped(usize::try_from(number).unwrap_or(usize::MAX));
    let page = NodesPage {
        facts: vec![
            ("Name", desk.app.node.name.clone()),
            ("Version", env!("CARGO_PKG_VERSION").to_owned()),
            ("Takes work", if desk.app.is_ready() { "yes" } else { "no" }.to_owned()),
            ("Up for", length(uptime)),
            ("Tick", desk.app.node.tick_rate.to_string()),
            ("In the ring", grouped(load.ring)),
        ],
        store: vec![
            ("Driver", stats.driver.to_owned()),
            ("Size", bytes(stats.bytes_on_disk)),
            ("Events", count(stats.events)),
            ("Entities", count(stats.entities)),
            ("Alarms", count(stats.alarms)),
            ("Pieces of logs", count(stats.chunks)),
        ],
        shell: Shell::new(&desk, Section::Nodes, "Nodes").await?,
    };
    answer::ok(&page)
}
