//! The pages as a browser meets them, without one: status, headers, redirects.

mod home;
mod job_form;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response, header};
use http_body_util::BodyExt;
use ordo_server::router;
use serde_json::json;
use tower::ServiceExt;

use ordo_server::testing::{World, request, text};

const HTML: &str = "text/html,application/xhtml+xml";

async fn send_request(router: &Router, request: Request<Body>) -> (Response<()>, String) {
    let (parts, body) = router.clone().oneshot(request).await.unwrap().into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    (Response::from_parts(parts, ()), String::from_utf8_lossy(&bytes).into_owned())
}

async fn see(router: &Router, path: &str) -> (Response<()>, String) {
    send_request(router, request("GET", path).header(header::ACCEPT, HTML).body(Body::empty()).unwrap()).await
}

async fn press(router: &Router, path: &str, fields: &str) -> (Response<()>, String) {
    let form = request("POST", path)
        .header(header::ACCEPT, HTML)
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(Body::from(fields.to_owned()));
    send_request(router, form.unwrap()).await
}

fn of<'a>(answer: &'a Response<()>, name: &str) -> &'a str {
    answer.headers().get(name).unwrap_or_else(|| panic!("no {name}")).to_str().unwrap()
}

#[tokio::test]
async fn every_page_allows_nothing_inline_and_nothing_from_elsewhere() {
    let world = World::new().await;
    let job = world.job(json!({ "label": "<script>alert(1)</script>" })).await;
    let run = world.trigger(&job).await;
    world.until(&run, "completed").await;
    let router = router(world.app.clone());
    let id = text(&job["id"]);
    let incident = world.post("/v1/incidents", json!({ "title": "<script>alert(1)</script>" })).await.expect(201);
    let tabs = ["", "/edit", "/definition", "/chain", "/history", "/incidents"];
    let mut own: Vec<String> = tabs.iter().map(|tab| format!("/jobs/{id}{tab}")).collect();
    own.extend(["", "/postmortem"].iter().map(|part| format!("/incidents/{}{part}", text(&incident["id"]))));
    own.push(format!("/runs/{run}"));
    let plain = [
        "/",
        "/jobs",
        "/jobs/new",
        "/runs",
        "/runs?view=timeline",
        "/runs?since=24h&reason=%3Cscript%3E&longer_than=nonsense",
        "/calendar",
        "/calendar?view=month",
        "/calendar?cron=0+2+*+*+*&tz=UTC&took=5m",
        "/incidents",
        "/silences",
        "/chains",
        "/audit",
        "/hooks",
        "/executors",
        "/nodes",
        "/monitors",
        "/tokens",
        "/docs",
        "/docs/benchmarks",
        "/docs?q=backup",
    ];
    for path in plain.into_iter().chain(own.iter().map(String::as_str)) {
        let (answer, page) = see(&router, path).await;
        assert_eq!(answer.status(), 200, "{path}: {page}");
        let policy = of(&answer, "content-security-policy");
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(of(&answer, "cache-control"), "no-store");
        for inline in [" style=", " onclick=", "<script>", "<style", "javascript:"] {
            assert!(!page.contains(inline), "{path} has {inline}");
        }
    }
}

#[tokio::test]
async fn a_browser_without_a_token_gets_a_page_and_a_program_gets_a_problem() {
    let world = World::new().await;
    let router = router(world.app.clone());
    let bare =
        |accept: &str| Request::builder().uri("/jobs").header(header::ACCEPT, accept).body(Body::empty()).unwrap();
    let (answer, page) = send_request(&router, bare(HTML)).await;
    assert_eq!(answer.status(), 401);
    assert!(page.contains("name=\"token\"") && of(&answer, "content-type").starts_with("text/html"));
    let (answer, _) = send_request(&router, bare("application/json")).await;
    assert_eq!((answer.status().as_u16(), of(&answer, "content-type")), (401, "application/problem+json"));
}

#[tokio::test]
async fn files_are_kept_for_good_under_an_address_that_changes_with_them() {
    let world = World::new().await;
    let router = router(world.app.clone());
    let (_, page) = see(&router, "/").await;
    let address = page.split('"').find(|part| part.ends_with("/app.js")).unwrap().to_owned();
    // Also without a token: the page that asks for one needs them.
    let (answer, _) = send_request(&router, Request::builder().uri(&address).body(Body::empty()).unwrap()).await;
    assert_eq!(answer.status(), 200);
    assert!(
        of(&answer, "cache-control").contains("immutable")
            && of(&answer, "content-type").starts_with("text/javascript")
    );
    let (answer, _) = see(&router, "/assets/000000000000/app.js").await;
    assert_eq!(answer.status(), 404);
}

#[tokio::test]
async fn a_button_acts_and_leads_back_with_a_word_that_is_shown_once() {
    let world = World::new().await;
    let job = world.job(json!({ "label": "pressed", "trigger": { "type": "scheduled", "every": "1h" } })).await;
    let router = router(world.app.clone());
    let path = format!("/jobs/{}", text(&job["id"]));
    let (answer, _) = press(&router, &format!("{path}/pause"), "reason=tea&back=%2Fjobs%3Fq%3Dpressed").await;
    assert_eq!((answer.status().as_u16(), of(&answer, "location")), (303, "/jobs?q=pressed"));
    let cookie = of(&answer, "set-cookie").split(';').next().unwrap().to_owned();
    let with = request("GET", &path).header(header::ACCEPT, HTML).header(header::COOKIE, cookie).body(Body::empty());
    let (answer, page) = send_request(&router, with.unwrap()).await;
    assert!(page.contains("Paused pressed") && page.contains("tea"), "{page}");
    assert!(of(&answer, "set-cookie").contains("Max-Age=0"), "the word is gone afterwards");
    // Once more is refused by the model, and said so.
    let (answer, _) = press(&router, &format!("{path}/resume"), "back=https%3A%2F%2Fevil.example").await;
    assert_eq!(of(&answer, "location"), "/", "a redirect never leaves this server");
}

