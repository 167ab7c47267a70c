//! Pages may be read from a standby that follows the database by streaming: they are as old as it is, commands never are, and when
//! it is away the database itself is read.

use crate::away::ask;
use crate::common::{World, eventually};
use crate::database::Database;

#[test]
fn pages_are_read_from_a_standby_and_from_the_database_while_it_is_away() {
    let primary = Database::start();
    let world = World::new();
    // The tables must be there before they can be followed.
    let (code, said) = world.serve_with(&["--store", &Database::url_on(primary.port())]).stop();
    assert_eq!(code, 0, "{said}");
    let mut standby = primary.standby();
    world.write(
        "ordo.toml",
        &format!(
            "[store]\npath = \"{}\"\nstandby = \"{}\"\n",
            Database::url_on(primary.port()),
            Database::url_on(standby.port())
        ),
    );
    let daemon = world.serve_with(&["--config", "ordo.toml"]);
    let token = world.read(".ordo/token").trim().to_owned();
    let shows = |label: &str| ask(&daemon, "GET", "/jobs", &token, "").contains(label);
    let add = |label: &str| world.ordo(&["job", "add", label, "--cron", "0 0 1 1 *", "--", "true"]).done();

    add("first-job");
    eventually("the page shows it", || shows("first-job").then_some(()));
    let read = || standby.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'ordo'");
    eventually("the standby is read", || (shows("first-job") && read() != "0").then_some(()));

    // While the standby stands still, so do the pages; commands and the API do not.
    standby.sql("SELECT pg_wal_replay_pause()");
    eventually("it stands still", || (standby.sql("SELECT pg_get_wal_replay_pause_state()") == "paused").then_some(()));
    add("second-job");
    assert!(world.ordo(&["job", "show", "second-job"]).done().out.contains("second-job"));
    for _ in 0..5 {
        assert!(shows("first-job") && !shows("second-job"), "the page is as old as the standby");
    }
    standby.sql("SELECT pg_wal_replay_resume()");
    eventually("the page has caught up", || shows("second-job").then_some(()));

    standby.quit();
    add("third-job");
    eventually("the database itself is read", || shows("third-job").then_some(()));
    standby.up();
    eventually("the standby is read again", || {
        (shows("third-job")
            && standby.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'ordo'") != "0")
            .then_some(())
    });
    let (code, said) = daemon.stop();
    assert_eq!(code, 0, "{said}");
}
