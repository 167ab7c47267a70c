//! Each statement of the first page, in the state that would make it false.

use std::sync::Arc;
use std::time::Duration;

use ordo_engine::testing::recorder::Recorder;
use ordo_model::Millis;
use ordo_server::router;
use ordo_server::testing::{World, text};
use serde_json::{Value, json};

/// A world whose clock stands, with a server that is ready.
async fn world() -> World {
    let world = World::standing().await;
    world.app.set_ready(true);
    world
}

/// The first page, without markup: each text once, parted by bars. What is read once in a while is read anew.
async fn home(world: &World) -> String {
    world.below.advance(Millis::from_ms(1_000)).await;
    look(world).await
}

async fn look(world: &World) -> String {
    let (answer, page) = super::see(&router(world.app.clone()), "/").await;
    assert_eq!(answer.status(), 200, "{page}");
    let main = page.split("<main").nth(1).unwrap();
    let texts = main.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text.trim());
    texts.filter(|text| !text.is_empty()).collect::<Vec<&str>>().join("|")
}

async fn every(world: &World, label: &str, every: &str) -> Value {
    world.job(json!({ "label": label, "trigger": { "type": "scheduled", "every": every } })).await
}

async fn incident(world: &World, title: &str, severity: &str) -> Value {
    world.post("/v1/incidents", json!({ "title": title, "severity": severity })).await.expect(201)
}

#[tokio::test]
async fn other_alarms_do_not_crowd_out_what_fires() {
    let world = world().await;
    world.engine.senders().register(Arc::new(Recorder::new("slow").failing_every(1)));
    every(&world, "soon", "25s").await;
    for n in 0..320 {
        incident(&world, &format!("i{n}"), "sev5").await;
    }
    let waiting = async || world.engine.queries().count_notifications(0, 1_000).await.unwrap() >= 320;
    world.eventually(waiting).await;
    let page = look(&world).await;
    assert!(page.contains("Next 60 seconds|2 fires") && page.contains("|soon|"), "{page}");
    assert!(!page.contains("Nothing fires within a minute"), "{page}");
    assert!(page.contains("Next 24 hours|0 fires, and 1 job that fires more often than every 15 minutes"), "{page}");
}

#[tokio::test]
async fn fires_are_counted_exactly_or_said_to_be_the_least() {
    let world = world().await;
    every(&world, "a", "1h").await;
    let page = home(&world).await;
    assert!(page.contains("Next 60 seconds|0 fires") && page.contains("Nothing fires within a minute."), "{page}");
    assert!(page.contains("Next 24 hours|24 fires"), "{page}");
    every(&world, "b", "20s").await;
    assert!(home(&world).await.contains("Next 60 seconds|3 fires"));
    let fast = every(&world, "c", "100ms").await;
    let page = home(&world).await;
    assert!(page.contains("Next 60 seconds|at least 12") && !page.contains("Nothing fires"), "{page}");
    world.order(&format!("/v1/jobs/{}/pause", text(&fast["id"]))).await.expect(200);
    let page = home(&world).await;
    assert!(page.contains("Next 60 seconds|3 fires"), "a paused job does not fire: {page}");
    assert!(page.contains("|2|active|") && page.contains("|1|paused|"), "{page}");
}

/// Its nominal time has passed; what jitter adds has not.
#[tokio::test]
async fn a_fire_that_jitter_delays_is_still_to_come() {
    let world = world().await;
    let trigger = json!({ "type": "scheduled", "every": "1h", "jitter": "50m" });
    let job = world.job(json!({ "label": "late-ish", "trigger": trigger })).await;
    let next: ordo_model::Timestamp = text(&job["next_tick_at"]).parse().unwrap();
    world.below.advance(next.since(world.below.now()).ms().checked_sub(30_000).map(Millis::from_ms).unwrap()).await;
    let page = home(&world).await;
    assert!(page.contains("Next 60 seconds|1 fire|"), "{page}");
}

#[tokio::test]
async fn all_is_well_is_not_said_of_an_incident_a_failure_or_a_notification_that_was_given_up() {
    let world = world().await;
    every(&world, "a", "1h").await;
    assert!(home(&world).await.contains("All is well"));
    let made = incident(&world, "the payments are slow", "sev1").await;
    let page = home(&world).await;
    assert!(page.contains("1 open incident|") && !page.contains("All is well"), "{page}");
    let status = format!("/v1/incidents/{}/status", text(&made["id"]));
    world.post(&status, json!({ "status": "mitigating" })).await.expect(200);
    assert!(!home(&world).await.contains("All is well"), "somebody is working on it");
    world.post(&status, json!({ "status": "resolved" })).await.expect(200);
    assert!(home(&world).await.contains("All is well"));

    let job = world.job(json!({ "label": "broken", "tool_name": "fail" })).await;
    let run = world.trigger(&job).await;
    world.until(&run, "failed").await;
    let page = home(&world).await;
    assert!(page.contains("1 failing job|") && page.contains("|broken|"), "{page}");
    world.delete(&format!("/v1/jobs/{}", text(&job["id"]))).await.expect(200);
    assert!(home(&world).await.contains("All is well"));

    let gone = Recorder::new("gone");
    gone.plan([Err(ordo_engine::SendError::permanent("no such channel"))]);
    world.engine.senders().register(Arc::new(gone));
    let made = incident(&world, "nobody hears of it", "sev5").await;
    let dead = ordo_model::notification::NotificationState::code_of("dead_lettered").unwrap();
    world.eventually(async || world.engine.queries().count_notifications(dead, 10).await.unwrap() == 1).await;
    world
        .post(&format!("/v1/incidents/{}/status", text(&made["id"])), json!({ "status": "declined" }))
        .await
        .expect(200);
    let page = home(&world).await;
    assert!(page.contains("1 notification was not delivered") && !page.contains("All is well"), "{page}");
    assert!(page.contains("1 notification could not be delivered."), "{page}");
}

