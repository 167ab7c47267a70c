//! Secrets on a real store: sealed when they lie, in the clear only for the attempt that needs them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use ordo_engine::secrets::{FixedKeys, SealingKey, SecretText, SecretsError, Unopened};
use ordo_engine::testing::{World, manual};
use ordo_engine::{EngineOptions, SubmitError, testing};
use ordo_model::job::RunStatus;
use ordo_model::secret::SecretRefusal;
use serde_json::json;

const VALUE: &str = "correct-horse-battery-staple";

fn options(keys: &[u8]) -> EngineOptions {
    let keys = FixedKeys(keys.iter().map(|byte| SealingKey::of([*byte; 32])).collect());
    EngineOptions { keys: Arc::new(keys), ..testing::options() }
}

async fn world() -> World {
    World::with(options(&[1])).await
}

async fn with_keys(world: World, keys: &[u8]) -> World {
    world.restart_with(options(keys)).await
}

async fn put(world: &World, name: &str, value: &str) -> Result<(), SecretsError> {
    world.engine.secrets().put(name, &SecretText::new(value)).await.map(drop)
}

async fn revealed(world: &World, name: &str) -> Option<String> {
    world.engine.secrets().reveal(name).await.unwrap().map(|text| text.expose().to_owned())
}

fn holds_value(world: &World) -> bool {
    let files = std::fs::read_dir(world.folder()).unwrap();
    let bytes: Vec<u8> = files.flat_map(|file| std::fs::read(file.unwrap().path()).unwrap_or_default()).collect();
    bytes.windows(VALUE.len()).any(|window| window == VALUE.as_bytes())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_is_kept_sealed_replaced_and_removed() {
    let world = world().await;
    put(&world, "pg", VALUE).await.unwrap();
    assert_eq!(revealed(&world, "pg").await.as_deref(), Some(VALUE));
    assert!(!holds_value(&world), "the file holds the value in the clear");
    put(&world, "pg", "new").await.unwrap();
    put(&world, "inbox_signal", "x").await.unwrap();
    assert_eq!(revealed(&world, "pg").await.as_deref(), Some("new"));
    let listed = world.engine.secrets().list(None, 10).await.unwrap().items;
    assert_eq!(listed.iter().map(|secret| secret.name.as_str()).collect::<Vec<_>>(), ["inbox_signal", "pg"]);
    world.engine.secrets().remove("pg").await.unwrap();
    assert_eq!(revealed(&world, "pg").await, None);
    let again = world.engine.secrets().remove("pg").await;
    assert!(matches!(again, Err(SecretsError::Submit(SubmitError::Refused(SecretRefusal::NoSuchSecret)))));
    world.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_has_a_name_and_a_length() {
    let world = world().await;
    let bad_name = put(&world, "a b", "x").await;
    assert!(matches!(bad_name, Err(SecretsError::Submit(SubmitError::Refused(SecretRefusal::BadName { .. })))));
    assert!(matches!(put(&world, "a", "").await, Err(SecretsError::Length)));
    assert!(matches!(put(&world, "a", &"x".repeat(64 * 1024 + 1)).await, Err(SecretsError::Length)));
    put(&world, "a", &"x".repeat(64 * 1024)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_with_another_key_neither_opens_nor_seals() {
    let world = world().await;
    put(&world, "pg", VALUE).await.unwrap();
    let world = with_keys(world, &[2]).await;
    let error = world.engine.secrets().reveal("pg").await.unwrap_err();
    assert!(matches!(error, SecretsError::Unopened { why: Unopened::OtherKey(_), .. }), "{error}");
    assert!(put(&world, "other", "x").await.is_err(), "it would be lost on every other node");
    let world = with_keys(world, &[]).await;
    assert!(matches!(put(&world, "other", "x").await, Err(SecretsError::NoKey)));
    let world = with_keys(world, &[2, 1]).await;
    assert_eq!(revealed(&world, "pg").await.as_deref(), Some(VALUE), "an old key still opens");
    put(&world, "inbox_signal", "x").await.unwrap();
    assert_eq!(world.engine.secrets().reseal().await.unwrap(), 2);
    let world = with_keys(world, &[2]).await;
    assert_eq!(revealed(&world, "pg").await.as_deref(), Some(VALUE), "and what is sealed anew needs it no more");
    assert_eq!(revealed(&world, "inbox_signal").await.as_deref(), Some("x"));
    world.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_gets_the_value_and_nothing_that_comes_back_shows_it() {
    let world = world().await;
    put(&world, "pg", VALUE).await.unwrap();
    let input = json!({ "say": { "secret": "pg", "prefix": "it is " }, "and": [{ "secret": "pg" }] });
    for tool in ["echo", "complain"] {
        let job = world.add(manual(tool, &input)).await;
        let run = world.over(world.trigger(job.id).await).await;
        match &run.status {
            RunStatus::Completed { result, .. } => {
                assert_eq!(result["input"], json!({ "say": "it is ***", "and": ["***"] }));
                assert_eq!(result["bytes"], VALUE.len(), "the tool had the value");
            }
            RunStatus::Failed { reason } => assert_eq!(reason, "cannot log in with ***"),
            other => panic!("{other:?}"),
        }
        let lines = world.lines(run.id).await;
        assert_eq!(lines, ["said ***"]);
        let kept = world.engine.job(job.id).await.unwrap().unwrap();
        assert_eq!(kept.definition.tool_input, input, "the job keeps its references");
    }
    assert!(!holds_value(&world), "the file holds the value in the clear");
    world.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_that_needs_a_secret_that_is_gone_fails_and_says_so() {
    let world = world().await;
    let job = world.add(manual("noop", &json!({ "secret": "nowhere" }))).await;
    let run = world.over(world.trigger(job.id).await).await;
    let RunStatus::Failed { reason } = &run.status else { panic!("{:?}", run.status) };
    assert!(reason.contains("there is no secret \"nowhere\""), "{reason}");
}
