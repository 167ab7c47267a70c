//! Jobs: made, changed, run and listed.

mod actions;
mod batch;
mod chains;
mod commands;
mod lists;
mod logs;
mod revisions;
mod runs;

use serde_json::json;

use ordo_server::testing::{World, job, text};

#[tokio::test]
async fn a_created_job_is_answered_with_its_defaults_its_place_and_its_tag() {
    let world = World::new().await;
    let asked = json!({ "label": "hello", "tool_name": "noop", "trigger": { "type": "scheduled", "every": "1h" } });
    let answer = world.post("/v1/jobs", asked).await;
    assert_eq!(answer.header("etag"), "\"1\"");
    let place = answer.header("location").to_owned();
    let created = answer.expect(201);
    assert_eq!(place, format!("/v1/jobs/{}", text(&created["id"])));
    assert_eq!(created["state"], "active");
    assert_eq!(created["schedule"], "every hour");
    assert_eq!(created["next_tick_at"], created["trigger"]["start"]);
    assert_eq!((&created["revision"], &created["version"]), (&json!(1), &json!(1)));
    assert_eq!((&created["block"], &created["priority"]), (&json!("serial"), &json!(5)));
    assert_eq!((&created["timeout"], &created["last"], &created["active"]), (&json!("1h"), &json!(null), &json!(0)));
    let shown = world.get(&place).await;
    assert_eq!(shown.header("etag"), "\"1\"");
    assert_eq!(shown.expect(200), created);
}

#[tokio::test]
async fn a_held_job_does_not_run_before_it_is_resumed() {
    let world = World::new().await;
    let held = world.job(json!({ "held": true, "trigger": { "type": "scheduled", "every": "1h" } })).await;
    assert_eq!((&held["state"], &held["next_tick_at"]), (&json!("held"), &json!(null)));
    let resumed = world.order(&format!("/v1/jobs/{}/resume", text(&held["id"]))).await.expect(200);
    assert_eq!(resumed["state"], "active");
    assert!(resumed["next_tick_at"].is_string());
}

#[tokio::test]
async fn a_change_moves_the_revision_and_leaves_the_rest() {
    let world = World::new().await;
    let made = world.job(json!({ "retry": { "max_attempts": 3, "backoff": "1s" } })).await;
    let path = format!("/v1/jobs/{}", text(&made["id"]));
    let answer = world.patch(&path, None, json!({ "label": "new", "retry": { "max_attempts": 5 } })).await;
    assert_eq!(answer.header("etag"), "\"2\"");
    let changed = answer.expect(200);
    assert_eq!((&changed["label"], &changed["revision"]), (&json!("new"), &json!(2)));
    assert_eq!((&changed["retry"]["max_attempts"], &changed["retry"]["backoff"]), (&json!(5), &json!("1s")));
    let same = world.patch(&path, None, json!({ "label": "new" })).await.expect(200);
    assert_eq!(same["revision"], 2);
}

#[tokio::test]
async fn a_change_is_refused_when_somebody_else_was_faster() {
    let world = World::new().await;
    let path = format!("/v1/jobs/{}", text(&world.job(json!({})).await["id"]));
    world.patch(&path, Some("\"1\""), json!({ "label": "mine" })).await.expect(200);
    let refused = world.patch(&path, Some("\"1\""), json!({ "label": "yours" })).await.refused(412, "revision_moved");
    assert!(text(&refused["detail"]).contains("revision 2"), "{refused}");
    assert_eq!(world.get(&path).await.expect(200)["label"], "mine");
    world.patch(&path, Some("*"), json!({ "label": "any" })).await.expect(200);
    world.patch(&path, Some("2, 3"), json!({ "label": "one of" })).await.expect(200);
    world.patch(&path, Some("xyz"), json!({ "label": "no" })).await.refused(400, "invalid_header");
}

#[tokio::test]
async fn runs_do_not_move_the_revision() {
    let world = World::new().await;
    let made = world.job(json!({})).await;
    let run = world.trigger(&made).await;
    world.until(&run, "completed").await;
    let path = format!("/v1/jobs/{}", text(&made["id"]));
    let shown = world.get(&path).await.expect(200);
    assert_eq!((&shown["revision"], &shown["last"]["run_id"]), (&json!(1), &json!(run)));
    assert_eq!(shown["last"]["status"], "completed");
    assert!(shown["version"].as_u64() > Some(1));
    world.patch(&path, Some("\"1\""), json!({ "priority": 9 })).await.expect(200);
}

