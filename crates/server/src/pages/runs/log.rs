//! The log of a run on its page, and as a file.
//!
//! Invariant: a page holds a bounded number of lines; its script goes on from the last of them.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use ordo_engine::log_reader::{LogReader, NumberedLine};
use ordo_engine::logs::LogLine;
use ordo_model::LogStream;
use ordo_model::RunId;
use ordo_model::job::{Run, RunStatus};
use ordo_store::Fault;

use crate::http::cookies::encode;
use crate::http::path::Named;
use crate::http::problem::Problem;
use crate::pages::layout::context::PageContext;
use crate::pages::layout::html::Html;
use crate::pages::layout::moment::Times;
use crate::pages::layout::shell::queries;
use crate::pages::runs::ansi;

/// How many lines the page itself holds.
const LINES_SHOWN: usize = 2_000;

/// Words that a line about an error has, in lower case.
const ERROR_WORDS: [&str; 6] = ["error", "fatal", "panic", "exception", "traceback", "failed"];

/// Which lines are asked for; empty: all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LogFilter {
    pub(crate) stream: String,
    pub(crate) attempt: String,
}

impl LogFilter {
    fn fits(&self, line: &LogLine) -> bool {
        (self.stream.is_empty() || self.stream == name_of(line.stream))
            && (self.attempt.is_empty() || self.attempt == line.attempt.to_string())
    }

    fn address(&self, run: RunId) -> String {
        let fields = [("stream", &self.stream), ("attempt", &self.attempt)];
        let given = fields.into_iter().filter(|(_, value)| !value.is_empty());
        let query: Vec<String> = given.map(|(name, value)| format!("{name}={}", encode(value))).collect();
        format!("/runs/{run}{}{}#log", if query.is_empty() { "" } else { "?" }, query.join("&"))
    }
}

/// One choice of what is shown of a log.
#[derive(Debug, Clone)]
pub(crate) struct LogChip {
    pub(crate) label: String,
    pub(crate) value: String,
    pub(crate) href: String,
    pub(crate) is_on: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct LogPart {
    pub(crate) lines: Vec<LogRow>,
    pub(crate) streams: Vec<LogChip>,
    /// None where there was one attempt.
    pub(crate) attempts: Vec<LogChip>,
    /// The number of the line that says first what went wrong.
    pub(crate) first_error: Option<usize>,
    /// How many lines were read, shown or not.
    pub(crate) count: usize,
    /// The attempt of the last line that was read.
    pub(crate) attempt: u32,
    /// Whether only some of the lines are on the page.
    pub(crate) is_filtered: bool,
    /// The zone of the times.
    pub(crate) zone: String,
    /// The number of the last line on the page.
    pub(crate) last: String,
    pub(crate) is_cut: bool,
    pub(crate) address: String,
    pub(crate) download: String,
}

#[derive(Debug, Clone)]
pub(crate) struct LogRow {
    pub(crate) number: usize,
    pub(crate) stream: &'static str,
    pub(crate) at: String,
    /// The time of day in the viewer's zone, and the exact time.
    pub(crate) clock: String,
    pub(crate) exact: String,
    pub(crate) text: Html,
    pub(crate) attempt: u32,
    /// Whether the attempt begins here.
    pub(crate) begins: bool,
}

pub(crate) async fn read(ctx: &PageContext, run: &Run, filter: &LogFilter, times: &Times) -> Result<LogPart, Fault> {
    let mut reader = LogReader::after(queries(ctx).store().clone(), run.id, None);
    let mut found: Vec<NumberedLine> = Vec::new();
    let mut is_cut = false;
    loop {
        let more = reader.next().await?;
        if more.is_empty() {
            break;
        }
        found.extend(more);
        if found.len() > LINES_SHOWN {
            found.truncate(LINES_SHOWN);
            is_cut = true;
            break;
        }
    }
    let last = found.last().map_or_else(String::new, |line| line.seq.to_string());
    let has_failed = matches!(run.status, RunStatus::Failed { .. });
    Ok(LogPart {
        lines: lines(&found, filter, times),
        streams: streams(ctx, run, filter, &found),
        attempts: attempts(ctx, run, filter),
        first_error: first_error(&found, has_failed),
        count: found.len(),
        attempt: found.last().map_or(1, |line| line.line.attempt),
        is_filtered: *filter != LogFilter::default(),
        zone: times.zone_name(),
        last,
        is_cut,
        address: ctx.link(&format!("/v1/runs/{}/logs", run.id)),
        download: ctx.link(&format!("/runs/{}/log.txt", run.id)),
    })
}

fn streams(ctx: &PageContext, run: &Run, filter: &LogFilter, found: &[NumberedLine]) -> Vec<LogChip> {
    let has_system = found.iter().any(|line| line.line.stream == LogStream::System);
    let names =
        ["", "stdout", "stderr"].into_iter().chain((has_system || filter.stream == "system").then_some("system"));
    let chip = |name: &str| LogChip {
        label: if name.is_empty() { "all".to_owned() } else { name.to_owned() },
        value: name.to_owned(),
        href: ctx.link(&LogFilter { stream: name.to_owned(), ..filter.clone() }.address(run.id)),
        is_on: filter.stream == name,
    };
    names.map(chip).collect()
}

fn attempts(ctx: &PageContext, run: &Run, filter: &LogFilter) -> Vec<LogChip> {
    if run.attempt < 2 {
        return Vec::new();
    }
    let chip = |(label, value): (String, String)| LogChip {
        href: ctx.link(&LogFilter { attempt: value.clone(), ..filter.clone() }.address(run.id)),
        is_on: filter.attempt == value,
        label,
        value,
    };
    let numbers = (1..=run.attempt).map(|number| (format!("attempt {number}"), number.to_string()));
    std::iter::once(("all attempts".to_owned(), String::new())).chain(numbers).map(chip).collect()
}

/// A line that speaks of an error; where none does and the run has failed, the first on standard error.
fn first_error(found: &[NumberedLine], has_failed: bool) -> Option<usize> {
    let named = found.iter().position(|line| speaks_of_an_error(&line.line.text));
    let on_stderr = || found.iter().position(|line| line.line.stream == LogStream::Stderr).filter(|_| has_failed);
    named.or_else(on_stderr).map(|place| place + 1)
}

/// `log.js` does the same for lines that arrive later.
fn speaks_of_an_error(text: &str) -> bool {
    let plain = ansi::plain(text).to_lowercase();
    let words = plain.split(|one: char| !one.is_ascii_alphabetic());
    words
        .into_iter()
        .any(|word| ERROR_WORDS.iter().any(|known| word == *known || word.strip_suffix('s') == Some(*known)))
}

fn lines(found: &[NumberedLine], filter: &LogFilter, times: &Times) -> Vec<LogRow> {
    let mut attempt = 1;
    let mut lines = Vec::with_capacity(found.len());
    for (place, NumberedLine { line, .. }) in found.iter().enumerate() {
        if !filter.fits(line) {
            continue;
        }
        let begins = line.attempt != attempt;
        attempt = line.attempt;
        lines.push(LogRow {
            number: place + 1,
            stream: name_of(line.stream),
            at: line.at.to_string(),
            clock: times.local(line.at).strftime("%H:%M:%S%.3f").to_string(),
            exact: times.absolute(line.at),
            text: ansi::draw(&line.text),
            attempt: line.attempt,
            begins,
        });
    }
    lines
}

const fn name_of(stream: LogStream) -> &'static str {
    match stream {
        LogStream::Stdout => "stdout",
        LogStream::Stderr => "stderr",
        LogStream::System => "system",
    }
}

