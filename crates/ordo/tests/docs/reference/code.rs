//! Events, metrics, error codes, limits and roles.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use ordo_adapters::message::EVENT_TYPES;
use ordo_api::{Code, Need, Operation};
use ordo_model::{Right, Role};

use super::source::{self, limits as limits_in, metrics as metrics_in, read, variants};
use super::table;
use crate::common::World;

/// Each entity with its stream, its events and where they stand.
const EVENTS: [(&str, &str, &str, &str); 14] = [
    ("Jobs", "job", "Event", "crates/model/src/job/event.rs"),
    ("Incidents", "incident", "IncidentEvent", "crates/model/src/incident/event.rs"),
    ("Monitors", "monitor", "MonitorEvent", "crates/model/src/monitor/mod.rs"),
    ("Hooks", "hook", "HookEvent", "crates/model/src/hook/hook.rs"),
    ("Deliveries", "delivery", "DeliveryEvent", "crates/model/src/hook/delivery.rs"),
    ("Notifications", "notification", "NotificationEvent", "crates/model/src/notification/mod.rs"),
    ("Silences", "silence", "SilenceEvent", "crates/model/src/notification/silence.rs"),
    ("Subscriptions", "subscription", "SubscriptionEvent", "crates/model/src/subscription/mod.rs"),
    ("Executors", "executor", "ExecutorEvent", "crates/model/src/executor.rs"),
    ("Secrets", "secret", "SecretEvent", "crates/model/src/access/secret.rs"),
    ("Tokens", "token", "ApiTokenEvent", "crates/model/src/access/api_token.rs"),
    ("Channels", "channel", "ChannelEvent", "crates/model/src/notification/channel.rs"),
    ("Escalation chains", "escalation", "EscalationChainEvent", "crates/model/src/incident/chain.rs"),
    ("Logins", "login", "LoginEvent", "crates/model/src/access/login.rs"),
];

pub(super) fn events() -> String {
    let mut text =
        "# Events\n\nEverything that happens is an event in the stream of its entity: `GET /v1/events` has all of \
        them, `GET /v1/streams/{stream}` those of one.\n\n"
            .to_owned();
    let kinds: BTreeSet<&str> = ordo_model::Kind::ALL.iter().map(|kind| kind.name()).collect();
    let listed: BTreeSet<&str> = EVENTS.iter().map(|(_, kind, ..)| *kind).collect();
    assert_eq!(kinds, listed, "every kind of entity has its events on this page");
    for (title, kind, name, path) in EVENTS {
        let _ = write!(text, "## {title}\n\nStream `ordo-{kind}-<id>`.\n\n");
        let rows = variants(&read(path), name).into_iter().map(|variant| {
            let fields: Vec<String> = variant.fields.iter().map(|field| format!("`{field}`")).collect();
            vec![format!("`{}`", variant.name), variant.about, fields.join(", ")]
        });
        text += &table(&["event", "", "fields"], rows);
        text.push('\n');
    }
    text += "## Notifications to people\n\nWhat Slack, mail and subscriptions can be notified of, by name or by pattern \
             (`incident.*`); [Notifications](../notifications.md) says when each is sent.\n\n";
    EVENT_TYPES.iter().for_each(|name| text += &format!("- `{name}`\n"));
    text
}