#[tokio::test]
async fn many_changes_at_once_are_all_made() {
    let world = World::new().await;
    let path = format!("/v1/jobs/{}", text(&world.job(json!({})).await["id"]));
    let changes = (1..=6).map(|n| world.patch(&path, None, json!({ "priority": n, "tool_input": { "n": n } })));
    for answer in futures_util::future::join_all(changes).await {
        answer.expect(200);
    }
    assert_eq!(world.get(&path).await.expect(200)["revision"], 7);
}

#[tokio::test]
async fn a_cancelled_job_stays_and_takes_no_more_commands() {
    let world = World::new().await;
    let path = format!("/v1/jobs/{}", text(&world.job(json!({})).await["id"]));
    assert_eq!(world.delete(&path).await.expect(200)["state"], "cancelled");
    assert_eq!(world.delete(&format!("{path}?reason=again")).await.expect(200)["state"], "cancelled");
    assert_eq!(world.get(&path).await.expect(200)["state"], "cancelled");
    world.order(&format!("{path}/trigger")).await.refused(409, "wrong_state");
    world.order(&format!("{path}/resume")).await.refused(409, "wrong_state");
    world.patch(&path, None, json!({ "label": "x" })).await.refused(409, "wrong_state");
}

#[tokio::test]
async fn a_job_that_can_never_work_is_refused_with_the_field() {
    let world = World::new().await;
    let scheduled = |cron: &str| json!({ "type": "scheduled", "cron": cron });
    let cases = [
        (json!({ "label": "" }), "label"),
        (json!({ "label": "x".repeat(1000) }), "label"),
        (json!({ "trigger": scheduled("0 0 31 2 *") }), "trigger.cron"),
        (json!({ "trigger": scheduled("nonsense") }), "trigger.cron"),
        (
            json!({ "trigger": { "type": "scheduled", "cron": "0 0 * * *", "timezone": "Mars/Base" } }),
            "trigger.timezone",
        ),
        (json!({ "trigger": { "type": "scheduled", "at": "2020-01-01T00:00:00Z" } }), "trigger.at"),
        (json!({ "trigger": { "type": "scheduled" } }), "trigger"),
        (json!({ "trigger": { "type": "scheduled", "every": "1h", "colour": 1 } }), "trigger.colour"),
        (json!({ "retry": { "max_attempts": 0 } }), "retry.max_attempts"),
        (json!({ "retry": { "tries": 3 } }), "retry.tries"),
        (json!({ "priority": "high" }), "priority"),
        (json!({ "timeout": "soon" }), "timeout"),
        (json!({ "held": "yes" }), "held"),
        (json!({ "lable": "typo" }), "lable"),
        (json!({ "block": "parallel" }), "block"),
    ];
    for (fields, field) in cases {
        let refused = world.post("/v1/jobs", job(fields.clone())).await.refused(422, "invalid_job");
        assert_eq!(refused["errors"][0]["field"], field, "{fields}: {refused}");
    }
    let refused = world.post("/v1/jobs", json!({ "label": "x" })).await.refused(422, "invalid_job");
    assert_eq!(refused["errors"][0]["field"], "tool_name");
    assert_eq!(world.get("/v1/jobs").await.expect(200)["items"], json!([]));
}

#[tokio::test]
async fn a_change_that_can_never_work_changes_nothing() {
    let world = World::new().await;
    let made = world.job(json!({})).await;
    let path = format!("/v1/jobs/{}", text(&made["id"]));
    for (patch, field) in
        [(json!({ "id": "x" }), "id"), (json!({ "lable": "x" }), "lable"), (json!({ "label": "" }), "label")]
    {
        let refused = world.patch(&path, None, patch).await.refused(422, "invalid_job");
        assert_eq!(refused["errors"][0]["field"], field);
    }
    world.patch(&path, None, json!({ "priority": "x" })).await.refused(422, "invalid_job");
    world.patch(&path, None, json!({ "tool_name": "nop" })).await.refused(422, "unknown_tool");
    world.patch(&path, None, json!({ "tool_input": { "refuse": 1 } })).await.refused(422, "invalid_tool_input");
    world.patch(&path, None, json!(["label"])).await.refused(422, "invalid_body");
    assert_eq!(world.get(&path).await.expect(200), made);
}

