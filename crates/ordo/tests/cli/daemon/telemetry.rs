//! Spans, as a collector of traces receives them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::Value;

use crate::common::{Daemon, World, eventually};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

/// A collector on this machine that keeps what it gets.
struct Collector {
    url: String,
    got: Arc<Mutex<Vec<(Resource, Span)>>>,
}

impl Collector {
    fn start() -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let got = Arc::new(Mutex::new(Vec::new()));
        let kept = got.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let kept = kept.clone();
                std::thread::spawn(move || while receive(&stream, &kept).is_some() {});
            }
        });
        Collector { url, got }
    }

    /// The spans of a kind, once there are so many.
    #[track_caller]
    fn spans(&self, name: &str, count: usize) -> Vec<Span> {
        eventually(&format!("{count} spans {name} have come"), || {
            let got = self.got.lock().unwrap();
            let named: Vec<Span> = got.iter().filter(|(_, s)| s.name == name).map(|(_, s)| s.clone()).collect();
            (named.len() >= count).then_some(named)
        })
    }

    fn daemon(&self, world: &World) -> Daemon {
        let mut command = world.command(&["serve", "--listen", "127.0.0.1:0", "--tick-rate", "200ms"]);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &self.url).env("ORDO_TELEMETRY__SERVICE_NAME", "shop");
        Daemon::start(command)
    }
}

/// One request on the connection, answered.
fn receive(stream: &TcpStream, kept: &Mutex<Vec<(Resource, Span)>>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        (reader.read_line(&mut head).ok()? > 0).then_some(())?;
    }
    let head = head.to_lowercase();
    assert!(head.starts_with("post /v1/traces ") && head.contains("application/x-protobuf"), "{head}");
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?.trim().parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    for sent in ExportTraceServiceRequest::decode(body.as_slice()).unwrap().resource_spans {
        let spans = sent.scope_spans.into_iter().flat_map(|scope| scope.spans);
        kept.lock().unwrap().extend(spans.map(|span| (sent.resource.clone().unwrap(), span)));
    }
    let mut stream = stream;
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").ok()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn attribute(span: &Span, key: &str) -> String {
    let found = span.attributes.iter().find(|pair| pair.key == key);
    match found.and_then(|pair| pair.value.clone()?.value) {
        Some(Any::StringValue(text)) => text,
        Some(Any::IntValue(number)) => number.to_string(),
        other => panic!("{key}: {other:?} in {span:#?}"),
    }
}

/// A job is triggered over HTTP by somebody who is in a trace.
fn trigger(world: &World, daemon: &Daemon, job: &str, flags: &str) -> String {
    let id = world.json(&["job", "show", job])["id"].as_str().unwrap().to_owned();
    let mut stream = TcpStream::connect(daemon.place.trim_start_matches("http://")).unwrap();
    let token = world.read(".ordo/token");
    let head = format!(
        "host: localhost\r\nauthorization: Bearer {}\r\ntraceparent: 00-{TRACE}-{CALLER}-{flags}",
        token.trim()
    );
    write!(stream, "POST /v1/jobs/{id}/trigger HTTP/1.1\r\n{head}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 202"), "{answer}");
    let body: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    body["run_id"].as_str().unwrap().to_owned()
}

#[test]
fn a_trace_goes_from_the_caller_through_the_request_and_the_attempt_to_the_command() {
    let world = World::new();
    let collector = Collector::start();
    let daemon = collector.daemon(&world);
    world.ordo(&["job", "add", "hello", "--", "sh", "-c", "echo $TRACEPARENT; exit 3"]).done();
    let run = trigger(&world, &daemon, "hello", "01");
    world.over("hello");
    assert_eq!(world.json(&["run", "show", &run])["traceparent"].as_str().unwrap()[..36], format!("00-{TRACE}-"));

    let request = &collector.spans("POST /v1/jobs/{id}/trigger", 1)[0];
    assert_eq!((hex(&request.trace_id), hex(&request.parent_span_id)), (TRACE.to_owned(), CALLER.to_owned()));
    assert_eq!((request.kind, attribute(request, "http.response.status_code").as_str()), (2, "202"));
    let attempt = &collector.spans("run hello", 1)[0];
    assert_eq!((hex(&attempt.trace_id), &attempt.parent_span_id), (TRACE.to_owned(), &request.span_id));
    assert_eq!(attribute(attempt, "ordo.run.id"), run);
    assert_eq!(
        (attribute(attempt, "ordo.run.attempt"), attribute(attempt, "ordo.run.outcome")),
        ("1".into(), "failed".into())
    );
    assert_eq!(attempt.status.as_ref().unwrap().code, 2);
    assert!(attempt.end_time_unix_nano > attempt.start_time_unix_nano);
    let output = world.ordo(&["run", "logs", &run]).done().out;
    assert_eq!(output.trim(), format!("00-{TRACE}-{}-01", hex(&attempt.span_id)));
    let service = collector.got.lock().unwrap()[0].0.clone();
    assert!(
        service.attributes.iter().any(|pair| pair.key == "service.name"
            && pair.value.clone().unwrap().value == Some(Any::StringValue("shop".into())))
    );

    // What the caller does not want recorded is not, and the command sees that.
    let quiet = trigger(&world, &daemon, "hello", "00");
    let output = eventually("the second run has spoken", || {
        let output = world.ordo(&["run", "logs", &quiet]).out;
        (!output.is_empty()).then_some(output)
    });
    assert!(output.starts_with(&format!("00-{TRACE}-")) && output.trim().ends_with("-00"), "{output}");
    world.over("hello");
    let (code, _) = daemon.stop();
    assert_eq!(code, 0);
    let got = collector.got.lock().unwrap();
    assert_eq!(got.iter().filter(|(_, span)| span.name == "run hello").count(), 1);
    assert!(got.iter().all(|(_, span)| !span.name.contains("healthz")));
}