pub(super) fn metrics(world: &World) -> String {
    let labels = labels(world);
    let source = read("crates/server/src/api/metrics/mod.rs");
    let rows = metrics_in(&source).into_iter().map(|(name, kind, help)| {
        let of_metric = labels.get(&name).into_iter().flatten();
        let shown: Vec<String> = of_metric.map(|label| format!("`{label}`")).collect();
        vec![format!("`{name}`"), kind, shown.join(", "), help]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let named: BTreeSet<String> = rows.iter().map(|row| row[0].trim_matches('`').to_owned()).collect();
    let missing: Vec<&String> = labels.keys().filter(|name| !named.contains(*name)).collect();
    assert!(missing.is_empty(), "on /metrics and not in the reference: {missing:?}");
    let head = "# Metrics\n\n`GET /metrics`, in the Prometheus text format; it needs no token. Histograms have the label `le` \
                besides. [Running Ordo](../operations.md#metrics) says which to watch.\n\n";
    format!("{head}{}", table(&["metric", "type", "labels", "what"], rows))
}

/// Every metric of a running server, with the labels it has there.
fn labels(world: &World) -> BTreeMap<String, BTreeSet<String>> {
    let daemon = world.serve();
    let text = page_at(&daemon.place, "/metrics");
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            found.entry(rest.split(' ').next().unwrap_or_default().to_owned()).or_default();
        } else if let Some((name, rest)) = line.split_once('{') {
            let Some((inside, _)) = rest.split_once('}') else { continue };
            let names = inside.split(',').filter_map(|pair| pair.split_once('=')).map(|(name, _)| name.to_owned());
            if let Some(labels) = found.get_mut(name) {
                labels.extend(names);
            }
        }
    }
    found
}

fn page_at(place: &str, path: &str) -> String {
    use std::io::{Read, Write};
    let address = place.trim_start_matches("http://");
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

pub(super) fn errors() -> String {
    let head = "# Error codes\n\nEvery answer that is not a success is `application/problem+json` with one of these as `code`. A \
                code never changes its meaning; [Errors of the API](../errors/README.md) shows the shape.\n\n";
    let row = |code: &Code| {
        let name = code.text();
        vec![format!("[`{name}`](../errors/{name}.md)"), code.status().to_string(), code.title().to_owned()]
    };
    format!("{head}{}", table(&["code", "HTTP", ""], Code::ALL.iter().map(row)))
}

pub(super) fn limits() -> String {
    let mut text =
        "# Limits\n\nFixed in this version unless the [configuration](configuration.md) has a key for it. What goes \
                    beyond a limit of a request is refused with an error that names the limit.\n\n"
            .to_owned();
    let limits = limits_in(&read("crates/model/src/limits.rs"));
    let mut sections: Vec<&str> = limits.iter().map(|limit| limit.section.as_str()).collect();
    sections.dedup();
    for section in sections {
        let _ = write!(text, "## {}{}\n\n", section[..1].to_uppercase(), &section[1..]);
        let of_section = limits.iter().filter(|limit| limit.section == section);
        let rows = of_section.map(|limit| vec![format!("`{}`", limit.name), limit.value.clone(), limit.about.clone()]);
        text += &table(&["limit", "value", ""], rows);
        text.push('\n');
    }
    text
}

const RIGHTS: [Right; 5] = [Right::Read, Right::Operate, Right::ManageHooks, Right::Execute, Right::Administer];

pub(super) fn roles() -> String {
    let source = read("crates/model/src/access/role.rs");
    let (roles, rights) = (variants(&source, "Role"), variants(&source, "Right"));
    let about = |list: &[source::Variant], name: String| {
        list.iter().find(|variant| variant.name == name).map(|variant| variant.about.clone()).unwrap_or_default()
    };
    let mut text =
        "# Roles\n\nA token has one role (`ordo token add NAME --role ROLE`). The first start makes a token for the \
                    admin in `.ordo/token`; the Unix socket is the admin's.\n\n"
            .to_owned();
    let rows = Role::ALL.iter().map(|role| {
        let may: Vec<String> =
            RIGHTS.iter().filter(|right| role.may(**right)).map(|right| format!("{right:?}")).collect();
        vec![format!("`{}`", role.name()), about(&roles, format!("{role:?}")), may.join(", ")]
    });
    text += &table(&["role", "", "rights"], rows);
    text += "\n## Rights\n\n";
    let rows = RIGHTS.iter().map(|right| {
        let needs = |need: Need| matches!(need, Need::Right(one) | Need::RightOrHolder(one) if one == *right);
        let routes = Operation::ALL.iter().filter(|operation| needs(operation.route().need)).count();
        vec![format!("{right:?}"), about(&rights, format!("{right:?}")), routes.to_string()]
    });
    text += &table(&["right", "", "routes"], rows);
    text += "\n[HTTP API](api.md) has the role that each route needs.\n";
    text
}
