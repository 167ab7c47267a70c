use std::collections::BTreeSet;

use serde_json::{Value, json};

use ordo_server::testing::{World, text, texts};

/// Every page of a list; `between` happens after each.
async fn pages(world: &World, path: &str, between: impl AsyncFn()) -> Vec<Value> {
    let (mut items, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = world.get(&format!("{path}{cursor}")).await.expect(200);
        items.extend(page["items"].as_array().unwrap().iter().cloned());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return items,
        }
        between().await;
    }
}

fn ids(items: &[Value]) -> Vec<String> {
    items.iter().map(|item| text(&item["id"])).collect()
}

#[tokio::test]
async fn pages_of_jobs_hold_each_job_once_while_others_are_added() {
    let world = World::new().await;
    let mut made = Vec::new();
    for n in 0..25 {
        made.push(text(&world.job(json!({ "label": format!("j{n}") })).await["id"]));
    }
    let list = async |path: &str| ids(&pages(&world, path, async || drop(world.job(json!({})).await)).await);
    let listed = list("/v1/jobs?limit=10&order=oldest").await;
    assert_eq!(listed[..25], made);
    assert_eq!(listed.iter().collect::<BTreeSet<_>>().len(), listed.len());
    let newest = list("/v1/jobs?limit=10").await;
    assert!(newest.is_sorted_by(|newer, older| newer > older), "newest first");
    assert!(made.iter().all(|id| newest.contains(id)));
}

#[tokio::test]
async fn pages_of_runs_go_back_in_time_while_others_begin() {
    let world = World::new().await;
    let job = world.job(json!({ "block": "concurrent" })).await;
    let mut begun = Vec::new();
    for _ in 0..25 {
        begun.push(world.trigger(&job).await);
    }
    let listed = ids(&pages(&world, "/v1/runs?limit=10", async || drop(world.trigger(&job).await)).await);
    let expected: BTreeSet<&String> = begun.iter().collect();
    assert_eq!(listed.iter().collect::<BTreeSet<_>>(), expected);
    assert_eq!(listed.len(), 25);
    assert!(listed.is_sorted_by(|newer, older| newer > older));
}

#[tokio::test]
async fn jobs_are_found_by_label_and_by_state() {
    let world = World::new().await;
    let one = world.job(json!({ "label": "a b&c/ü" })).await;
    let two = world.job(json!({ "label": "other" })).await;
    world.job(json!({ "label": "other-one" })).await;
    world.order(&format!("/v1/jobs/{}/pause", text(&two["id"]))).await.expect(200);
    let found = world.get("/v1/jobs?label=a%20b%26c%2F%C3%BC").await.expect(200);
    assert_eq!(texts(&found["items"], "id"), [text(&one["id"])]);
    for query in ["label=other", "state=paused", "status=paused", "label=other&state=paused"] {
        let found = world.get(&format!("/v1/jobs?{query}")).await.expect(200);
        assert_eq!(texts(&found["items"], "id"), [text(&two["id"])], "{query}");
        assert_eq!(found["next_cursor"], json!(null));
    }
    assert_eq!(world.get("/v1/jobs?label=other&state=held").await.expect(200)["items"], json!([]));
}

#[tokio::test]
async fn the_jobs_with_which_something_happens_next_come_first_when_that_is_asked_for() {
    let world = World::new().await;
    let scheduled = |label: &str, at: &str| json!({ "label": label, "trigger": { "type": "scheduled", "at": at } });
    world.job(scheduled("later", "2099-06-01T00:00:00Z")).await;
    world.job(scheduled("soon", "2099-01-01T00:00:00Z")).await;
    world.job(scheduled("last", "2099-12-01T00:00:00Z")).await;
    world.job(json!({ "label": "by hand" })).await;
    let labels = async |query: &str| {
        let listed = world.get(&format!("/v1/jobs?order=next{query}")).await.expect(200);
        (texts(&listed["items"], "label"), listed["next_cursor"].as_str().map(str::to_owned))
    };
    assert_eq!(labels("&state=active").await, (["soon", "later", "last"].map(str::to_owned).to_vec(), None));
    let (first, next) = labels("&limit=2").await;
    assert_eq!(
        (first, labels(&format!("&cursor={}", next.unwrap())).await.0),
        (vec!["soon".to_owned(), "later".to_owned()], vec!["last".to_owned()])
    );
    world.get("/v1/jobs?order=soonest").await.refused(422, "invalid_query");
}