#[tokio::test]
async fn an_unknown_tool_is_refused_with_the_one_that_was_probably_meant() {
    let world = World::new().await;
    let refused = world.post("/v1/jobs", job(json!({ "tool_name": "shel" }))).await.refused(422, "unknown_tool");
    assert_eq!(refused["detail"], "unknown tool \"shel\", did you mean \"shell\"?");
    assert_eq!(refused["errors"][0]["field"], "tool_name");
    let refused = world.post("/v1/jobs", job(json!({ "tool_name": "python" }))).await.refused(422, "unknown_tool");
    assert!(text(&refused["detail"]).contains("noop, shell"), "{refused}");
    world.job(json!({ "tool_name": "python", "group": "gpu" })).await;
}

#[tokio::test]
async fn an_input_that_the_tool_refuses_is_refused_before_it_is_stored() {
    let world = World::new().await;
    let refused = world.post("/v1/jobs", job(json!({ "tool_input": { "refuse": 1 } }))).await;
    assert_eq!(refused.refused(422, "invalid_tool_input")["detail"], "noop does not take refuse");
}

#[tokio::test]
async fn a_missing_job_is_not_found_on_every_route() {
    let world = World::new().await;
    for id in ["0199b3a4-0000-7000-8000-000000000000", "hello", "%ff"] {
        let path = format!("/v1/jobs/{id}");
        world.get(&path).await.refused(404, "job_not_found");
        world.delete(&path).await.refused(404, "job_not_found");
        world.patch(&path, None, json!({})).await.refused(404, "job_not_found");
        world.get(&format!("{path}/preview")).await.refused(404, "job_not_found");
        let range = json!({ "from": "2026-01-01T00:00:00Z" });
        world.post(&format!("{path}/backfill"), range).await.refused(404, "job_not_found");
        for order in ["trigger", "pause", "resume"] {
            world.order(&format!("{path}/{order}")).await.refused(404, "job_not_found");
        }
    }
}

#[tokio::test]
async fn a_name_that_looks_like_another_is_refused_and_a_reason_shows_what_is_in_it() {
    let world = World::new().await;
    for hidden in ["a\nb", "a\u{1b}[2Jb", "pay\u{202e}lort", "a\u{200b}b", "\u{2066}a"] {
        for field in ["label", "group", "tool_name"] {
            let mut asked = job(json!({ "group": "gpu" }));
            asked[field] = json!(hidden);
            let refused = world.post("/v1/jobs", asked).await.refused(422, "invalid_job");
            assert_eq!(refused["errors"][0]["field"], field, "{hidden:?}: {refused}");
        }
    }
    let made = world.job(json!({ "label": "Größe 日本 👩‍🚀", "description": "two\nlines" })).await;
    let path = format!("/v1/jobs/{}/pause", text(&made["id"]));
    let paused = world.post(&path, json!({ "reason": "no\u{1b}[8m\u{202e}w" })).await.expect(200);
    assert!(paused.to_string().contains(r"no\\u{1b}[8m\\u{202e}w"), "{paused}");
}

/// What is stored adds some levels to it: what is taken in can be read again.
#[tokio::test]
async fn an_input_that_could_not_be_read_again_is_refused() {
    let world = World::new().await;
    let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let deepest = world.job(json!({ "tool_input": nested(100) })).await;
    let id = text(&deepest["id"]);
    world.get(&format!("/v1/jobs/{id}/revisions")).await.expect(200);
    let deeper = json!({ "tool_input": nested(126) });
    world.post("/v1/jobs", job(deeper.clone())).await.refused(422, "invalid_job");
    let several = json!({ "jobs": [job(deeper.clone()), job(deeper.clone())] });
    let answer = world.post("/v1/jobs/batch", several).await.expect(200);
    assert!(answer["results"].as_array().unwrap().iter().all(|result| result["error"]["code"] == "invalid_job"));
    world.patch(&format!("/v1/jobs/{id}"), None, deeper.clone()).await.refused(422, "invalid_job");
    world.post(&format!("/v1/jobs/{id}/trigger"), deeper).await.refused(422, "invalid_job");
    let filter = json!({ "slug": "deep", "filter": { "pointer": "/a", "equals": nested(120) } });
    world.post("/v1/hooks", filter).await.refused(422, "invalid_hook");
    let large = json!({ "slug": "large", "filter": { "pointer": "/a".repeat(9_000), "exists": true } });
    world.post("/v1/hooks", large).await.refused(422, "invalid_hook");
}
