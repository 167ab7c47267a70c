//! `ordo monitor add | list | show | remove`

use ordo_model::Millis;
use ordo_model::monitor::MonitorSettings;
use serde_json::Value;

use crate::cli::alerting::monitor::{AddMonitorArgs, MonitorSubcommand};
use crate::commands::confirm;
use crate::commands::find::text;
use crate::commands::live::open;
use crate::commands::pages;
use crate::commands::talk::CommandSession;
use crate::error::{Exit, Result};
use crate::locate::path_segment;
use crate::output::{table, time};

pub(crate) async fn run(talk: &CommandSession, command: MonitorSubcommand) -> Result<Exit> {
    match command {
        MonitorSubcommand::Add(args) => add(talk, args).await,
        MonitorSubcommand::List(args) => {
            pages::show(talk, "/v1/monitors", &[], &args, |monitors| human(talk, monitors)).await
        }
        MonitorSubcommand::Show { name } => show(talk, &name).await,
        MonitorSubcommand::Remove(args) => {
            confirm::removal(&args, &format!("Remove monitor {} and its pings?", args.what.name))?;
            remove(talk, &args.what.name).await
        }
    }
}

async fn add(talk: &CommandSession, args: AddMonitorArgs) -> Result<Exit> {
    let AddMonitorArgs { name, every, cron, tz, grace, severity, description, escalation } = args;
    let settings = MonitorSettings {
        name: name.clone(),
        description,
        every,
        cron,
        timezone: tz,
        grace: grace.unwrap_or(MonitorSettings::GRACE_DEFAULT),
        severity: severity.unwrap_or_default(),
        escalation,
    };
    let monitor = talk.post("/v1/monitors", &settings).await?;
    talk.value(&monitor, || {
        let due = time::of(&monitor["due_at"]).map(|at| time::both(at, talk.now(), &talk.zone)).unwrap_or_default();
        format!(
            "monitor {name} expects a ping by {due}\nping it at {}{}, or run: ordo watch --monitor {name} -- COMMAND",
            open::base(talk).unwrap_or_else(|_| "http://SERVER:PORT".to_owned()),
            text(&monitor, "ping_path"),
        )
    })?;
    Ok(Exit::Done)
}

fn human(talk: &CommandSession, monitors: &[Value]) -> String {
    if monitors.is_empty() {
        return "No monitors. Add one: ordo monitor add backup --every 1d\n".to_owned();
    }
    let row = |monitor: &Value| {
        let relative =
            |value: &Value| time::of(value).map_or_else(|| "-".to_owned(), |at| time::relative(at, talk.now()));
        let expects = monitor["every"].as_str().or_else(|| monitor["cron"].as_str()).unwrap_or_default();
        vec![
            talk.paint.state(&text(monitor, "status")),
            text(monitor, "name"),
            expects.to_owned(),
            text(monitor, "grace"),
            relative(&monitor["last_ping"]["at"]),
            relative(&monitor["due_at"]),
        ]
    };
    let names = ["STATUS", "NAME", "EXPECTS", "GRACE", "LAST PING", "DUE"];
    table::rows(&names, monitors.iter().map(row).collect(), talk.paint)
}

async fn show(talk: &CommandSession, name: &str) -> Result<Exit> {
    let monitor = talk.get(&format!("/v1/monitors/{}", path_segment(name))).await?;
    talk.value(&monitor, || {
        let mut pairs: Vec<(&str, String)> = Vec::new();
        for field in [
            "name",
            "status",
            "description",
            "every",
            "cron",
            "timezone",
            "grace",
            "severity",
            "ping_path",
            "badge_path",
        ] {
            pairs.extend(monitor[field].as_str().map(|text| (field, text.to_owned())));
        }
        pairs.extend(time::of(&monitor["due_at"]).map(|at| ("due", time::both(at, talk.now(), &talk.zone))));
        for ping in monitor["pings"].as_array().into_iter().flatten() {
            let at = time::of(&ping["at"]).map(|at| time::both(at, talk.now(), &talk.zone)).unwrap_or_default();
            let took = ping["took_ms"].as_u64().map(|ms| format!(" took {}", Millis::from_ms(ms))).unwrap_or_default();
            let status = ping["exit_status"].as_u64().map(|code| format!(" exit status {code}")).unwrap_or_default();
            pairs.push(("ping", format!("{} {at}{took}{status}", text(ping, "signal"))));
        }
        pairs.extend(monitor["last_said"].as_str().map(|said| ("said", said.to_owned())));
        table::fields(&pairs, talk.paint)
    })?;
    Ok(Exit::Done)
}

async fn remove(talk: &CommandSession, name: &str) -> Result<Exit> {
    let monitor = talk.client.delete::<Value>(&format!("/v1/monitors/{}", path_segment(name))).await?;
    talk.value(&monitor, || format!("removed monitor {name}"))?;
    Ok(Exit::Done)
}
