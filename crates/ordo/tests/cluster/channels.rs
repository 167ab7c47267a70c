//! What people set up on one node counts on the others with the next incident: nothing is waited for in between.

use std::time::Duration;

use serde_json::Value;

use crate::common::{World, within};
use crate::database::Database;

const PATIENCE: Duration = Duration::from_secs(60);
/// An address that the guard refuses: what a notification says of it shows which channel it went through.
const INSIDE: &str = "smtp://10.0.0.1";

#[test]
fn a_channel_and_a_chain_that_one_node_made_are_used_by_another_with_the_next_incident() {
    let database = Database::start();
    let url = Database::url_on(database.port());
    let (here, there) = (World::new(), World::new());
    let _daemons =
        [("a", &here), ("b", &there)].map(|(name, world)| world.serve_with(&["--node", name, "--store", &url]));
    let mail = ["--kind", "email", "--mail-server", INSIDE, "--from", "ordo@example.com", "--to", "ops@example.com"];
    let add: Vec<&str> = ["channel", "add", "ops"].into_iter().chain(mail).collect();
    here.ordo(&add).done();
    here.ordo(&["escalation", "add", "default", "--step", "1h ada via ops"]).done();

    let started = there.json(&["incident", "start", "the mail is slow"]);
    assert_eq!(started["escalation"]["policy"]["steps"][0]["notify"], "ada", "{started}");
    let given_up = |count: usize| {
        within(PATIENCE, "the channel was tried", || {
            let listed = here.json(&["notification", "list", "--state", "dead_lettered"]);
            listed.as_array().filter(|listed| listed.len() == count).cloned()
        })
    };
    let refused: Vec<Value> = given_up(1);
    assert!(refused[0]["last_error"].as_str().unwrap().contains("10.0.0.1"), "{refused:?}");

    here.ordo(&["channel", "update", "ops", "--mail-server", "smtp://10.0.0.2"]).done();
    there.ordo(&["incident", "start", "the disk is full"]).done();
    let errors: Vec<String> = given_up(2).iter().map(|one| one["last_error"].to_string()).collect();
    assert!(errors.iter().any(|error| error.contains("10.0.0.2")), "{errors:?}");

    there.ordo(&["channel", "remove", "ops"]).done();
    here.ordo(&["escalation", "remove", "default"]).done();
    let last = here.json(&["incident", "start", "the queue grows"]);
    assert_eq!(last["escalation"], Value::Null);
    let id = last["id"].as_str().unwrap();
    within(PATIENCE, "it was handed on", || {
        let incident = here.json(&["incident", "show", id]);
        incident["timeline"][0]["published_at"].is_string().then_some(())
    });
    assert_eq!(given_up(2).len(), 2, "nobody was notified of the last one");
}