#[tokio::test]
async fn jobs_are_found_by_their_tags() {
    let world = World::new().await;
    let billing = world.job(json!({ "label": "b", "tags": ["nightly", "team:billing"] })).await;
    world.job(json!({ "label": "a", "tags": ["nightly"] })).await;
    let plain = world.job(json!({ "label": "plain" })).await;
    assert_eq!(billing["tags"], json!(["nightly", "team:billing"]));
    assert_eq!(plain.get("tags"), None, "a job without tags looks as it did");
    let labels =
        async |query: &str| texts(&world.get(&format!("/v1/jobs?{query}")).await.expect(200)["items"], "label");
    assert_eq!(labels("tag=nightly").await, ["a", "b"], "by label");
    assert_eq!(labels("tag=nightly&order=newest").await, ["a", "b"]);
    assert_eq!(labels("tag=nightly&order=oldest").await, ["b", "a"]);
    assert_eq!(labels("tag=nightly,team:billing").await, ["b"]);
    assert_eq!(labels("tag=nightly&search=A").await, ["a"]);
    assert_eq!(labels("tag=nightly&state=paused").await, [""; 0]);

    let path = format!("/v1/jobs/{}", text(&billing["id"]));
    let changed = world.patch(&path, None, json!({ "tags": ["weekly"] })).await.expect(200);
    assert_eq!((&changed["tags"], &changed["revision"]), (&json!(["weekly"]), &json!(2)));
    assert_eq!(labels("tag=nightly").await, ["a"]);
    world.patch(&path, None, json!({ "tags": null })).await.expect(200);
    assert_eq!(labels("tag=weekly").await, [""; 0]);
    let refused = world.patch(&path, None, json!({ "tags": ["Weekly"] })).await.refused(422, "invalid_job");
    assert_eq!(refused["errors"][0]["field"], "tags");
}

#[tokio::test]
async fn runs_are_found_by_job_status_and_time() {
    let world = World::new().await;
    let (good, bad) = (world.job(json!({})).await, world.job(json!({ "tool_name": "fail" })).await);
    let (completed, failed) = (world.trigger(&good).await, world.trigger(&bad).await);
    world.until(&completed, "completed").await;
    world.until(&failed, "failed").await;
    for (query, expected) in [
        (format!("job_id={}", text(&good["id"])), vec![&completed]),
        ("status=failed".to_owned(), vec![&failed]),
        ("status=completed".to_owned(), vec![&completed]),
        ("status=running".to_owned(), vec![]),
        (format!("job_id={}&status=failed", text(&good["id"])), vec![]),
        ("since=1h".to_owned(), vec![&failed, &completed]),
        ("since=2020-01-01T00:00:00Z".to_owned(), vec![&failed, &completed]),
        ("since=2999-01-01T00:00:00Z".to_owned(), vec![]),
        ("until=2999-01-01T00:00:00Z&status=failed".to_owned(), vec![&failed]),
        ("until=2020-01-01T00:00:00Z".to_owned(), vec![]),
        ("until=1h".to_owned(), vec![]),
        ("reason=IT%20BROKE".to_owned(), vec![&failed]),
        ("reason=somewhere%20else".to_owned(), vec![]),
        ("label=nowhere".to_owned(), vec![]),
        ("executor=nobody".to_owned(), vec![]),
        ("longer_than=1h".to_owned(), vec![]),
        ("shorter_than=1h".to_owned(), vec![&failed, &completed]),
    ] {
        let found = world.get(&format!("/v1/runs?{query}")).await.expect(200);
        let found: BTreeSet<String> = texts(&found["items"], "id").into_iter().collect();
        assert_eq!(found, expected.into_iter().cloned().collect(), "{query}");
    }
}

#[tokio::test]
async fn what_is_not_a_parameter_or_not_a_value_of_it_is_refused_by_name() {
    let world = World::new().await;
    for (path, field) in [
        ("/v1/jobs?limit=201", "limit"),
        ("/v1/jobs?limit=0", "limit"),
        ("/v1/jobs?limit=many", "limit"),
        ("/v1/jobs?limit=1&limit=2", "limit"),
        ("/v1/jobs?state=sleeping", "state"),
        ("/v1/jobs?colour=red", "colour"),
        ("/v1/jobs?trigger=cron", "trigger"),
        ("/v1/jobs?tag=Nightly", "tag"),
        ("/v1/jobs?tag=a,,b", "tag"),
        ("/v1/jobs?search=a&label=b", "label"),
        ("/v1/jobs?search=a&colour=red", "colour"),
        ("/v1/runs?status=great", "status"),
        ("/v1/runs?job_id=7", "job_id"),
        ("/v1/runs?since=whenever", "since"),
        ("/v1/runs?until=whenever", "until"),
        ("/v1/runs?longer_than=much", "longer_than"),
        ("/v1/runs?limit=1000", "limit"),
    ] {
        let refused = world.get(path).await.refused(422, "invalid_query");
        assert_eq!(refused["errors"][0]["field"], field, "{path}");
    }
    for path in ["/v1/jobs?cursor=x", "/v1/runs?cursor=", "/v1/jobs?cursor=%00", "/v1/runs?cursor=12345"] {
        world.get(path).await.refused(422, "invalid_cursor");
    }
    assert_eq!(world.get("/v1/jobs?limit=200").await.expect(200), json!({ "items": [], "next_cursor": null }));
}

