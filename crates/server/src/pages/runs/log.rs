//! The log of a run on its page, and as a file.
//!
//! Invariant: a page holds a bounded number of lines; its script goes on from the last of them.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use ordo_engine::log_reader::{LogReader, NumberedLine};
use ordo_model::LogStream;
use ordo_model::RunId;
use ordo_model::job::Run;
use ordo_store::Fault;

use crate::http::path::Named;
use crate::http::problem::Problem;
use crate::pages::layout::context::PageContext;
use crate::pages::layout::html::Html;
use crate::pages::layout::shell::queries;
use crate::pages::runs::ansi;

/// How many lines the page itself holds.
const LINES_SHOWN: usize = 2_000;

#[derive(Debug, Clone)]
pub(crate) struct LogPart {
    pub(crate) lines: Vec<LogRow>,
    pub(crate) streams: Vec<(&'static str, String, bool)>,
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
    pub(crate) text: Html,
    /// The attempt, where it begins.
    pub(crate) attempt: Option<u32>,
}

pub(crate) async fn read(ctx: &PageContext, run: &Run, stream: &str) -> Result<LogPart, Fault> {
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
    let own = format!("/runs/{}", run.id);
    let choice =
        |label: &'static str, name: &str| (label, ctx.link(&format!("{own}?stream={name}#log")), name == stream);
    Ok(LogPart {
        lines: lines(&found, stream),
        streams: vec![choice("all", ""), choice("stdout", "stdout"), choice("stderr", "stderr")],
        last,
        is_cut,
        address: ctx.link(&format!("/v1/runs/{}/logs", run.id)),
        download: ctx.link(&format!("{own}/log.txt")),
    })
}

fn lines(found: &[NumberedLine], stream: &str) -> Vec<LogRow> {
    let mut attempt = 1;
    let mut lines = Vec::with_capacity(found.len());
    for (place, NumberedLine { line, .. }) in found.iter().enumerate() {
        let begins = (line.attempt != attempt).then_some(line.attempt);
        attempt = line.attempt;
        let name = name_of(line.stream);
        if !stream.is_empty() && name != stream {
            continue;
        }
        lines.push(LogRow {
            number: place + 1,
            stream: name,
            at: line.at.to_string(),
            text: ansi::draw(&line.text),
            attempt: begins,
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
