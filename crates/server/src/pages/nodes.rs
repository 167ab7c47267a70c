//! The page of nodes: who works on the same store, and how this one is doing.

use askama::Template;
use axum::extract::{Form, Path};
use axum::response::Response;
use ordo_engine::cluster::NodeView;

use crate::api::nodes::ask;
use crate::http::cookies::encode;
use crate::http::problem::Problem;
use crate::pages::home::bytes;
use crate::pages::jobs::actions::{FormFields, field};
use crate::pages::layout::answer;
use crate::pages::layout::context::{Flash, PageContext};
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
    /// Whether some node has something to be done to it.
    has_acts: bool,
    store: Vec<(&'static str, String)>,
}

struct NodeRow {
    name: String,
    state: Badge,
    roles: String,
    version: String,
    partitions: usize,
    seen: Html,
    drain_href: String,
    can_drain: bool,
    can_undrain: bool,
}

fn node_row(ctx: &PageContext, node: NodeView, is_alone: bool) -> NodeRow {
    let may = ctx.viewer.may_admin && !is_alone;
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
        drain_href: ctx.link(&format!("/nodes/{}/drain", encode(&node.name))),
        can_drain: may && node.state == "alive",
        can_undrain: may && node.state == "draining",
        name: node.name,
    }
}

pub(crate) async fn nodes(ctx: PageContext) -> Result<Response, Problem> {
    let (load, stats) = (ctx.app.engine.load().await, queries(&ctx).store().estimate().await?);
    let uptime = i64::try_from(ctx.app.since.elapsed().ms()).unwrap_or(i64::MAX);
    let count = |number: u64| grouped(usize::try_from(number).unwrap_or(usize::MAX));
    let nodes = ctx.app.engine.nodes().await?;
    // A store of one node's own has nobody to leave the work to.
    let is_alone = queries(&ctx).store().cluster().is_none();
    let nodes: Vec<NodeRow> = nodes.into_iter().map(|node| node_row(&ctx, node, is_alone)).collect();
    let page = NodesPage {
        has_acts: nodes.iter().any(|node| node.can_drain || node.can_undrain),
        nodes,
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

/// `POST /nodes/{name}/drain`, with `undo` to take it back.
pub(crate) async fn drain(ctx: PageContext, Path(name): Path<String>, Form(fields): FormFields) -> Response {
    let draining = field(&fields, "undo").is_none();
    let asked = match ctx.admin() {
        Ok(()) => ask(&ctx.app, &name, draining).await,
        Err(problem) => Err(problem),
    };
    let flash = match (asked, draining) {
        (Ok(()), true) => Flash::good(format!("{name} leaves new work to the others; what runs there goes on")),
        (Ok(()), false) => Flash::good(format!("{name} accepts work again")),
        (Err(problem), _) => Flash::bad(problem.detail),
    };
    ctx.go("/nodes", &flash)
}