#[tokio::test]
async fn pages_by_label_and_state_lose_no_job() {
    let world = World::new().await;
    let mut paused = Vec::new();
    for n in 0..4 {
        let id = text(&world.job(json!({ "label": "same" })).await["id"]);
        if n > 0 {
            world.order(&format!("/v1/jobs/{id}/pause")).await.expect(200);
            paused.push(id);
        }
    }
    let path = "/v1/jobs?label=same&state=paused&limit=2";
    assert_eq!(ids(&pages(&world, &format!("{path}&order=oldest"), async || {}).await), paused);
    paused.reverse();
    assert_eq!(ids(&pages(&world, path, async || {}).await), paused, "newest first");
}

#[tokio::test]
async fn jobs_are_found_by_trigger_and_by_a_part_of_their_label() {
    let world = World::new().await;
    for (label, trigger) in [
        ("Backup nightly", json!({ "type": "scheduled", "cron": "0 2 * * *" })),
        ("backup-hook", json!({ "type": "webhook", "hook": "b" })),
        ("the GRÜN one", json!({ "type": "manual" })),
        ("z-backup", json!({ "type": "manual" })),
    ] {
        world.job(json!({ "label": label, "trigger": trigger })).await;
    }
    for (query, expected) in [
        ("trigger=manual", vec!["z-backup", "the GRÜN one"]),
        ("trigger=webhook", vec!["backup-hook"]),
        ("trigger=scheduled", vec!["Backup nightly"]),
        ("trigger=manual&label=z-backup", vec!["z-backup"]),
        ("trigger=manual&label=backup-hook", vec![]),
        ("search=BACKUP", vec!["Backup nightly", "backup-hook", "z-backup"]),
        ("search=backup&trigger=manual", vec!["z-backup"]),
        ("search=backup&state=paused", vec![]),
        ("search=gr%C3%BCn", vec!["the GRÜN one"]),
        ("search=", vec!["Backup nightly", "backup-hook", "the GRÜN one", "z-backup"]),
        ("label_prefix=backup", vec!["backup-hook"]),
        ("label_prefix=B&search=night", vec!["Backup nightly"]),
        ("label_prefix=B&search=hook", vec![]),
        ("search=%25", vec![]),
    ] {
        for limit in [1, 2, 50] {
            let found = pages(&world, &format!("/v1/jobs?{query}&limit={limit}"), async || {}).await;
            assert_eq!(texts(&json!(found), "label"), expected, "{query} by {limit}");
        }
    }
}

#[tokio::test]
async fn a_cursor_belongs_to_its_list() {
    let world = World::new().await;
    for _ in 0..3 {
        world.job(json!({ "label": "same" })).await;
    }
    let by_age = text(&world.get("/v1/jobs?limit=1").await.expect(200)["next_cursor"]);
    let by_label = text(&world.get("/v1/jobs?limit=1&search=a").await.expect(200)["next_cursor"]);
    world.get(&format!("/v1/jobs?search=a&cursor={by_age}")).await.refused(422, "invalid_cursor");
    world.get(&format!("/v1/jobs?cursor={by_label}")).await.refused(422, "invalid_cursor");
    // A place that lies before the prefix asked for does not widen the search.
    let found = world.get(&format!("/v1/jobs?label_prefix=t&cursor={by_label}")).await.expect(200);
    assert_eq!(found["items"], json!([]));
}

/// What has an index is found at once; for a part of a label the whole list is looked through in pieces, and none is lost
/// at their borders.
#[tokio::test]
async fn a_needle_in_a_large_haystack_is_found_piece_by_piece() {
    let world = World::new().await;
    let many = |n: usize| {
        let trigger = if n == 24_999 { json!({ "type": "webhook", "hook": "x" }) } else { json!({ "type": "manual" }) };
        json!({ "label": format!("{n:05}"), "tool_name": "noop", "trigger": trigger })
    };
    for batch in (0..25_000).collect::<Vec<_>>().chunks(5_000) {
        let jobs: Vec<Value> = batch.iter().map(|n| many(*n)).collect();
        world.post("/v1/jobs/batch", json!({ "jobs": jobs })).await.expect(200);
    }
    for (query, is_indexed) in [("trigger=webhook", true), ("search=24999", false), ("search=9&trigger=webhook", true)]
    {
        let first = world.get(&format!("/v1/jobs?{query}")).await.expect(200);
        assert_eq!(first["items"].as_array().unwrap().len(), usize::from(is_indexed), "{query}");
        assert_eq!(first["next_cursor"].is_string(), !is_indexed, "{query}");
        let found = pages(&world, &format!("/v1/jobs?{query}"), async || {}).await;
        assert_eq!(texts(&json!(found), "label"), ["24999"], "{query}");
    }
}
