//! Ways to reach what a job must not reach: written as an address, behind a name, behind a redirect.
//!
//! Every case is tried for real: no connection is made by any of them, or a public one would be needed to pass.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use axum::Router;
use axum::response::Redirect;
use axum::routing::{any, get};
use ordo_engine::tool::Tool;
use ordo_tools::{Http, HttpOptions, Lookup};
use serde_json::json;

use crate::bench::{attempt, in_time, run};
use crate::http::{echo, http, serve};

/// Names of this test's own world.
#[derive(Debug, Default)]
struct KnownNames {
    known: BTreeMap<&'static str, Vec<IpAddr>>,
    asked: AtomicUsize,
}

#[async_trait]
impl Lookup for KnownNames {
    async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.known.get(host).cloned().ok_or_else(|| io::Error::other("the name server did not answer"))
    }
}

fn names(known: &[(&'static str, &[&str])]) -> Arc<KnownNames> {
    let parse = |addresses: &[&str]| addresses.iter().map(|address| address.parse().unwrap()).collect();
    let known = known.iter().map(|(name, addresses)| (*name, parse(addresses))).collect();
    Arc::new(KnownNames { known, asked: AtomicUsize::new(0) })
}

fn allowing(allow: &[&str], names: Arc<KnownNames>) -> Http {
    let allow = allow.iter().map(|entry| entry.parse().unwrap()).collect();
    Http::with_lookup(HttpOptions { allow }, names)
}

async fn reason(http: &Http, url: &str) -> String {
    let (work, _log) = attempt(json!({"url": url}));
    in_time(http.run(work)).await.expect_err(url).reason
}

#[tokio::test]
async fn no_spelling_of_a_forbidden_address_passes() {
    let http = Http::new(HttpOptions::default());
    let cases = [
        ("127.0.0.1", "loopback"),
        ("127.0.0.1:8080", "loopback"),
        ("127.255.255.254", "loopback"),
        ("127.1", "loopback"),
        ("127.0.0.1.", "loopback"),
        ("2130706433", "loopback"),
        ("0x7f000001", "loopback"),
        ("0x7f.1", "loopback"),
        ("017700000001", "loopback"),
        ("0177.0.0.1", "loopback"),
        ("%31%32%37.0.0.1", "loopback"),
        ("１２７.０.０.１", "loopback"),
        ("user:pass@127.0.0.1", "loopback"),
        ("example.com@127.0.0.1", "loopback"),
        ("0.0.0.0", "unspecified"),
        ("0", "unspecified"),
        ("0.1.2.3", "unspecified"),
        ("10.0.0.1", "private"),
        ("172.16.0.1", "private"),
        ("172.31.255.255", "private"),
        ("192.168.1.1", "private"),
        ("169.254.169.254", "link-local"),
        ("0xa9fea9fe", "link-local"),
        ("100.64.0.1", "carrier-grade NAT"),
        ("100.127.255.255", "carrier-grade NAT"),
        ("192.0.0.1", "reserved for protocols"),
        ("192.0.0.192", "reserved for protocols"),
        ("192.0.2.1", "documentation"),
        ("198.18.0.1", "benchmarking"),
        ("198.19.255.255", "benchmarking"),
        ("198.51.100.7", "documentation"),
        ("203.0.113.7", "documentation"),
        ("192.88.99.1", "6to4 relay"),
        ("224.0.0.1", "multicast"),
        ("239.255.255.250", "multicast"),
        ("240.0.0.1", "reserved"),
        ("255.255.255.255", "reserved"),
        ("[::1]", "loopback"),
        ("[0:0:0:0:0:0:0:1]:80", "loopback"),
        ("[::]", "unspecified"),
        ("[::ffff:127.0.0.1]", "IPv4-mapped"),
        ("[::ffff:7f00:1]", "IPv4-mapped"),
        ("[::ffff:8.8.8.8]", "IPv4-mapped"),
        ("[::127.0.0.1]", "not a public address"),
        ("[64:ff9b::7f00:1]", "NAT64"),
        ("[64:ff9b::808:808]", "NAT64"),
        ("[64:ff9b:1::1]", "NAT64"),
        ("[2002:7f00:1::]", "6to4"),
        ("[2001::1]", "reserved for protocols"),
        ("[2001:db8::1]", "documentation"),
        ("[3fff::1]", "documentation"),
        ("[fe80::1]", "link-local"),
        ("[fec0::1]", "not a public address"),
        ("[fc00::1]", "unique local"),
        ("[fd00:ec2::254]", "unique local"),
        ("[ff02::1]", "multicast"),
        ("[100::1]", "not a public address"),
        ("[5f00::1]", "not a public address"),
        ("[4000::1]", "not a public address"),
    ];
    for (host, what) in cases {
        let url = format!("http://{host}/");
        let checked = http.check(&json!({"url": url})).expect_err(&url);
        assert!(checked.contains(what) && checked.contains("tools.http.allow"), "{url}: {checked}");
        assert_eq!(reason(&http, &url).await, checked, "{url}");
    }
}

#[tokio::test]
async fn a_name_is_judged_by_all_its_addresses() {
    let known: [(&str, &[&str]); 8] = [
        ("loop.test", &["127.0.0.1"]),
        ("loop6.test", &["::1"]),
        ("metadata.test", &["169.254.169.254"]),
        ("mixed.test", &["93.184.216.34", "10.0.0.1"]),
        ("mixed6.test", &["2606:4700::1111", "fd00::1"]),
        ("mapped.test", &["::ffff:10.0.0.1"]),
        ("nat64.test", &["64:ff9b::a00:1"]),
        ("any.test", &["0.0.0.0"]),
    ];
    let http = allowing(&[], names(&known));
    for (name, _) in known {
        let url = format!("http://{name}/");
        assert_eq!(http.check(&json!({"url": url})), Ok(()), "names are not looked up when a job is made");
        let reason = reason(&http, &url).await;
        assert!(reason.starts_with(name) && reason.contains("tools.http.allow"), "{reason}");
    }
}

#[tokio::test]
async fn a_look_up_that_fails_lets_nothing_through() {
    let http = allowing(&["0.0.0.0/0"], names(&[("empty.test", &[])]));
    let failed = reason(&http, "http://missing.test/").await;
    assert_eq!(failed, "cannot resolve missing.test: the name server did not answer");
    assert_eq!(reason(&http, "http://empty.test/").await, "cannot resolve empty.test: it has no address");
}

#[tokio::test]
async fn the_systems_own_localhost_is_refused() {
    let http = Http::new(HttpOptions::default());
    let reason = reason(&http, "http://localhost:1/").await;
    assert!(reason.starts_with("localhost is not allowed: ") && reason.contains("loopback"), "{reason}");
}

#[tokio::test]
async fn a_redirect_is_checked_like_the_first_request() {
    let targets = [
        "http://10.0.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "//192.168.0.1/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://2130706433.test/",
        "http://inside.test/",
        "http://0xa000001/",
        "gopher://127.0.0.1/",
        "ftp://example.com/",
    ];
    for target in targets {
        let address = serve(Router::new().route("/", get(async move || Redirect::to(target)))).await;
        let http = allowing(&["127.0.0.0/8"], names(&[("inside.test", &["10.1.2.3"])]));
        let reason = reason(&http, &format!("http://{address}/")).await;
        let refused = ["not allowed", "cannot resolve", "only http and https"].iter().any(|why| reason.contains(why));
        assert!(refused, "{target}: {reason}");
    }
}

#[tokio::test]
async fn what_the_configuration_allows_is_reached_and_only_that() {
    let address = serve(Router::new().route("/", any(echo))).await;
    let port = address.port();
    let by_network =
        allowing(&["127.0.0.1"], names(&[("app.test", &["127.0.0.1"]), ("two.test", &["127.0.0.1", "127.0.0.2"])]));
    for host in ["127.0.0.1", "app.test"] {
        let (outcome, _) = run(&by_network, json!({"url": format!("http://{host}:{port}/")})).await;
        assert_eq!(outcome.unwrap()["status"], 200, "{host}");
    }
    assert!(reason(&by_network, &format!("http://two.test:{port}/")).await.contains("127.0.0.2 is loopback"));
    let by_name = allowing(&["app.test"], names(&[("app.test", &["127.0.0.1"]), ("x.app.test", &["127.0.0.1"])]));
    let (outcome, _) = run(&by_name, json!({"url": format!("http://APP.test:{port}/")})).await;
    assert_eq!(outcome.unwrap()["body"]["headers"]["host"], format!("app.test:{port}"));
    assert!(reason(&by_name, &format!("http://x.app.test:{port}/")).await.contains("not allowed"));
    assert!(reason(&by_name, &format!("http://127.0.0.1:{port}/")).await.contains("not allowed"));
}

#[tokio::test]
async fn the_address_that_was_checked_is_the_one_connected_to() {
    let address = serve(Router::new().route("/", any(echo))).await;
    let names = names(&[("app.test", &["127.0.0.1"])]);
    let http = allowing(&["127.0.0.1"], names.clone());
    run(&http, json!({"url": format!("http://app.test:{}/", address.port())})).await.0.unwrap();
    assert_eq!(names.asked.load(Ordering::Relaxed), 1, "no second look-up that could answer differently");
}

#[tokio::test]
async fn a_proxy_named_by_the_environment_is_not_used() {
    // reqwest reads these when a client is made; a child process has them, this one must not be changed.
    let status = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "ssrf::reaches_loopback_directly", "--ignored"])
        .envs([("http_proxy", "http://127.0.0.1:9"), ("all_proxy", "http://127.0.0.1:9")])
        .stdout(std::process::Stdio::null())
        .status();
    assert!(in_time(status).await.unwrap().success());
}

#[tokio::test]
#[ignore = "run by the test above, with a proxy in its environment"]
async fn reaches_loopback_directly() {
    let address = serve(Router::new().route("/", any(echo))).await;
    run(&http(), json!({"url": format!("http://{address}/")})).await.0.unwrap();
}
