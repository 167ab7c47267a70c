//! The screen: a line about the daemon, then what runs, what comes next and what came before.

use ordo_model::{Millis, Timestamp};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Cell, Paragraph, Row, Table, Wrap};
use serde_json::Value;

use super::snapshot::{LISTED, TopSnapshot};
use crate::commands::find::text;
use crate::commands::run::words;
use crate::commands::talk::CommandSession;
use crate::output::time;

/// Below this there is no room for two lists side by side.
const WIDE: u16 = 100;

pub(super) fn draw(frame: &mut Frame<'_>, snapshot: &TopSnapshot, talk: &CommandSession, paused: bool) {
    let now = talk.now();
    let [head, active, below, foot] = Layout::vertical([
        Constraint::Length(if frame.area().width < WIDE { 5 } else { 3 }),
        Constraint::Percentage(40),
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(Paragraph::new(summary(snapshot, talk)).wrap(Wrap { trim: true }), head);
    runs(frame, active, &title(snapshot), snapshot.running.iter().chain(&snapshot.pending), talk);
    let side_by_side = frame.area().width >= WIDE;
    let [next, latest] = if side_by_side {
        Layout::horizontal([Constraint::Percentage(40), Constraint::Percentage(60)]).areas(below)
    } else {
        Layout::vertical([Constraint::Percentage(40), Constraint::Percentage(60)]).areas(below)
    };
    upcoming(frame, next, snapshot, now);
    runs(frame, latest, "Recently ended", snapshot.latest.iter(), talk);
    let keys = if paused { "paused   p resume   r refresh   q quit" } else { "p pause   r refresh   q quit" };
    frame.render_widget(Paragraph::new(keys).style(Style::new().add_modifier(Modifier::DIM)), foot);
}

fn title(snapshot: &TopSnapshot) -> String {
    format!("Running {} and waiting {}", at_least(snapshot.running.len()), at_least(snapshot.pending.len()))
}

/// A list that is full may go on.
fn at_least(count: usize) -> String {
    if count >= LISTED { format!("{count}+") } else { count.to_string() }
}

fn summary(snapshot: &TopSnapshot, talk: &CommandSession) -> Vec<Line<'static>> {
    let server = &snapshot.status;
    let counters = &server["counters"];
    let up = server["uptime_ms"].as_u64().map(|ms| time::rough(Millis::from_ms(ms))).unwrap_or_default();
    let health = match &snapshot.away {
        Some(why) => Span::styled(format!("not reachable: {why}"), colour("failed")),
        None if server["ready"] == true => Span::styled("ready", colour("completed")),
        None => Span::styled("not ready", colour("failed")),
    };
    let pools: Vec<String> = server["pools"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|pool| format!("{} {} running, {} waiting", text(pool, "name"), pool["running"], pool["waiting"]))
        .collect();
    let incidents = match snapshot.incidents {
        0 => Span::raw("no open incidents"),
        1 => Span::styled("1 open incident", colour("failed")),
        count => Span::styled(format!("{} open incidents", at_least(count)), colour("failed")),
    };
    vec![
        Line::from(vec![
            Span::styled("ordo ", Style::new().add_modifier(Modifier::BOLD)),
            Span::raw(format!("{} at {}, up {up}: ", text(server, "version"), talk.client.target())),
            health,
        ]),
        Line::from(vec![Span::raw(format!("pools: {}   ", pools.join("; "))), incidents]),
        Line::from(format!(
            "since the start: fired {} ({} late, {} skipped), completed {}, failed {}, cancelled {}",
            counters["triggered"],
            counters["late"],
            counters["skipped"],
            counters["completed"],
            counters["failed"],
            counters["cancelled"]
        )),
    ]
}

fn status(run: &Value) -> &str {
    run["status"]["type"].as_str().unwrap_or_default()
}

fn colour(status: &str) -> Style {
    match status {
        "completed" => Style::new().fg(Color::Green),
        "failed" => Style::new().fg(Color::Red),
        "running" => Style::new().fg(Color::Cyan),
        "pending" | "skipped" => Style::new().fg(Color::Yellow),
        _ => Style::new().add_modifier(Modifier::DIM),
    }
}

fn runs<'a>(
    frame: &mut Frame<'_>,
    area: Rect,
    title: &str,
    runs: impl Iterator<Item = &'a Value>,
    talk: &CommandSession,
) {
    let now = talk.now();
    let row = |run: &Value| {
        let fired = time::of(&run["fired_at"]).map(|at| time::ago(at, now)).unwrap_or_default();
        let since = time::of(&run["started_at"]).map(|at| time::rough(now.since(at)));
        let took = words::took(run).or(since).unwrap_or_default();
        Row::new([
            Cell::from(status(run).to_owned()).style(colour(status(run))),
            Cell::from(text(run, "label")),
            Cell::from(fired),
            Cell::from(took),
            Cell::from(words::reason(talk, run).unwrap_or_default()),
        ])
    };
    let widths = [
        Constraint::Length(9),
        Constraint::Fill(2),
        Constraint::Length(11),
        Constraint::Length(8),
        Constraint::Fill(3),
    ];
    let names = Row::new(["STATUS", "JOB", "FIRED", "TOOK", "WHY"]).style(Style::new().add_modifier(Modifier::DIM));
    let table = Table::new(runs.map(row).collect::<Vec<_>>(), widths).header(names);
    frame.render_widget(table.block(block(title)), area);
}

fn upcoming(frame: &mut Frame<'_>, area: Rect, snapshot: &TopSnapshot, now: Timestamp) {
    let row = |job: &Value| {
        // What is due was not in the past when it was read.
        let next = time::of(&job["next_tick_at"]).map(|at| time::relative(at.max(now), now)).unwrap_or_default();
        Row::new([Cell::from(next), Cell::from(text(job, "label"))])
    };
    let names = Row::new(["NEXT", "JOB"]).style(Style::new().add_modifier(Modifier::DIM));
    let table =
        Table::new(snapshot.next.iter().map(row).collect::<Vec<_>>(), [Constraint::Length(11), Constraint::Fill(1)]);
    frame.render_widget(table.header(names).block(block("Next to fire")), area);
}

fn block(title: &str) -> Block<'static> {
    Block::new()
        .borders(Borders::TOP)
        .title(format!(" {title} "))
        .border_style(Style::new().add_modifier(Modifier::DIM))
}
