use serde_json::json;

use ordo_server::testing::{World, text, texts};

#[tokio::test]
async fn a_trigger_answers_the_run_it_began() {
    let world = World::new().await;
    let job = world.job(json!({ "tool_input": { "a": 1 } })).await;
    let run = world.trigger(&job).await;
    let ended = world.until(&run, "completed").await;
    assert_eq!((&ended["scheduled_for"], &ended["job_id"]), (&json!(null), &job["id"]));
    assert_eq!(ended["status"], json!({ "type": "completed", "result": { "a": 1 } }));
}

#[tokio::test]
async fn a_trigger_may_bring_its_own_input_if_the_tool_takes_it() {
    let world = World::new().await;
    let job = world.job(json!({ "tool_input": { "a": 1 } })).await;
    let path = format!("/v1/jobs/{}/trigger", text(&job["id"]));
    let answer = world.post(&path, json!({ "tool_input": { "b": 2 } })).await.expect(202);
    let ended = world.until(&text(&answer["run_id"]), "completed").await;
    assert_eq!(ended["status"]["result"], json!({ "b": 2 }));
    world.post(&path, json!({ "tool_input": { "refuse": 1 } })).await.refused(422, "invalid_tool_input");
    let refused = world.post(&path, json!({ "input": {} })).await.refused(422, "invalid_body");
    assert_eq!(refused["errors"][0]["field"], "input");
    world.post(&path, json!({})).await.expect(202);
}

#[tokio::test]
async fn a_trigger_that_is_discarded_still_answers_its_run() {
    let world = World::new().await;
    let job = world.job(json!({ "tool_name": "hang", "block": "discard" })).await;
    let first = world.trigger(&job).await;
    world.until(&first, "running").await;
    let second = world.trigger(&job).await;
    assert_ne!(first, second);
    let skipped = world.until(&second, "skipped").await;
    assert_eq!(skipped["status"]["reason"], "overlap");
}

#[tokio::test]
async fn a_trigger_that_covers_another_run_answers_its_own() {
    let world = World::new().await;
    let job = world.job(json!({ "tool_name": "hang", "block": "cover" })).await;
    let first = world.trigger(&job).await;
    world.until(&first, "running").await;
    let second = world.trigger(&job).await;
    assert_ne!(first, second);
    world.until(&first, "cancelled").await;
    world.until(&second, "running").await;
}

#[tokio::test]
async fn a_paused_job_says_why_and_since_when() {
    let world = World::new().await;
    let job = world.job(json!({ "trigger": { "type": "scheduled", "every": "1h" } })).await;
    let path = format!("/v1/jobs/{}", text(&job["id"]));
    let paused = world.post(&format!("{path}/pause"), json!({ "reason": "holidays" })).await.expect(200);
    assert_eq!((&paused["state"], &paused["next_tick_at"]), (&json!("paused"), &json!(null)));
    assert_eq!(paused["paused_reason"], "holidays");
    assert!(paused["paused_since"].is_string());
    world.order(&format!("{path}/pause")).await.expect(200);
    let resumed = world.order(&format!("{path}/resume")).await.expect(200);
    assert_eq!((&resumed["state"], resumed.get("paused_reason")), (&json!("active"), None));
}

#[tokio::test]
async fn a_preview_shows_the_next_times() {
    let world = World::new().await;
    let trigger = json!({ "type": "scheduled", "cron": "30 2 * * *", "timezone": "Europe/Berlin" });
    let job = world.job(json!({ "trigger": trigger })).await;
    let path = format!("/v1/jobs/{}/preview", text(&job["id"]));
    let shown = world.get(&format!("{path}?n=2&from=2027-03-27T00:00:00Z")).await.expect(200);
    assert_eq!(texts(&shown["items"], "nominal"), ["2027-03-27T01:30:00.000Z", "2027-03-28T01:00:00.000Z"]);
    assert_eq!(shown["items"][1]["note"], "shifted");
    // After exactly this moment, in the past and in the far future too.
    for (from, first) in [
        ("2027-03-27T01:29:59.999Z", "2027-03-27T01:30:00.000Z"),
        ("2027-03-27T01:30:00Z", "2027-03-28T01:00:00.000Z"),
        ("1999-12-31T01:30:00Z", "2000-01-01T01:30:00.000Z"),
        ("2999-12-31T12:00:00Z", "3000-01-01T01:30:00.000Z"),
        ("9999-12-30T22:00:00Z", "9999-12-31T01:30:00.000Z"),
    ] {
        let shown = world.get(&format!("{path}?n=1&from={from}")).await.expect(200);
        assert_eq!(texts(&shown["items"], "nominal"), [first], "from {from}");
    }
    let none = world.get(&format!("{path}?from=9999-12-31T23:59:59Z")).await.expect(200);
    assert_eq!(none["items"], json!([]));
    assert!(text(&shown["schedule"]).contains("02:30"));
    assert_eq!(world.get(&path).await.expect(200)["items"].as_array().unwrap().len(), 10);
    for query in ["n=0", "n=1001", "n=x", "from=yesterday", "m=1"] {
        world.get(&format!("{path}?{query}")).await.refused(422, "invalid_query");
    }
    let manual = world.job(json!({})).await;
    let shown = world.get(&format!("/v1/jobs/{}/preview", text(&manual["id"]))).await.expect(200);
    assert_eq!((&shown["items"], &shown["schedule"]), (&json!([]), &json!("only when triggered")));
}

