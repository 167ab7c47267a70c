//! A report in three steps, each a job of its own: what one returns, the next one is given. A step that fails is tried again
//! by itself; the ones before it are not repeated, and a crash in between loses nothing.
//!
//!     cargo run -p ordo --example report_pipeline            # every weekday at seven, until Ctrl-C
//!     cargo run -p ordo --example report_pipeline -- --play  # a week of it in a moment, and ends: that is how it is tested

use std::collections::BTreeMap;
use std::time::Duration;

use ordo::{AfterMode, AfterOn, Context, Cron, Error, JobHandle, Ordo, SetClock, ToolKey, Upstream, ZoneName};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Source {
    name: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Sales {
    source: String,
    cents: u64,
}

#[derive(Serialize, Deserialize)]
struct Layout {
    title: String,
    /// What the steps before returned. Ordo fills it in.
    #[serde(default, skip_serializing)]
    after: Vec<Upstream<Sales>>,
}

#[derive(Serialize, Deserialize)]
struct Recipient {
    address: String,
    #[serde(default, skip_serializing)]
    after: Vec<Upstream<String>>,
}

const EXTRACT: ToolKey<Source, Sales> = ToolKey::new("extract");
const RENDER: ToolKey<Layout, String> = ToolKey::new("render");
const SEND: ToolKey<Recipient, String> = ToolKey::new("send");

async fn extract(source: Source, context: Context) -> Result<Sales, String> {
    context.log(&format!("asking {}", source.name));
    // The shop is not always there: the first attempt of the day fails.
    match (source.name.as_str(), context.attempt()) {
        ("shop", 1) => Err("the shop does not answer".into()),
        _ => Ok(Sales { cents: 100 * source.name.len() as u64, source: source.name }),
    }
}

async fn render(layout: Layout, _: Context) -> Result<String, Error> {
    let mut lines = BTreeMap::new();
    for upstream in &layout.after {
        let sales = upstream.completed()?;
        lines.insert(&sales.source, sales.cents);
    }
    let total: u64 = lines.values().sum();
    let lines: Vec<String> = lines.iter().map(|(source, cents)| format!("{source} {cents}")).collect();
    Ok(format!("{}: {}, total {total}", layout.title, lines.join(", ")))
}

async fn send(recipient: Recipient, context: Context) -> Result<String, Error> {
    let report = recipient.after.first().ok_or_else(|| Error::Failed("nothing to send".into()))?.completed()?;
    context.log(&format!("to {}", recipient.address));
    Ok(format!("{report} -> {}", recipient.address))
}

/// Makes sure that the pipeline is there, as it is written here: at every start of the program.
async fn pipeline(ordo: &Ordo) -> Result<JobHandle<Recipient, String>, Error> {
    let berlin = ZoneName::new("Europe/Berlin")?;
    let mornings = "0 7 * * MON-FRI".parse::<Cron>()?.zone(berlin);
    let mut sources = Vec::new();
    for name in ["shop", "kiosk"] {
        let job = EXTRACT.job(format!("extract {name}"), &Source { name: name.into() });
        let job = job.on(mornings.clone()).attempts(3, Duration::from_secs(60)).idempotent();
        sources.push(ordo.ensure(job).await?.into_job().id());
    }
    let render = RENDER.job("render report", &Layout { title: "Sales".into(), after: Vec::new() });
    // When both have completed since the last time.
    let render = render.after_jobs(sources, AfterMode::All, AfterOn::Success);
    let render = ordo.ensure(render).await?.into_job();
    let send = SEND.job("send report", &Recipient { address: "board@example.org".into(), after: Vec::new() });
    Ok(ordo.ensure(send.after(&render)).await?.into_job())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).is_some() {
        return Ok(played().await?);
    }
    let ordo = Ordo::open("report.db").handle(EXTRACT, extract).handle(RENDER, render).handle(SEND, send);
    let ordo = ordo.start().await?;
    pipeline(&ordo).await?;
    tokio::signal::ctrl_c().await?;
    ordo.shutdown(Duration::from_secs(30)).await;
    Ok(())
}

async fn played() -> Result<(), Error> {
    // A Friday evening: the next reports are those of the week to come.
    let clock = SetClock::new("2027-03-26T18:00:00Z".parse().map_err(|_| Error::Invalid("a time".into()))?);
    let ordo = Ordo::in_memory().with_clock(clock).handle(EXTRACT, extract).handle(RENDER, render).handle(SEND, send);
    let ordo = ordo.start().await?;
    let last = pipeline(&ordo).await?;
    ordo.advance(Duration::from_secs(7 * 86_400)).await?;
    for run in ordo.runs(last.id()).await?.iter().rev() {
        // The clock stands while the last of them ends.
        let result = ordo.result(SEND, run.id).await?;
        println!("{} completed: {result}", run.fired_at);
    }
    ordo.shutdown(Duration::from_secs(5)).await;
    Ok(())
}