#[test]
fn a_run_stays_in_its_trace_when_the_daemon_dies() {
    let world = World::new();
    let collector = Collector::start();
    let daemon = collector.daemon(&world);
    let script = "if [ -e begun ]; then echo $TRACEPARENT; else touch begun; sleep 60; fi";
    let policies = ["--idempotent", "--retry", "1", "--backoff", "10ms", "--cwd", world.path().to_str().unwrap()];
    world.ordo(&[&["job", "add", "long"], policies.as_slice(), &["--", "sh", "-c", script]].concat()).done();
    let run = trigger(&world, &daemon, "long", "01");
    eventually("the first attempt has begun", || world.file("begun").exists().then_some(()));
    daemon.kill();
    let _daemon = collector.daemon(&world);
    assert_eq!(world.over("long")["status"]["type"], "completed");
    let attempt = &collector.spans("run long", 1)[0];
    assert_eq!((hex(&attempt.trace_id), attribute(attempt, "ordo.run.attempt")), (TRACE.to_owned(), "2".to_owned()));
    assert_eq!(
        world.ordo(&["run", "logs", &run]).done().out.trim(),
        format!("00-{TRACE}-{}-01", hex(&attempt.span_id))
    );
}

#[test]
fn a_run_that_nobody_traces_is_a_trace_under_its_own_id() {
    let world = World::new();
    let collector = Collector::start();
    let daemon = collector.daemon(&world);
    world.ordo(&["job", "add", "alone", "--in", "100ms", "--", "true"]).done();
    let run = world.over("alone");
    let attempt = &collector.spans("run alone", 1)[0];
    assert_eq!(hex(&attempt.trace_id), run["id"].as_str().unwrap().replace('-', ""));
    assert!(attempt.parent_span_id.is_empty() && attempt.status.is_none());
    assert_eq!(attribute(attempt, "ordo.run.scheduled_for"), run["scheduled_for"].as_str().unwrap());
    // The log is as it is without a collector.
    assert!(!daemon.said().contains("otel") && !daemon.said().contains("span_id"), "{}", daemon.said());
}

#[test]
fn a_job_that_triggers_another_hands_its_trace_on() {
    let world = World::new();
    let _daemon = world.serve();
    let ordo = env!("CARGO_BIN_EXE_ordo");
    world.ordo(&["job", "add", "second", "--", "true"]).done();
    world
        .ordo(&["job", "add", "first", "--cwd", world.path().to_str().unwrap(), "--", ordo, "job", "trigger", "second"])
        .done();
    world.ordo(&["job", "trigger", "first"]).done();
    let first = world.over("first");
    assert_eq!(first["status"]["type"], "completed", "{first}");
    let trace = first["id"].as_str().unwrap().replace('-', "");
    assert_eq!(world.over("second")["traceparent"].as_str().unwrap()[3..35], trace);
}

#[test]
fn a_collector_that_is_down_costs_one_line() {
    let world = World::new();
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", nobody.local_addr().unwrap());
    drop(nobody);
    let mut command = world.command(&["serve", "--listen", "127.0.0.1:0", "--tick-rate", "200ms"]);
    command.env("ORDO_TELEMETRY__OTLP_ENDPOINT", &url);
    let daemon = Daemon::start(command);
    world.ordo(&["job", "add", "busy", "--every", "100ms", "--tool", "noop"]).done();
    daemon.wait_for("the collector did not take spans");
    let before = world.runs("busy").len();
    eventually("the work goes on", || (world.runs("busy").len() > before + 15).then_some(()));
    let (code, said) = daemon.stop();
    assert_eq!(code, 0);
    assert_eq!(said.matches("did not take spans").count(), 1, "{said}");
}

#[test]
fn a_collector_that_cannot_be_one_is_refused_at_once() {
    let world = World::new();
    let serve = |name: &str, value: &str| -> crate::common::Ran {
        world.command(&["serve", "--listen", "127.0.0.1:0"]).env(name, value).output().unwrap().into()
    };
    serve("ORDO_TELEMETRY__OTLP_ENDPOINT", "collector:4318").refused(2, &["telemetry.otlp_endpoint", "http://"]);
    serve("ORDO_TELEMETRY__SAMPLE", "2").refused(2, &["telemetry.sample", "0 to 1"]);
}
