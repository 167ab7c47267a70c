//! The page of nodes: who works on the same store, and how this one is doing.

use askama::Template;
use axum::response::Response;
use ordo_engine::cluster::NodeView;

use crate::http::problem::Problem;
use crate::pages::home::bytes;
use crate::pages::layout::answer;
use crate::pages::layout::context::PageContext;
use crate::pages::layout::html::Html;
use crate::pages::layout::moment::length;
use crate::pages::layout::shell::{NavSection, PageShell, queries};
use crate::pages::runs::outcome::{Badge, grouped};

#[derive(Template)]
#[template(path = "nodes.html")]
struct NodesPage {
    shell: PageShell,
    facts: Vec<(&'static str, String)>,
    nodes: Vec<NodeRow>,
    store: Vec<(&'static str, String)>,
}

struct NodeRow {
    name: String,
    state: Badge,
    roles: String,
    version: String,
    partitions: usize,
    seen: Html,
}

fn node_row(ctx: &PageContext, node: NodeView) -> NodeRow {
    let (class, icon) = match node.state {
        "alive" => ("completed", "active"),
        "draining" => ("late", "paused"),
        _ => ("failed", "failed"),
    };
    NodeRow {
        state: Badge { text: node.state.to_owned(), class, icon },
        roles: node.roles.join(", "),
        version: node.version,
        partitions: node.partitions,
        seen: ctx.times().relative(node.seen_at),
        name: node.name,
    }
}

pub(crate) async fn nodes(ctx: PageContext) -> Result<Response, Problem> {
    let (load, stats) = (ctx.app.engine.load().await, queries(&ctx).store().estimate().await?);
    let uptime = i64::try_from(ctx.app.since.elapsed().ms()).unwrap_or(i64::MAX);
    let count = |number: u64| grouped(usize::try_from(number).unwrap_or(usize::MAX));
    let nodes = ctx.app.engine.nodes().await?;
    let page = NodesPage {
        nodes: nodes.into_iter().map(|node| node_row(&ctx, node)).collect(),
        facts: vec![
            ("Name", ctx.app.node.name.clone()),
            ("Version", env!("CARGO_PKG_VERSION").to_owned()),
            ("Accepts work", if ctx.app.is_ready() { "yes" } else { "no" }.to_owned()),
            ("Up for", length(uptime)),
            ("Tick", ctx.app.node.tick_rate.to_string()),
            ("In the ring", grouped(load.ring)),
        ],
        store: vec![
            ("Driver", stats.driver.to_owned()),
            ("Size", bytes(stats.bytes_on_disk)),
            ("Events", count(stats.events)),
            ("Entities", count(stats.entities)),
            ("Alarms", count(stats.alarms)),
            ("Log chunks", count(stats.chunks)),
        ],
        shell: PageShell::new(&ctx, NavSection::Nodes, "Nodes").await?,
    };
    answer::ok(&page)
}
