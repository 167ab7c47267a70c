//! The seed's action, in and out.

use serde_json::{Value, json};

use ordo_server::testing::{World, text};

fn action(recurrence: &Value) -> Value {
    json!({
        "label": "report", "tool_name": "noop", "tool_input": { "n": 1 }, "recurrence": recurrence,
        "trigger": { "type": "scheduled", "next_tick_at": "2030-01-01T00:00:00Z" }
    })
}

async fn as_action(world: &World, job: &Value) -> Value {
    world.get(&format!("/v1/jobs/{}?shape=action", text(&job["id"]))).await.expect(200)
}

#[tokio::test]
async fn an_action_is_taken_as_it_stands_and_given_back_as_one() {
    let world = World::new().await;
    for (recurrence, trigger) in [
        (Value::Null, json!({ "type": "scheduled", "at": "2030-01-01T00:00:00.000Z" })),
        (json!(60), json!({ "type": "scheduled", "every": "1m", "start": "2030-01-01T00:00:00.000Z" })),
    ] {
        let job = world.post("/v1/jobs", action(&recurrence)).await.expect(201);
        assert_eq!(job["trigger"], trigger);
        let shown = as_action(&world, &job).await;
        let mut fields: Vec<&str> = shown.as_object().unwrap().keys().map(String::as_str).collect();
        fields.sort_unstable();
        let wanted =
            ["created_at", "id", "label", "recurrence", "status", "tool_input", "tool_name", "trigger", "updated_at"];
        assert_eq!(fields, wanted);
        assert_eq!((&shown["recurrence"], &shown["status"]), (&recurrence, &json!({ "type": "pending" })));
        assert_eq!(shown["trigger"], json!({ "type": "scheduled", "next_tick_at": "2030-01-01T00:00:00.000Z" }));
    }
    let listed = world.get("/v1/jobs?shape=action").await.expect(200);
    assert_eq!(listed["items"].as_array().unwrap().len(), 2);
    world.get("/v1/jobs?shape=square").await.refused(422, "invalid_query");
}

#[tokio::test]
async fn a_number_is_a_length_in_seconds_also_in_a_batch() {
    let world = World::new().await;
    let every = json!({ "label": "a", "tool_name": "noop", "trigger": { "type": "scheduled", "every": 60 } });
    let answer = world.post("/v1/jobs/batch", json!({ "jobs": [every, action(&json!(5))] })).await.expect(200);
    for (place, every) in [(0, "1m"), (1, "5s")] {
        let id = text(&answer["results"][place]["id"]);
        let job = world.get(&format!("/v1/jobs/{id}")).await.expect(200);
        assert_eq!(job["trigger"]["every"], every);
    }
}

#[tokio::test]
async fn the_past_of_an_exported_action_is_refused_by_name() {
    let world = World::new().await;
    for (name, value) in [("id", json!("6f0c9c9e-6d3b-4c0e-9a52-0f7d0a7d3c11")), ("status", json!({"type": "pending"}))]
    {
        let mut exported = action(&json!(60));
        exported[name] = value;
        let refused = world.post("/v1/jobs", exported).await.refused(422, "invalid_job");
        assert_eq!(refused["errors"][0]["field"], name, "{refused}");
        assert!(text(&refused["detail"]).contains("ordo import actions"), "{refused}");
    }
}

#[tokio::test]
async fn the_status_of_an_action_is_how_its_last_run_stands() {
    let world = World::new().await;
    let job = world.job(json!({ "tool_input": { "echo": 1 } })).await;
    let run = world.trigger(&job).await;
    world.until(&run, "completed").await;
    let shown = as_action(&world, &job).await;
    assert_eq!(shown["status"]["type"], "completed", "{shown}");
    assert!(shown["status"].get("result").is_some());
}