/// `GET /runs/{id}/log.txt`: all of it, as it was written.
pub(crate) async fn download(ctx: PageContext, Named(id): Named<RunId>) -> Result<Response, Problem> {
    let run = crate::api::runs::find(&ctx.app, id).await?;
    let reader = LogReader::after(queries(&ctx).store().clone(), run.id, None);
    let pieces = stream::unfold(Some(reader), |reader| async move {
        let mut reader = reader?;
        match reader.next().await {
            Ok(lines) if lines.is_empty() => None,
            Ok(lines) => Some((Ok(text(&lines)), Some(reader))),
            // The file ends in the middle, and the client notices by a broken connection.
            Err(fault) => Some((Err(fault), None)),
        }
    });
    // Whoever compresses the answer may ask once more behind its end.
    let pieces = pieces.fuse();
    let name = format!("attachment; filename=\"run-{id}.txt\"");
    let headers = HeaderMap::from_iter([
        (header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8")),
        (header::CONTENT_DISPOSITION, HeaderValue::try_from(name).unwrap_or(HeaderValue::from_static("attachment"))),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ]);
    Ok((headers, Body::from_stream(pieces)).into_response())
}

fn text(lines: &[NumberedLine]) -> String {
    lines
        .iter()
        .map(|NumberedLine { line, .. }| format!("{} {} {}\n", line.at, name_of(line.stream), line.text))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_is_a_line_that_says_so_and_otherwise_the_first_on_stderr_of_a_run_that_failed() {
        let line = |stream, text: &str| NumberedLine {
            seq: 0,
            line: LogLine { at: ordo_model::Timestamp::MIN, stream, text: text.to_owned(), attempt: 1 },
        };
        let (out, err) = (LogStream::Stdout, LogStream::Stderr);
        let progress = [line(out, "begun"), line(err, "10 %"), line(err, "20 %")];
        assert_eq!((first_error(&progress, false), first_error(&progress, true)), (None, Some(2)));
        let named =
            [line(err, "10 %"), line(out, "terror and mirrors"), line(out, "\u{1b}[31mERROR\u{1b}[0m: no disk")];
        assert_eq!(first_error(&named, true), Some(3));
        for text in
            ["pg_dump: error: refused", "Traceback (most recent call last):", "3 errors", "thread panicked: panic!"]
        {
            assert!(speaks_of_an_error(text), "{text}");
        }
    }
}