#[tokio::test]
async fn a_server_that_is_not_ready_is_not_well() {
    let world = world().await;
    every(&world, "a", "1h").await;
    world.app.set_ready(false);
    let page = home(&world).await;
    assert!(page.contains("This server is not ready") && page.contains("|not ready|"), "{page}");
}

#[tokio::test]
async fn the_worst_incident_comes_first_however_old_it_is_and_the_rest_is_counted() {
    let world = world().await;
    every(&world, "a", "1h").await;
    incident(&world, "the worst", "sev1").await;
    for n in 0..8 {
        incident(&world, &format!("small {n}"), "sev4").await;
    }
    let page = home(&world).await;
    assert!(page.contains("9 open incidents|"), "{page}");
    assert!(page.contains("Open incidents|4 more|"), "{page}");
    let (worst, small) = (page.find("the worst").unwrap(), page.find("small").unwrap());
    assert!(worst < small, "{page}");
}

/// An incident that somebody is mitigating has not ended.
#[tokio::test]
async fn more_open_incidents_lead_to_the_list_of_all_of_them() {
    let world = world().await;
    every(&world, "a", "1h").await;
    let mut made = Vec::new();
    for n in 0..7 {
        made.push(incident(&world, &format!("trouble {n}"), "sev3").await);
    }
    for (place, status) in [(0, "mitigating"), (1, "resolved")] {
        let path = format!("/v1/incidents/{}/status", text(&made[place]["id"]));
        world.post(&path, json!({ "status": status })).await.expect(200);
    }
    incident(&world, "the worst", "sev1").await;
    let router = router(world.app.clone());
    let (_, page) = super::see(&router, "/").await;
    assert!(page.contains("7 open incidents"), "{page}");
    assert!(page.contains("href=\"/incidents?status=unresolved\">2 more</a>"), "{page}");
    let (_, list) = super::see(&router, "/incidents?status=unresolved").await;
    assert_eq!(list.matches("<tr id=\"incident-").count(), 7, "{list}");
    assert!(list.contains("trouble 0") && !list.contains("trouble 1"), "{list}");
    assert!(list.find("the worst").unwrap() < list.find("trouble").unwrap(), "{list}");
}

#[tokio::test]
async fn what_runs_is_counted_beyond_what_is_listed() {
    let world = world().await;
    let job = world.job(json!({ "label": "a" })).await;
    assert!(home(&world).await.contains("Nothing is running."));
    for n in 0..12 {
        let hang = world.job(json!({ "label": format!("h{n}"), "tool_name": "hang" })).await;
        let run = world.trigger(&hang).await;
        world.until(&run, "running").await;
    }
    let page = home(&world).await;
    assert!(page.contains("Running now|12 running|") && !page.contains("Nothing is running"), "{page}");
    let run = world.trigger(&job).await;
    world.until(&run, "completed").await;
}

#[tokio::test]
async fn what_waits_says_for_what_and_repeats_are_folded() {
    let world = world().await;
    let serial = world.job(json!({ "label": "serial", "tool_name": "hang" })).await;
    for _ in 0..4 {
        world.trigger(&serial).await;
    }
    let elsewhere = world.job(json!({ "label": "render", "tool_name": "render", "group": "gpu" })).await;
    let run = world.trigger(&elsewhere).await;
    assert!(!home(&world).await.contains("Waiting|"), "nothing has waited for long");
    world.below.advance(Millis::from_secs(31)).await;
    let page = home(&world).await;
    assert!(page.contains("Some work is late"), "{page}");
    assert!(page.contains("|serial|3 runs|for earlier runs of the job|"), "{page}");
    assert!(page.contains("|render|for an executor of group gpu with tool render|"), "{page}");
    assert!(page.contains("|Pending|4 runs|"), "{page}");
    let shown = world.get(&format!("/v1/runs/{run}")).await.expect(200);
    assert_eq!(shown["status"]["waiting_for"], "an executor of group gpu with tool render");
}

/// The newest pending runs are not the ones that have waited for long.
#[tokio::test]
async fn a_run_that_waits_is_found_behind_many_newer_ones() {
    let world = world().await;
    let gpu = |label: &str| json!({ "label": label, "tool_name": "render", "group": "gpu" });
    let old = world.job(gpu("old")).await;
    world.trigger(&old).await;
    world.below.advance(Millis::from_secs(31)).await;
    let many =
        world.job(json!({ "label": "many", "tool_name": "render", "group": "gpu", "block": "concurrent" })).await;
    for _ in 0..60 {
        world.trigger(&many).await;
    }
    let page = home(&world).await;
    assert!(page.contains("|old|for an executor"), "{page}");
}

#[tokio::test]
async fn a_job_whose_time_has_passed_is_late() {
    let world = world().await;
    every(&world, "left-behind", "30s").await;
    assert!(!home(&world).await.contains("|Late|"));
    // The engine has stopped: nobody fires it.
    world.engine.shutdown(Duration::ZERO).await;
    world.below.clock().set(world.below.now().plus(Millis::from_secs(90)));
    let page = look(&world).await;
    assert!(page.contains("|Late|left-behind|") && page.contains("Some work is late"), "{page}");
}

#[tokio::test]
async fn outcomes_are_counted_since_the_server_started_and_not_for_an_hour_it_has_not_seen() {
    let world = world().await;
    let job = world.job(json!({ "label": "a" })).await;
    let run = world.trigger(&job).await;
    world.until(&run, "completed").await;
    let page = home(&world).await;
    assert!(page.contains("0 of 1 failed since the server started"), "{page}");
    assert!(!page.contains("in the last hour"), "{page}");
}
