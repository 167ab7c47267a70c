//! Incidents over HTTP: started once, worked on, listed, exported.

use axum::body::Body;
use serde_json::json;

use ordo_server::testing::{World, request, text};

async fn start(world: &World, title: &str) -> String {
    let made = world.post("/v1/incidents", json!({ "title": title, "severity": "high" })).await.expect(201);
    made["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_incident_is_started_worked_on_and_ended() {
    let world = World::new().await;
    let body = json!({ "title": "checkout is down", "description": "500s", "severity": "high", "identifier": "t-1" });
    let answer = world.post("/v1/incidents", body.clone()).await;
    let place = answer.header("location").to_owned();
    let made = answer.expect(201);
    let id = made["id"].as_str().unwrap().to_owned();
    assert_eq!(place, format!("/v1/incidents/{id}"));
    assert_eq!((made["severity"].as_str(), made["status"].as_str()), (Some("sev2"), Some("open")));
    assert_eq!(made["stream"], format!("ordo-incident-{id}"));
    let again = world.post("/v1/incidents", body.clone()).await.expect(200);
    assert_eq!(again["id"], id.as_str(), "the same identifier is the same incident");

    let path = |what: &str| format!("/v1/incidents/{id}/{what}");
    world.post(&path("assignee"), json!({ "assignee": "ben", "actor": "ana" })).await.expect(200);
    world.post(&path("severity"), json!({ "severity": "sev1" })).await.expect(200);
    world.post(&path("notes"), json!({ "text": "Action: add a test", "actor": "ana" })).await.expect(200);
    world.order(&path("ack")).await.expect(200);
    let job = json!({ "type": "job", "id": "01900000-0000-7000-8000-000000000007" });
    world.post(&path("links"), json!({ "link": job })).await.expect(200);
    let done = world.post(&path("status"), json!({ "status": "resolved", "message": "rolled back" })).await.expect(200);
    assert_eq!((done["assignee"].as_str(), done["status"].as_str()), (Some("ben"), Some("resolved")));

    let shown = world.get(&format!("/v1/incidents/{id}")).await.expect(200);
    let types: Vec<&str> = shown["timeline"].as_array().unwrap().iter().map(|e| e["type"].as_str().unwrap()).collect();
    assert_eq!(
        types,
        ["IncidentStarted", "AssigneeSet", "SeveritySet", "NoteAdded", "Acknowledged", "Linked", "StatusUpdated"]
    );
    assert_eq!(
        shown["timeline"][1]["data"]["by"],
        json!({ "actor": "admin@test", "source": "api", "on_behalf_of": "ana" })
    );
    let by = &shown["timeline"][4]["data"]["by"];
    assert_eq!(by["actor"], "admin@test", "whoever the token belongs to: {by}");
    let stream = world.get(&format!("/v1/streams/ordo-incident-{id}")).await.expect(200);
    assert_eq!(stream["items"][0]["type"], "IncidentStarted");

    let export = world.get(&format!("/v1/incidents/{id}/export?timezone=Europe/Berlin")).await;
    assert_eq!(export.header("content-type"), "text/markdown; charset=utf-8");
    for wanted in ["# checkout is down", "## Impact", "## Timeline", "## Responders", "- [ ] add a test", "CE"] {
        assert!(export.text.contains(wanted), "{wanted:?} is not in\n{}", export.text);
    }
    let next = world.post("/v1/incidents", body).await.expect(201);
    assert_ne!(next["id"], id.as_str(), "what ended stays ended; this is a new one");
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_with_what_to_do() {
    let world = World::new().await;
    world.post("/v1/incidents", json!({ "title": " " })).await.refused(422, "invalid_incident");
    world.post("/v1/incidents", json!({ "title": "x", "severity": "sev9" })).await.refused(422, "invalid_body");
    let none = json!({ "title": "x", "escalation": "none-such" });
    world.post("/v1/incidents", none).await.refused(422, "invalid_incident");
    let id = start(&world, "x").await;
    let path = format!("/v1/incidents/{id}/status");
    world.post(&path, json!({ "status": "resolved" })).await.expect(200);
    let refused = world.post(&path, json!({ "status": "mitigating" })).await.refused(409, "wrong_state");
    assert!(refused["detail"].as_str().unwrap().contains("only open"), "{refused}");
    world.order(&format!("/v1/incidents/{id}/ack")).await.refused(409, "wrong_state");
    world.get("/v1/incidents/nonsense").await.refused(404, "incident_not_found");
    let other = "01900000-0000-7000-8000-000000000007";
    world.get(&format!("/v1/incidents/{other}")).await.refused(404, "incident_not_found");
    world.order(&format!("/v1/incidents/{other}/ack")).await.refused(404, "incident_not_found");
    world.get(&format!("/v1/incidents/{id}/export?timezone=Moon")).await.refused(422, "invalid_query");
}

#[tokio::test]
async fn the_list_goes_by_status_and_severity_in_pages() {
    let world = World::new().await;
    let mut ids = Vec::new();
    for number in 0..5 {
        ids.push(start(&world, &format!("incident {number}")).await);
    }
    world.post(&format!("/v1/incidents/{}/status", ids[1]), json!({ "status": "declined" })).await.expect(200);
    let mut seen = Vec::new();
    let mut path = "/v1/incidents?limit=2".to_owned();
    loop {
        let page = world.get(&path).await.expect(200);
        seen.extend(page["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("/v1/incidents?limit=2&cursor={cursor}");
    }
    seen.sort();
    let mut sorted = ids.clone();
    sorted.sort();
    assert_eq!(seen, sorted);
    let open = world.get("/v1/incidents?status=open&severity=sev2").await.expect(200);
    assert_eq!(open["items"].as_array().unwrap().len(), 4);
    let declined = world.get("/v1/incidents?status=declined").await.expect(200);
    assert_eq!(declined["items"][0]["id"], ids[1].as_str());
    world.get("/v1/incidents?status=over").await.refused(422, "invalid_query");
    world.get("/v1/incidents?cursor=zz").await.refused(422, "invalid_cursor");
}

#[tokio::test]
async fn a_key_starts_one_incident_however_often_it_is_sent() {
    let world = World::new().await;
    let send = |title: &str| {
        let body = json!({ "title": title }).to_string();
        let request = request("POST", "/v1/incidents").header("idempotency-key", "k1");
        world.send(request.header("content-type", "application/json").body(Body::from(body)).unwrap())
    };
    let first = send("down").await.expect(201);
    let again = send("down").await;
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(again.expect(201)["id"], first["id"]);
    send("other").await.refused(422, "idempotency_key_reused");
}

#[tokio::test]
async fn notifications_are_listed_and_only_what_is_settled_is_replayed() {
    let world = World::new().await;
    let none = world.get("/v1/notifications").await.expect(200);
    assert_eq!(none["items"], json!([]));
    world.get("/v1/notifications?state=lost").await.refused(422, "invalid_query");
    let id = "01900000-0000-7000-8000-000000000007";
    world.get(&format!("/v1/notifications/{id}")).await.refused(404, "notification_not_found");
    world.order(&format!("/v1/notifications/{id}/replay")).await.refused(404, "notification_not_found");
    let about = world.get(&format!("/v1/notifications?stream=ordo-incident-{id}")).await.expect(200);
    assert_eq!(about["items"], json!([]));
}

#[tokio::test]
async fn incidents_are_found_by_their_text() {
    let world = World::new().await;
    for (title, description) in [("Checkout is down", "the gateway"), ("Disk full", "on DB-1"), ("Slow pages", "")] {
        world.post("/v1/incidents", json!({ "title": title, "description": description })).await.expect(201);
    }
    let titles = async |query: &str| {
        let found = world.get(&format!("/v1/incidents?search={query}")).await.expect(200);
        found["items"].as_array().unwrap().iter().map(|one| text(&one["title"])).collect::<Vec<_>>()
    };
    assert_eq!(titles("checkout").await, ["Checkout is down"]);
    assert_eq!(titles("db-1").await, ["Disk full"]);
    assert!(titles("nothing").await.is_empty());
}

#[tokio::test]
async fn each_entry_tells_when_it_was_published_and_what_follows_the_end_is_told_to_nobody() {
    let world = World::new().await;
    let made = world.post("/v1/incidents", json!({ "title": "down" })).await.expect(201);
    let path = format!("/v1/incidents/{}", text(&made["id"]));
    world.post(&format!("{path}/status"), json!({ "status": "resolved" })).await.expect(200);
    let published = |shown: &serde_json::Value| -> Vec<bool> {
        shown["timeline"].as_array().unwrap().iter().map(|entry| entry["published_at"].is_string()).collect()
    };
    world.eventually(async || published(&world.get(&path).await.expect(200)) == [true, true]).await;
    world.post(&format!("{path}/notes"), json!({ "text": "too late" })).await.expect(200);
    world.post(&format!("{path}/status"), json!({ "status": "open" })).await.expect(200);
    let wanted = [true, true, false, true];
    world.eventually(async || published(&world.get(&path).await.expect(200)) == wanted).await;
}

#[tokio::test]
async fn roles_impact_action_items_and_the_postmortem_are_in_the_answer_and_in_the_export() {
    let world = World::new().await;
    let id = start(&world, "checkout is down").await;
    let path = |what: &str| format!("/v1/incidents/{id}/{what}");
    world.post(&path("roles"), json!({ "role": "lead", "person": "ben", "actor": "ana" })).await.expect(200);
    world.post(&path("impact"), json!({ "text": "no orders" })).await.expect(200);
    world.post(&path("actions"), json!({ "text": "alert on lag", "owner": "cleo" })).await.expect(200);
    world.post(&path("actions/1"), json!({ "done": true })).await.expect(200);
    let refused = world.post(&path("actions/7"), json!({ "done": true })).await.expect(422);
    assert_eq!(refused["code"], "invalid_incident");
    world.post(&path("actions/x"), json!({ "done": true })).await.expect(422);
    world.put(&path("postmortem"), json!({ "text": "### Why\n\nthe disk" })).await.expect(200);
    let shown = world.get(&format!("/v1/incidents/{id}")).await.expect(200);
    assert_eq!(shown["roles"], json!({ "lead": "ben" }));
    assert_eq!(
        (text(&shown["impact"]), text(&shown["postmortem"])),
        ("no orders".into(), "### Why\n\nthe disk".into())
    );
    assert!(shown["action_items"][0]["done_at"].is_string(), "{shown}");
    let export = world.get(&path("export")).await;
    for wanted in ["- **Lead:** ben", "how: no orders", "## Analysis\n\n### Why", "- [x] alert on lag (cleo)"] {
        assert!(export.text.contains(wanted), "{wanted:?} is not in\n{}", export.text);
    }
}

#[tokio::test]
async fn an_incident_is_snoozed_for_a_while_or_until_a_moment() {
    let world = World::new().await;
    let id = start(&world, "checkout is down").await;
    let path = format!("/v1/incidents/{id}/snooze");
    let snoozed = world.post(&path, json!({ "for": "2h" })).await.expect(200);
    assert!(snoozed["snoozed"]["until"].is_string(), "{snoozed}");
    for wrong in [json!({}), json!({ "for": "2h", "until": "2026-01-01T00:00:00Z" }), json!({ "for": "60d" })] {
        assert_eq!(world.post(&path, wrong).await.expect(422)["code"], "invalid_incident");
    }
    let ended = world.delete(&path).await.expect(200);
    assert!(ended["snoozed"].is_null(), "{ended}");
    let similar = world.get(&format!("/v1/incidents/{id}/similar")).await.expect(200);
    assert_eq!(similar["items"], json!([]));
}

#[tokio::test]
async fn silences_are_added_listed_and_ended() {
    let world = World::new().await;
    let made =
        world.post("/v1/silences", json!({ "matching": "backup-*", "for": "1h", "reason": "disk" })).await.expect(201);
    let listed = world.get("/v1/silences").await.expect(200);
    assert_eq!(listed["items"], json!([made]));
    assert_eq!(world.post("/v1/silences", json!({ "matching": "x" })).await.expect(422)["code"], "invalid_silence");
    let one = format!("/v1/silences/{}", text(&made["id"]));
    world.delete(&one).await.expect(200);
    assert_eq!(world.get("/v1/silences").await.expect(200)["items"], json!([]));
    assert_eq!(world.delete(&one).await.expect(404)["code"], "silence_not_found");
}
