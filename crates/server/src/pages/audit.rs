//! Who changed what, and who logged in: for administrators.

use axum::response::Response;
use ordo_engine::audit::{AuditEntry, AuditFilter};
use ordo_model::{Kind, Millis};

use crate::http::params::Params;
use crate::http::problem::Problem;
use crate::pages::layout::context::PageContext;
use crate::pages::layout::html::Html;
use crate::pages::layout::listing::{self, ListContents, ListIntro, ListRow, link, quiet, text};
use crate::pages::layout::shell::{NavSection, queries};
use crate::pages::objects::{PER_PAGE, after};
use crate::pages::runs::outcome::Badge;

const AUDIT: ListIntro = ListIntro {
    section: NavSection::Audit,
    heading: "Audit",
    icon: "audit",
    about: "Every change by a person or a program is listed here, with logins and those that were refused.",
    commands: &[("The same on the command line", "ordo audit --since 1d")],
    heads: &["When", "Who", "What", "On", "Name", "Request"],
    create: None,
};

/// The filters that are one click away: what they are called, the kind, and whether only refused logins count.
const CHIPS: [(&str, &str); 7] = [
    ("all", ""),
    ("jobs", "job"),
    ("incidents", "incident"),
    ("hooks", "hook"),
    ("tokens", "token"),
    ("secrets", "secret"),
    ("logins", "login"),
];

/// How far back each choice reaches.
const SPANS: [(&str, &str); 4] = [("any time", ""), ("last hour", "1h"), ("last day", "1d"), ("last 30 days", "30d")];

/// `GET /audit`
pub(crate) async fn show(ctx: PageContext, mut params: Params) -> Result<Response, Problem> {
    ctx.admin()?;
    let kind = params.take_text("kind").unwrap_or_default();
    let actor = params.take_text("actor").unwrap_or_default();
    let span = params.take_text("span").unwrap_or_default();
    let since = span.parse::<Millis>().ok().map(|length| ctx.now.minus(length));
    let filter = AuditFilter {
        kind: Kind::ALL.into_iter().find(|one| one.name() == kind),
        actor: Some(actor.clone()).filter(|name| !name.is_empty()),
        since,
        ..AuditFilter::default()
    };
    let found = queries(&ctx).audit(&filter, after(&mut params).as_ref(), PER_PAGE).await?;
    let address = |kind: &str| ctx.link(&format!("/audit?{}", query(kind, &actor, &span)));
    let shown = ListContents {
        chips: CHIPS.map(|(label, name)| (label, address(name), name == kind)).to_vec(),
        extra: form(&ctx, &kind, &actor, &span),
        rows: found.items.iter().map(|entry| row(&ctx, entry)).collect(),
        next: found.next.map(|cursor| format!("{}&after={cursor}", address(&kind))),
    };
    listing::page(&ctx, &AUDIT, shown).await
}

fn query(kind: &str, actor: &str, span: &str) -> String {
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs([("kind", kind), ("actor", actor), ("span", span)].iter().filter(|(_, value)| !value.is_empty()))
        .finish()
}

fn form(ctx: &PageContext, kind: &str, actor: &str, span: &str) -> Html {
    let mut html = Html::new()
        .raw("<form method=\"get\" action=\"")
        .text(&ctx.link("/audit"))
        .raw("\" class=\"field-row audit-form\"><input type=\"hidden\" name=\"kind\" value=\"")
        .text(kind)
        .raw("\"><div class=\"field grow\"><label for=\"actor\">Who</label><input id=\"actor\" name=\"actor\" placeholder=\"a token, or whom it acted for\" value=\"")
        .text(actor)
        .raw("\"></div><div class=\"field\"><label for=\"span\">When</label><select id=\"span\" name=\"span\">");
    for (words, value) in SPANS {
        let chosen = if value == span { " selected" } else { "" };
        html = html.raw(format_args!("<option value=\"{value}\"{chosen}>{words}</option>"));
    }
    html.raw("</select></div><button class=\"button low\">Show</button></form>")
}

fn row(ctx: &PageContext, entry: &AuditEntry) -> ListRow {
    let is_denied = entry.event == "LoginDenied";
    let what = match is_denied {
        true => Badge { text: entry.event.clone(), class: "failed", icon: "failed" }.html(),
        false => text(&entry.event),
    };
    let name = match place(ctx, entry) {
        Some(href) if !entry.name.is_empty() => link(&href, &entry.name),
        Some(_) | None if entry.name.is_empty() => quiet("–"),
        Some(_) | None => text(&entry.name),
    };
    ListRow {
        id: format!("audit-{}-{}", entry.entity, entry.version),
        cells: vec![
            ctx.times().exact(entry.at),
            text(&entry.actor.to_string()),
            what,
            text(entry.entity.kind.name()),
            name,
            entry.actor.request_id.as_deref().map_or_else(|| quiet("–"), quiet),
        ],
    }
}

/// Where the thing that was changed has a page.
fn place(ctx: &PageContext, entry: &AuditEntry) -> Option<String> {
    let id = entry.entity.id;
    match entry.entity.kind {
        Kind::Job => Some(ctx.link(&format!("/jobs/{id}/definition"))),
        Kind::Incident => Some(ctx.link(&format!("/incidents/{id}"))),
        Kind::Subscription => Some(ctx.link(&format!("/subscriptions/{id}"))),
        Kind::EscalationChain => Some(ctx.link(&format!("/escalations/{}", entry.name))),
        Kind::Channel => Some(ctx.link(&format!("/channels/{}", entry.name))),
        Kind::Hook
        | Kind::Delivery
        | Kind::ApiToken
        | Kind::Secret
        | Kind::Executor
        | Kind::Monitor
        | Kind::Notification
        | Kind::Silence
        | Kind::Login => None,
    }
}
