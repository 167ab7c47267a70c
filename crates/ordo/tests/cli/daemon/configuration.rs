//! The configuration: layers, origins, refusals, tools of one's own.

use serde_json::{Value, json};

use crate::common::{Ran, World};

fn setting(config: &Value, key: &str) -> (Value, String) {
    let item = config.as_array().unwrap().iter().find(|item| item["key"] == key).unwrap();
    (item["value"].clone(), item["from"].as_str().unwrap().to_owned())
}

#[test]
fn each_value_shows_where_it_came_from() {
    let world = World::new();
    world.write(
        "ordo.toml",
        "[serve]\nlisten = '127.0.0.1:7171'\ngrace = '5s'\n[tools.t]\ncommand = 'x'\nenv = { KEY = 'hunter2' }\n",
    );
    let mut command = world.command(&["config", "-o", "json"]);
    let ran = Ran::from(command.env("ORDO_SERVE__LISTEN", "127.0.0.1:7272").output().unwrap()).done();
    let config = ran.json();
    assert_eq!(setting(&config, "serve.listen"), (json!("127.0.0.1:7272"), "ORDO_SERVE__LISTEN".into()));
    assert_eq!(setting(&config, "serve.grace"), (json!("5s"), "ordo.toml".into()));
    assert_eq!(setting(&config, "serve.tick_rate"), (json!("1s"), "default".into()));
    assert!(!ran.out.contains("hunter2"), "a variable of a tool may be a secret");
    assert!(world.ordo(&["config"]).done().out.contains("ordo.toml"));
}

#[test]
fn a_wrong_key_is_refused_with_what_was_meant() {
    let world = World::new();
    world.write("ordo.toml", "[serve]\nlisen = 'x'\n");
    let said = ["ordo.toml", "serve.lisen", "did you mean \"serve.listen\"?"];
    world.ordo(&["config"]).refused(2, &said);
    world.ordo(&["serve"]).refused(2, &said);
    assert!(!world.file(".ordo").exists(), "nothing was begun");
    world.write("ordo.toml", "[serve]\ntick_rate = 'soon'\n");
    world.ordo(&["config"]).refused(2, &["ordo.toml", "serve.tick_rate", "soon"]);
    world.write("ordo.toml", "[serve\n");
    world.ordo(&["config"]).refused(2, &["ordo.toml", "line 1"]);
    world.ordo(&["config", "--config", "nowhere.toml"]).refused(2, &["nowhere.toml"]);
    let slip = world.command(&["config", "--config", "/dev/null"]).env("ORDO_SERVE_LISTEN", "x").output().unwrap();
    Ran::from(slip).refused(2, &["ORDO_SERVE__LISTEN"]);
}

#[test]
fn a_tool_of_ones_own_is_a_command_with_places() {
    let world = World::new();
    world.write(
        "ordo.toml",
        "[tools.greet]\ncommand = 'printf'\nargs = ['[%s]', '{name}', '!']\n[tools.shell]\nenabled = false\n",
    );
    let _daemon = world.serve();
    // The value stays one argument, whatever is in it.
    world.ordo(&["job", "add", "g", "--tool", "greet", "--input", r#"{"name": "a b; rm -rf /"}"#]).done();
    assert_eq!(world.ordo(&["job", "trigger", "g", "--wait"]).done().out, "[a b; rm -rf /][!]\n");
    world.ordo(&["job", "add", "g", "--tool", "greet", "--input", "{}"]).refused(1, &["name", "[invalid_tool_input]"]);
    world.ordo(&["job", "add", "g", "--tool", "gret", "--input", "{}"]).refused(1, &["did you mean \"greet\"?"]);
    world.ordo(&["job", "add", "s", "--", "echo", "hi"]).refused(1, &["shell", "[unknown_tool]"]);
}

#[test]
fn pools_and_node_come_from_the_configuration() {
    let world = World::new();
    world.write("ordo.toml", "node = 'n1'\n[pools.fast]\nslots = 1\n[log]\nformat = 'json'\n");
    let daemon = world.serve();
    assert_eq!(world.json(&["status"])["node"], "n1");
    assert!(daemon.said().lines().next().unwrap().starts_with('{'), "{}", daemon.said());
    world.write("bad.toml", "[tools.shell]\nallow = ['./x']\n");
    World::new()
        .ordo(&["serve", "--config", world.file("bad.toml").to_str().unwrap()])
        .refused(2, &["tools.shell.allow"]);
}

#[test]
fn the_release_of_the_time_zones_is_shown() {
    let world = World::new();
    let release = ordo_model::zones::Zones::bundled();
    let long = world.ordo(&["--version"]).done().out;
    assert!(long.ends_with(&format!("\ntime zones {release}\n")), "{long}");
    assert_eq!(world.ordo(&["-V"]).done().out.lines().count(), 1);
    let _daemon = world.serve();
    assert_eq!(world.json(&["status"])["time_zones"], json!({ "version": release.version(), "source": "bundled" }));
    assert!(world.ordo(&["status"]).done().out.contains(&release.to_string()));
}

#[test]
fn without_usable_zones_of_the_system_a_daemon_warns_and_starts() {
    let world = World::new();
    world.write("ordo.toml", "[time]\nzones = 'system'\n");
    std::fs::create_dir_all(world.file("zones/Europe")).unwrap();
    world.write("zones/Europe/Berlin", "TZif, and then nonsense");
    let mut command = world.command(&["cron", "explain", "30 2 * * *", "--tz", "Europe/Berlin"]);
    let ran = Ran::from(command.env("TZDIR", world.file("zones")).output().unwrap()).done();
    assert!(ran.out.contains("At 02:30 (Europe/Berlin)"), "{}", ran.out);
    assert!(ran.err.contains("Europe/Berlin cannot be read"), "{}", ran.err);
    world.write("ordo.toml", "[time]\nzones = 'newest'\n");
    let mut command = world.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.env("TZDIR", world.file("zones"));
    let daemon = crate::common::Daemon::start(command);
    assert_eq!(world.json(&["status"])["time_zones"]["source"], "bundled");
    let (_, said) = daemon.stop();
    assert!(said.contains("does not say which release it is"), "{said}");
}