#[tokio::test]
async fn the_last_second_of_9999_may_be_the_time_the_start_and_the_end() {
    let world = World::new().await;
    let last = "9999-12-31T23:59:59.000Z";
    let once = world.job(json!({ "trigger": { "type": "scheduled", "at": "9999-12-31T23:59:59Z" } })).await;
    assert_eq!((&once["next_tick_at"], &once["trigger"]["at"]), (&json!(last), &json!(last)));
    let late = json!({ "type": "scheduled", "every": "1h", "start": last });
    assert_eq!(world.job(json!({ "trigger": late })).await["next_tick_at"], last);
    let long = json!({ "type": "scheduled", "cron": "0 2 * * *", "end": last });
    assert_eq!(world.job(json!({ "trigger": long })).await["trigger"]["end"], last);
    let excluded = json!([{ "from": "2030-01-01T00:00:00Z", "to": last }]);
    world.job(json!({ "trigger": { "type": "scheduled", "every": "1h", "exclude": excluded } })).await;
}

#[tokio::test]
async fn a_backfill_runs_the_times_it_counted_when_it_was_only_asked() {
    let world = World::new().await;
    let trigger = json!({ "type": "scheduled", "every": "1h", "start": "2026-01-01T00:00:00Z" });
    let job = world.job(json!({ "trigger": trigger })).await;
    let path = format!("/v1/jobs/{}/backfill", text(&job["id"]));
    let range = json!({ "from": "2026-01-02T00:00:00Z", "to": "2026-01-02T03:00:00Z" });
    let mut dry = range.clone();
    dry["dry_run"] = json!(true);
    let asked = world.post(&path, dry).await.expect(200);
    assert_eq!((&asked["count"], &asked["dry_run"]), (&json!(3), &json!(true)));
    assert_eq!(asked["items"][0]["nominal"], "2026-01-02T00:00:00.000Z");
    let runs = format!("/v1/runs?job_id={}", text(&job["id"]));
    assert_eq!(world.get(&runs).await.expect(200)["items"], json!([]));

    assert_eq!(world.post(&path, range).await.expect(202)["count"], 3);
    let first = world.get(&runs).await.expect(200)["items"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(first["scheduled_for"], "2026-01-02T00:00:00.000Z");
    world.until(&text(&first["id"]), "completed").await;
}

#[tokio::test]
async fn a_backfill_that_makes_no_sense_is_refused_dry_or_not() {
    let world = World::new().await;
    let trigger = json!({ "type": "scheduled", "every": "1h", "start": "2026-01-01T00:00:00Z" });
    let job = world.job(json!({ "trigger": trigger })).await;
    let manual = world.job(json!({})).await;
    for dry_run in [true, false] {
        let path = format!("/v1/jobs/{}/backfill", text(&job["id"]));
        let backwards = json!({ "from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z", "dry_run": dry_run });
        world.post(&path, backwards).await.refused(422, "invalid_job");
        world.post(&path, json!({ "from": "soon", "dry_run": dry_run })).await.refused(422, "invalid_body");
        world.post(&path, json!({ "dry_run": dry_run })).await.refused(422, "invalid_body");
        let path = format!("/v1/jobs/{}/backfill", text(&manual["id"]));
        let range = json!({ "from": "2026-01-02T00:00:00Z", "dry_run": dry_run });
        world.post(&path, range).await.refused(409, "wrong_state");
    }
}

#[tokio::test]
async fn only_so_many_backfills_are_under_way_at_once() {
    let world = World::new().await;
    let trigger = json!({ "type": "scheduled", "every": "1h", "start": "2026-01-01T00:00:00Z" });
    let job = world.job(json!({ "trigger": trigger, "tool_name": "hang" })).await;
    let path = format!("/v1/jobs/{}/backfill", text(&job["id"]));
    let range = json!({ "from": "2026-01-02T00:00:00Z", "to": "2026-01-03T00:00:00Z" });
    for _ in 0..8 {
        world.post(&path, range.clone()).await.expect(202);
    }
    world.post(&path, range).await.refused(409, "too_many_backfills");
}

#[tokio::test]
async fn a_cron_expression_is_explained() {
    let world = World::new().await;
    let answer =
        world.get("/v1/cron/explain?expr=0+2+*+*+*&tz=Europe/Berlin&n=3&from=2027-01-01T00:00:00Z").await.expect(200);
    assert_eq!(answer["items"].as_array().unwrap().len(), 3);
    assert_eq!(answer["items"][0]["nominal"], "2027-01-01T01:00:00.000Z");
    assert!(text(&answer["schedule"]).contains("02:00"));
    for (query, field) in [("expr=0+0+31+2+*", "expr"), ("expr=0+0+*+*+*&tz=Mars/Base", "tz"), ("tz=UTC", "expr")] {
        let refused = world.get(&format!("/v1/cron/explain?{query}")).await.refused(422, "invalid_query");
        assert_eq!(refused["errors"][0]["field"], field, "{query}");
    }
}
