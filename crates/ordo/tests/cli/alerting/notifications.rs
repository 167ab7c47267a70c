//! From a job that fails to people who hear of it, on the real binary: Slack, webhooks, and what they answer.

use serde_json::Value;

use super::slack::{SECRET, SlackServer, button, mention, press};
use crate::common::{Daemon, World, eventually};
use crate::double::slack::TOKEN;

/// A daemon that posts to this Slack.
fn serve(world: &World, slack: &SlackServer) -> Daemon {
    let mut command = world.command(&["serve", "--listen", "127.0.0.1:0", "--tick-rate", "500ms"]);
    command
        .env("ORDO_SLACK__API_URL", &slack.url)
        .env("ORDO_SLACK__BOT_TOKEN", TOKEN)
        .env("ORDO_SLACK__SIGNING_SECRET", SECRET)
        .env("ORDO_SLACK__CHANNEL", "#ops");
    Daemon::start(command)
}

fn card(slack: &SlackServer, words: &str) -> Value {
    eventually(&format!("the card says {words:?}"), || {
        let cards = slack.cards();
        assert!(cards.len() <= 1, "{cards:#?}");
        cards.into_iter().find(|card| card["blocks"].to_string().contains(words))
    })
}

fn run(world: &World, job: &str, status: &str) {
    world.ordo(&["job", "trigger", job, "--wait"]);
    assert_eq!(world.over(job)["status"]["type"], status);
}

#[test]
fn a_job_that_fails_twice_opens_one_incident_that_slack_shows_and_people_work_on() {
    let world = World::new();
    let slack = SlackServer::start();
    let steps = r#"steps = [{ notify = "slack:U8" }, { after = "10m", notify = "slack:U9" }]"#;
    world.write("ordo.toml", &format!("[escalation.default]\n{steps}\n"));
    let daemon = serve(&world, &slack);
    let policies = ["--on-failure-incident", "sev2", "--on-failure-after", "2", "--resolve-on-recovery"];
    let add: Vec<&str> =
        ["job", "add", "backup"].into_iter().chain(policies).chain(["--", "test", "-e", "ok"]).collect();
    world.ordo(&add).done();

    run(&world, "backup", "failed");
    assert!(world.json(&["incident", "list"]).as_array().unwrap().is_empty(), "once is not enough");
    run(&world, "backup", "failed");
    let open = card(&slack, "sev2");
    assert!(open["text"].as_str().unwrap().contains("backup"), "{open:#}");

    eventually("the first of the chain is called", || {
        slack.said().iter().any(|line| line.contains("<@U8>")).then_some(())
    });
    let escalation = || {
        let id = world.json(&["incident", "list"])[0]["id"].clone();
        world.json(&["incident", "show", id.as_str().unwrap()])["escalation"].clone()
    };
    assert!(escalation()["due_at"].is_string(), "the second follows");
    assert_eq!(press(&daemon.place, "U7", &button(&open, "Acknowledge")), 200);
    assert!(escalation()["due_at"].is_null(), "until somebody reacts");
    card(&slack, "by <@U7>");
    run(&world, "backup", "failed");
    eventually("the failure is noted", || {
        slack.said().iter().any(|line| line.contains("3 times in a row")).then_some(())
    });

    world.write("ok", "");
    run(&world, "backup", "completed");
    card(&slack, "resolved");
    let incidents = world.json(&["incident", "list"]);
    assert_eq!(incidents.as_array().unwrap().len(), 1, "{incidents:#}");
    let said = slack.said().join("\n");
    assert!(said.contains("<@U7> acknowledged it") && !said.contains("<@U9>"), "{said}");
    let exported = world.ordo(&["incident", "export", incidents[0]["id"].as_str().unwrap()]).done().out;
    for words in ["# ", "backup", "slack:U7", "resolved"] {
        assert!(exported.contains(words), "{words}: {exported}");
    }
}

#[test]
fn a_mention_in_slack_starts_an_incident_that_outlives_the_daemon() {
    let world = World::new();
    let slack = SlackServer::start();
    let daemon = serve(&world, &slack);
    for _ in 0..2 {
        assert_eq!(mention(&daemon.place, "Ev1", "<@UBOT> server down!"), 200);
    }
    let before = card(&slack, "server down!");
    assert_eq!((&before["channel"], &before["thread_ts"]), (&Value::from("C7"), &Value::from("17.5")));
    // Before that, a crash may lead to a second card: Slack has no key that would make a post happen once.
    eventually("it is known where the card stands", || {
        let delivered = world.json(&["notification", "list", "--state", "delivered"]);
        (delivered.as_array()?.len() == 1).then_some(())
    });
    daemon.kill();

    let daemon = serve(&world, &slack);
    assert_eq!(press(&daemon.place, "U7", &button(&before, "Assign to me")), 200);
    let after = card(&slack, "*Assignee*\\n<@U7>");
    assert_eq!((&after["channel"], &after["ts"]), (&before["channel"], &before["ts"]), "the same card");
}

#[test]
fn a_subscription_is_added_tried_changed_and_removed() {
    let world = World::new();
    let _daemon = world.serve();
    let none = world.ordo(&["subscription", "list"]).done().out;
    assert!(none.contains("ordo subscription add"), "{none}");
    let made =
        world.json(&["subscription", "add", "http://127.0.0.1:9/hook", "--event", "incident.*", "--label", "n-*"]);
    let id = made["id"].as_str().unwrap();
    assert!(made["secret"].as_str().unwrap().starts_with("whsec_"));
    let listed = world.ordo(&["subscription", "list"]).done().out;
    assert!(listed.contains("http://127.0.0.1:9/hook") && listed.contains("enabled"), "{listed}");
    // The list shows as much of the id as tells it from others, and that is enough.
    let shown = listed.split_whitespace().last().unwrap();
    assert!(id.starts_with(shown), "{listed}");
    let tried = world.ordo(&["subscription", "test", shown]);
    assert_eq!(tried.code, 1, "{tried:?}");
    assert!(tried.out.contains("webhooks.allow in the configuration can allow it"), "{tried:?}");
    let renewed = world.ordo(&["subscription", "update", id, "--new-secret"]).done().out;
    assert!(renewed.contains("whsec_") && !renewed.contains(made["secret"].as_str().unwrap()));
    world.ordo(&["subscription", "update", id]).refused(2, &["what should change?"]);
    world.ordo(&["subscription", "add", "example.com", "--event", "*"]).refused(1, &["url", "[invalid_subscription]"]);
    world.ordo(&["subscription", "remove", id]).done();
    world.ordo(&["subscription", "remove", id]).refused(1, &["there is no subscription"]);
}

#[test]
fn secrets_of_the_configuration_are_not_shown_and_half_of_one_is_refused() {
    let world = World::new();
    world.write("ordo.toml", "[slack]\nbot_token = 'xoxb-1'\n[smtp]\nurl = 'smtp://u:p4ss@localhost'");
    let shown = world.ordo(&["config"]).done().out;
    assert!(shown.contains("slack.bot_token") && !shown.contains("xoxb-1") && !shown.contains("p4ss"), "{shown}");
    world.ordo(&["serve", "--listen", "127.0.0.1:0"]).refused(2, &["slack.channel"]);
}