#[tokio::test]
async fn below_a_prefix_every_address_has_it_and_both_kinds_of_proxy_are_answered() {
    let world = World::new().await;
    let job = world.job(json!({ "label": "below" })).await;
    let router = router(world.app.clone().below("/ops/ordo/"));
    for path in ["/ops/ordo", "/ops/ordo/", "/ops/ordo/jobs", "/jobs", "/"] {
        let (answer, page) = see(&router, path).await;
        assert_eq!(answer.status(), 200, "{path}");
        let elsewhere = page.split("href=\"/").skip(1).find(|rest| !rest.starts_with("ops/ordo/"));
        assert_eq!(elsewhere.map(|rest| &rest[..rest.len().min(40)]), None, "{path}");
    }
    let (answer, _) = press(&router, &format!("/ops/ordo/jobs/{}/trigger", text(&job["id"])), "back=%2Fjobs").await;
    assert_eq!(of(&answer, "location"), "/ops/ordo/jobs");
    let (answer, _) = see(&router, "/ops/ordo/v1/jobs").await;
    assert_eq!(of(&answer, "content-type"), "application/json");
}

#[tokio::test]
async fn the_documentation_is_there_without_a_network() {
    let world = World::new().await;
    let router = router(world.app.clone());
    let (answer, page) = see(&router, "/docs/guides/upgrade").await;
    assert_eq!(answer.status(), 200);
    assert!(page.contains("<h2 id=\"to-020\">") && page.contains("href=\"/docs/changelog\""), "{page}");
    let (_, found) = see(&router, "/docs?q=dead-lettered").await;
    assert!(found.contains("href=\"/docs/notifications\""), "{found}");
    let (answer, _) = see(&router, "/docs/pictures/dst.svg").await;
    assert_eq!((answer.status().as_u16(), of(&answer, "content-type")), (200, "image/svg+xml"));
    let (answer, _) = see(&router, "/docs/nowhere").await;
    assert_eq!(answer.status(), 404);
}

#[tokio::test]
async fn the_runs_of_a_job_stand_under_the_tabs_of_the_job() {
    let world = World::new().await;
    let job = world.job(json!({ "label": "nightly" })).await;
    let router = router(world.app.clone());
    let (_, page) = see(&router, &format!("/jobs/{}", text(&job["id"]))).await;
    let runs = page.split("href=\"").find(|part| part.contains(">Runs</a></li>") && part.contains("job=")).unwrap();
    let (_, page) = see(&router, &runs.split('"').next().unwrap().replace("&#38;", "&")).await;
    assert!(page.contains("class=\"tabs\"") && page.contains("aria-current=\"page\">Runs</a>"), "{page}");
    let (_, page) = see(&router, "/runs").await;
    assert!(!page.contains("class=\"tabs\""), "{page}");
}

#[tokio::test]
async fn a_monitor_shows_its_badge_and_the_address_of_it() {
    let world = World::new().await;
    world.post("/v1/monitors", json!({ "name": "backup", "every": "1h" })).await.expect(201);
    let router = router(world.app.clone());
    let (_, page) = see(&router, "/monitors/backup").await;
    let badge = page.split("<img src=\"").nth(1).expect("a badge").split('"').next().unwrap();
    assert_eq!(see(&router, badge).await.0.status(), 200, "{badge}");
    assert!(page.contains("![backup]("), "{page}");
}

#[tokio::test]
async fn where_much_runs_the_timeline_shows_a_shorter_time_in_full() {
    let world = World::standing().await;
    let job = world.job(json!({ "label": "busy" })).await;
    for _ in 0..9 {
        for _ in 0..100 {
            world.trigger(&job).await;
        }
        world.below.advance(ordo_model::Millis::from_secs(1)).await;
    }
    let router = router(world.app.clone());
    let (_, page) = see(&router, "/runs?view=timeline").await;
    assert!(page.contains("Too many runs to show more than 5.9 s of them."), "{page}");
    assert!(!page.contains("Only the newest 600 runs are shown"), "all of that time is shown");
    let (_, page) = see(&router, "/runs?view=timeline&since=1h").await;
    assert!(page.contains("Only the newest 600 runs are shown"), "an hour was asked for: {page}");
}

#[tokio::test]
async fn an_empty_list_of_notifications_says_what_would_be_in_it() {
    let world = World::new().await;
    let router = router(world.app.clone());
    for (state, about) in [
        ("dead_lettered", "could not be delivered"),
        ("waiting", "wait to be sent"),
        ("delivered", "were delivered"),
        ("silenced", "a silence held back"),
    ] {
        let (_, page) = see(&router, &format!("/notifications?state={state}")).await;
        assert!(page.contains(about) && page.contains(&format!("--state {state}<")), "{state}: {page}");
    }
}
