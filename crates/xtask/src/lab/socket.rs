//! The API over the socket of a node: it reaches a daemon in whatever network namespace it lives.
//!
//! Invariant: an error means that nobody knows what became of the request; an answer is an answer, also a refusal.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(8);

#[derive(Debug, Clone)]
pub(crate) struct SocketClient {
    path: PathBuf,
}

#[derive(Debug)]
pub(crate) struct ApiAnswer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl ApiAnswer {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Nothing was done: the request itself was found wrong.
    pub(crate) fn is_refusal(&self) -> bool {
        (400..500).contains(&self.status) && self.status != 408 && self.status != 429
    }
}

impl SocketClient {
    /// Of the node that lives in `folder`.
    pub(crate) fn of(folder: &Path) -> SocketClient {
        SocketClient { path: folder.join(".ordo/orchestrator.sock") }
    }

    pub(crate) fn get(&self, path: &str) -> Result<Value> {
        let answer = self.ask("GET", path, None, None)?;
        if !answer.is_success() {
            bail!("GET {path}: {} {}", answer.status, answer.body);
        }
        Ok(answer.body)
    }

    pub(crate) fn ask(&self, method: &str, path: &str, body: Option<&Value>, key: Option<&str>) -> Result<ApiAnswer> {
        let mut reader = BufReader::new(self.send(method, path, body, key, "connection: close\r\n")?);
        let (status, length) = head(&mut reader)?;
        let mut bytes = Vec::new();
        match length {
            BodyLength::Known(length) => reader.take(length).read_to_end(&mut bytes),
            BodyLength::Chunked => ChunkReader { inner: reader, left: 0 }.read_to_end(&mut bytes),
        }
        .with_context(|| format!("reading the answer to {method} {path}"))?;
        let text = String::from_utf8_lossy(&bytes);
        let body = serde_json::from_str(&text).unwrap_or_else(|_| Value::String(text.into_owned()));
        Ok(ApiAnswer { status, body })
    }

    /// All events from behind a position on, as they come.
    pub(crate) fn events(&self, behind: Option<&str>) -> Result<impl BufRead + use<>> {
        let resume = behind.map(|id| format!("last-event-id: {id}\r\n")).unwrap_or_default();
        let headers = format!("accept: text/event-stream\r\n{resume}");
        let mut reader = BufReader::new(self.send("GET", "/v1/events", None, None, &headers)?);
        let (status, _) = head(&mut reader)?;
        if status != 200 {
            bail!("GET /v1/events: {status}");
        }
        Ok(BufReader::new(ChunkReader { inner: reader, left: 0 }))
    }

    /// Every item of a list, page by page.
    pub(crate) fn items(&self, path: &str) -> Result<Vec<Value>> {
        let (mut items, mut cursor) = (Vec::new(), String::new());
        let joint = if path.contains('?') { '&' } else { '?' };
        loop {
            let mut page = self.get(&format!("{path}{joint}limit=200{cursor}"))?;
            let Value::Array(more) = page["items"].take() else { bail!("GET {path}: no items in {page}") };
            items.extend(more);
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return Ok(items),
            }
        }
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        key: Option<&str>,
        more: &str,
    ) -> Result<UnixStream> {
        let mut stream = UnixStream::connect(&self.path).with_context(|| format!("opening {}", self.path.display()))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let body = body.map(Value::to_string).unwrap_or_default();
        let key = key.map(|key| format!("idempotency-key: {key}\r\n")).unwrap_or_default();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{key}{more}\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).with_context(|| format!("sending {method} {path}"))?;
        Ok(stream)
    }
}

enum BodyLength {
    Known(u64),
    Chunked,
}

fn head(reader: &mut impl BufRead) -> Result<(u16, BodyLength)> {
    let first = header_line(reader)?;
    let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.with_context(|| format!("not an answer: {first:?}"))?;
    let mut length = BodyLength::Known(0);
    loop {
        let line = header_line(reader)?.to_ascii_lowercase();
        if line.is_empty() {
            return Ok((status, length));
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = BodyLength::Known(value.trim().parse().context("content-length")?);
        } else if line.starts_with("transfer-encoding:") && line.ends_with("chunked") {
            length = BodyLength::Chunked;
        }
    }
}

fn header_line(reader: &mut impl BufRead) -> Result<String> {
    let mut line = String::new();
    if reader.read_line(&mut line).context("waiting for an answer")? == 0 {
        bail!("the connection was closed without an answer");
    }
    Ok(line.trim_end().to_owned())
}

/// A body in chunks, as one.
struct ChunkReader<R> {
    inner: R,
    left: usize,
}

impl<R: BufRead> Read for ChunkReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.left == 0 {
            let mut line = String::new();
            self.inner.read_line(&mut line)?;
            if line.trim().is_empty() {
                line.clear();
                self.inner.read_line(&mut line)?;
            }
            let size = usize::from_str_radix(line.trim(), 16);
            self.left = size.map_err(|_| std::io::Error::other(format!("not a chunk: {line:?}")))?;
            if self.left == 0 {
                return Ok(0);
            }
        }
        let wanted = buffer.len().min(self.left);
        let read = self.inner.read(&mut buffer[..wanted])?;
        if read == 0 {
            return Err(std::io::Error::other("the connection was closed inside a chunk"));
        }
        self.left -= read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_in_chunks_is_read_as_one() {
        let wire: &[u8] = b"5\r\nhello\r\n7\r\n, world\r\n0\r\n\r\n";
        let mut text = String::new();
        ChunkReader { inner: wire, left: 0 }.read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello, world");
        let torn: &[u8] = b"5\r\nhel";
        assert!(ChunkReader { inner: torn, left: 0 }.read_to_string(&mut text).is_err());
    }

    #[test]
    fn a_head_says_how_long_the_body_is() {
        let (status, length) = head(&mut &b"HTTP/1.1 409 Conflict\r\nContent-Length: 12\r\n\r\n"[..]).unwrap();
        assert!(status == 409 && matches!(length, BodyLength::Known(12)));
        assert!(head(&mut &b""[..]).is_err());
    }
}
