//! The form of a job as a browser sends it back: what nobody touched stays as it was.

use std::fmt::Write as _;

use ordo_server::router;
use ordo_server::testing::{World, text};
use serde_json::{Value, json};

use super::{press, see};

/// The fields of the page's form with their values, as a browser would send them.
fn fields_of(page: &str) -> Vec<(String, String)> {
    let form = page.split_once("id=\"job-form\"").expect("a form").1.split_once("</form>").expect("its end").0;
    let mut fields = Vec::new();
    for tag in form.split('<').skip(1) {
        let name = || attribute(tag, "name").unwrap_or_default();
        let value = || attribute(tag, "value").unwrap_or_default();
        let kind = tag.split([' ', '>']).next().unwrap_or_default();
        let is_chosen =
            !matches!(attribute(tag, "type").as_deref(), Some("checkbox" | "radio")) || tag.contains(" checked");
        match kind {
            "input" if is_chosen => fields.push((name(), value())),
            "textarea" => fields.push((name(), unescaped(tag.split_once('>').unwrap().1))),
            "select" => fields.push((name(), String::new())),
            "option" if tag.contains(" selected") => fields.last_mut().unwrap().1 = value(),
            _ => {}
        }
    }
    fields
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let rest = tag.split_once(&format!(" {name}=\""))?.1;
    Some(unescaped(rest.split_once('"')?.0))
}

fn unescaped(text: &str) -> String {
    let pairs = [("&#34;", "\""), ("&#39;", "'"), ("&#60;", "<"), ("&#62;", ">"), ("&#38;", "&")];
    pairs.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

fn encoded(fields: &[(String, String)]) -> String {
    let byte = |mut text: String, byte: u8| {
        let _ = write!(text, "%{byte:02X}");
        text
    };
    let word = |text: &str| text.bytes().fold(String::new(), byte);
    let pairs = fields.iter().map(|(name, value)| format!("{}={}", word(name), word(value)));
    pairs.collect::<Vec<_>>().join("&")
}

fn full_job() -> Value {
    json!({
        "description": "nightly", "description_url": "https://wiki.example.com/a", "tags": ["nightly", "team:billing"],
        "trigger": {
            "type": "scheduled", "cron": "0 2 * * *", "timezone": "Europe/Berlin",
            "start": "2026-10-25T00:30:00.250Z", "end": "2031-01-01T00:00:00.000Z", "jitter": "1m",
            "exclude": [{ "days": ["sat", "sun"] }], "dst": { "skipped": "skip", "repeated": "both" },
        },
        "misfire": { "fire_all": { "cap": 7, "window": "6h" } },
        "retry": { "max_attempts": 4, "backoff": "5s", "max_backoff": "1m" },
        "on_failure": { "incident": { "severity": "sev1", "after": 3, "resolve_on_recovery": true } },
        "on_missed": { "incident": { "severity": "sev4", "after": 2, "resolve_on_recovery": false } },
        "expire_after": "5m", "concurrency_key": { "key": "/tenant", "max": 2 },
        "rate_limit": { "key": "label", "limit": 5, "per": "1m" }, "priority": 7, "group": "gpu", "routing": "lru",
        "retention": { "runs": 50, "age": "3d" }, "timeout": "10m", "idempotent": true,
    })
}

#[tokio::test]
async fn a_job_that_is_edited_keeps_every_policy_that_nobody_touched() {
    let world = World::new().await;
    let job = world.job(full_job()).await;
    let path = format!("/jobs/{}/edit", text(&job["id"]));
    let router = router(world.app.clone());
    let mut fields = fields_of(&see(&router, &path).await.1);
    fields.iter_mut().find(|(name, _)| name == "cron").expect("the expression").1 = "30 3 * * *".to_owned();

    let (answer, page) = press(&router, &path, &encoded(&fields)).await;
    assert_eq!(answer.status(), 303, "{page}");

    let after = world.get(&format!("/v1/jobs/{}", text(&job["id"]))).await.expect(200);
    let mut expected = full_job();
    expected["trigger"]["cron"] = json!("30 3 * * *");
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&after[name], value, "{name}");
    }
}
