//! Escalation chains over the API, and on their pages.

use std::collections::BTreeMap;

use ordo_engine::EngineOptions;
use ordo_engine::testing;
use ordo_model::Role;
use ordo_model::incident::Escalation;
use ordo_model::limits::ESCALATION_CHAINS_MAX;
use ordo_server::testing::{World, text, texts};
use serde_json::{Value, json};

const PATH: &str = "/v1/escalations";

fn chain(name: &str, steps: &Value) -> Value {
    json!({ "name": name, "escalation": { "steps": steps } })
}

async fn add(world: &World, name: &str) -> Value {
    world.post(PATH, chain(name, &json!([{ "notify": "ada" }]))).await.expect(201)
}

/// A world whose configuration has the chain `night`.
async fn configured() -> World {
    let night = Escalation { steps: vec!["#night via slack".parse().unwrap()], ack_timeout: None };
    let options = EngineOptions { escalations: BTreeMap::from([("night".to_owned(), night)]), ..testing::options() };
    World::with(options).await
}

#[tokio::test]
async fn a_chain_is_added_read_changed_and_removed() {
    let world = World::new().await;
    let steps = json!([{ "after": "0s", "notify": "ada" }, { "after": "15m", "notify": "bob", "via": "email" }]);
    let made = world.post(PATH, chain("night", &steps)).await.expect(201);
    assert_eq!((&made["defined_in"], &made["in_force"]), (&json!("store"), &json!(true)));
    let read = world.get("/v1/escalations/night").await.expect(200);
    assert_eq!(read["escalation"]["steps"], steps);
    let patch = json!({ "escalation": { "steps": [{ "notify": "cy" }], "ack_timeout": "2h" } });
    let changed = world.patch("/v1/escalations/night", None, patch).await.expect(200);
    assert_eq!(changed["escalation"]["ack_timeout"], "2h");
    assert_eq!(texts(&world.get(PATH).await.expect(200)["items"], "name"), ["night"]);
    let started = json!({ "title": "down", "escalation": "night" });
    let incident = world.post("/v1/incidents", started.clone()).await.expect(201);
    world.delete("/v1/escalations/night").await.expect(200);
    let kept = world.get(&format!("/v1/incidents/{}", text(&incident["id"]))).await.expect(200);
    assert_eq!(kept["escalation"]["policy"]["steps"][0]["notify"], "cy", "it went with the incident");
    world.get("/v1/escalations/night").await.refused(404, "escalation_not_found");
    world.delete("/v1/escalations/night").await.refused(404, "escalation_not_found");
    world.post("/v1/incidents", started).await.refused(422, "invalid_incident");
}

#[tokio::test]
async fn what_cannot_work_is_refused_by_the_name_of_its_field() {
    let world = World::new().await;
    let refused = async |form: Value, code: &str, status: u16| {
        text(&world.post(PATH, form).await.refused(status, code)["errors"][0]["field"])
    };
    let one = json!([{ "notify": "ada" }]);
    assert_eq!(refused(chain("a b", &one), "invalid_escalation", 422).await, "name");
    assert_eq!(refused(chain("night", &json!([])), "invalid_escalation", 422).await, "steps");
    assert_eq!(refused(chain("night", &json!([{ "notify": " " }])), "invalid_escalation", 422).await, "steps.notify");
    add(&world, "night").await;
    assert_eq!(refused(chain("night", &one), "escalation_exists", 409).await, "name");
    for number in 1..ESCALATION_CHAINS_MAX {
        add(&world, &format!("chain-{number}")).await;
    }
    world.post(PATH, chain("beyond", &one)).await.refused(409, "too_many_escalations");
}

#[tokio::test]
async fn a_chain_of_the_configuration_is_shown_and_can_only_be_changed_there() {
    let world = configured().await;
    let listed = world.get(PATH).await.expect(200);
    assert_eq!(listed["items"][0]["defined_in"], "configuration");
    let taken = world.post(PATH, chain("night", &json!([{ "notify": "ada" }]))).await.refused(409, "escalation_exists");
    assert!(text(&taken["errors"][0]["message"]).contains("the configuration has a chain"), "{taken}");
    let patch = json!({ "escalation": { "steps": [{ "notify": "ada" }] } });
    world.patch("/v1/escalations/night", None, patch).await.refused(409, "wrong_state");
    let refused = world.delete("/v1/escalations/night").await.refused(409, "wrong_state");
    assert!(text(&refused["detail"]).contains("[escalation.night]"), "{refused}");
}

#[tokio::test]
async fn who_reads_sees_the_chains_and_only_admins_change_them() {
    let world = World::new().await;
    let operator = world.token("olga", Role::Operator).await;
    let form = chain("night", &json!([{ "notify": "stranger@elsewhere.example", "via": "email" }]));
    world.request_as(&operator, "POST", PATH, Some(form)).await.refused(403, "forbidden");
    add(&world, "night").await;
    world.request_as(&operator, "GET", "/v1/escalations/night", None).await.expect(200);
    world.request_as(&operator, "DELETE", "/v1/escalations/night", None).await.refused(403, "forbidden");
}
