//! What becomes of crontabs.

use serde_json::{Value, json};

use super::*;

fn origin(format: CrontabFormat) -> CrontabOrigin {
    CrontabOrigin { format, name: "crontab".into(), zone: "Europe/Berlin".into(), cwd: None }
}

fn user(text: &str) -> Imported {
    read(text, &origin(CrontabFormat::User))
}

/// The one job in it.
fn field(text: &str, name: &str) -> Value {
    let reading = user(text);
    assert_eq!((reading.drafts.len(), reading.refused.len()), (1, 0), "{reading:?}");
    reading.drafts[0].fields.get(name).cloned().unwrap_or_default()
}

#[test]
fn the_time_is_read_in_the_zone_that_is_in_force() {
    for (text, trigger) in [
        ("30 2 * * 1 x", json!({"type": "scheduled", "cron": "30 2 * * 1", "timezone": "Europe/Berlin"})),
        ("@daily x", json!({"type": "scheduled", "cron": "@daily", "timezone": "Europe/Berlin"})),
        ("@every_minute x", json!({"type": "scheduled", "cron": "* * * * *", "timezone": "Europe/Berlin"})),
        (
            "CRON_TZ=America/New_York\n0 5 * * *\tx",
            json!({"type": "scheduled", "cron": "0 5 * * *", "timezone": "America/New_York"}),
        ),
        (
            "RANDOM_DELAY=6\n0 5 * * * x",
            json!({"type": "scheduled", "cron": "0 5 * * *", "timezone": "Europe/Berlin", "jitter": "6m"}),
        ),
        ("@reboot x", json!({"type": "manual"})),
    ] {
        assert_eq!(field(text, "trigger"), trigger, "{text}");
    }
}

#[test]
fn two_days_are_joined_as_cron_joins_them() {
    for (time, cron) in [
        ("0 0 1 * 1", "0 0 1 * 1"),
        ("0 0 * * 1", "0 0 * * 1"),
        ("0 0 */2 * 1", "0 0 */2 * +1"),
        ("0 0 1-7 * */6", "0 0 1-7 * +*/6"),
    ] {
        assert_eq!(field(&format!("{time} x"), "trigger")["cron"], cron);
    }
}

#[test]
fn a_command_gets_the_shell_the_variables_and_the_input_it_had() {
    for (text, input) in [
        ("* * * * * echo hi", json!({"script": "echo hi"})),
        ("* * * * *   a  b ", json!({"script": "a  b"})),
        ("* * * * * mail joe%Hi%there", json!({"script": "mail joe", "stdin": "Hi\nthere\n"})),
        (r"* * * * * date +\%F", json!({"script": "date +%F"})),
        (
            "SHELL = /bin/bash\nPATH=\"/opt/bin:/bin\"\n* * * * * x",
            json!({"command": "/bin/bash", "args": ["-c", "x"], "env": {"PATH": "/opt/bin:/bin", "SHELL": "/bin/bash"}}),
        ),
        ("HOME=/srv\n* * * * * x", json!({"script": "x", "env": {"HOME": "/srv"}, "cwd": "/srv"})),
        ("* * * * * A=1 x", json!({"script": "A=1 x"})),
        ("ORDO_TOKEN=1\nMAILTO=\"\"\nCONTENT_TYPE=x\n* * * * * x", json!({"script": "x"})),
    ] {
        assert_eq!(field(text, "tool_input"), input, "{text}");
    }
}

#[test]
fn variables_count_from_their_line_on() {
    let reading = user("* * * * * first\nA=1\n* * * * * second\nA=2\n* * * * * third");
    let seen: Vec<Value> = reading.drafts.iter().map(|draft| draft.fields["tool_input"]["env"]["A"].clone()).collect();
    assert_eq!(seen, [json!(null), json!("1"), json!("2")]);
}

#[test]
fn the_comment_directly_above_is_the_description() {
    for (text, description) in [
        ("# Nightly backup\n# of everything\n0 2 * * * x", json!("Nightly backup\nof everything")),
        ("# far away\n\n0 2 * * * x", json!(null)),
        ("# about the variable\nA=1\n0 2 * * * x", json!(null)),
        ("# m h  dom mon dow   command\n0 2 * * * x", json!(null)),
        ("# still so\n#0 3 * * * x\n0 2 * * * x", json!("still so")),
        ("MAILTO=ops@example.org\n# Backup\n0 2 * * * x", json!("Backup\nMAILTO=ops@example.org")),
        ("@reboot x", json!("@reboot")),
    ] {
        assert_eq!(field(text, "description"), description, "{text}");
    }
    let long = field(&format!("# {}\n@daily x", "ü".repeat(2_000)), "description");
    assert!((990..=1_000).contains(&long.as_str().unwrap().len()), "{}", long.as_str().unwrap().len());
}

#[test]
fn a_comment_belongs_to_one_line_only() {
    let reading = user("# both?\n@daily a\n@daily b");
    assert_eq!(reading.drafts[0].fields["description"], "both?");
    assert_eq!(reading.drafts[1].fields.get("description"), None);
}

#[test]
fn jobs_overlap_and_are_not_caught_up_as_under_cron() {
    let text = "@daily x";
    assert_eq!(field(text, "block"), "concurrent");
    assert_eq!(field(text, "misfire"), "do_nothing");
    assert_eq!(field(text, "timeout"), json!(ordo_model::limits::TIMEOUT_MAX));
    assert!(!user(text).drafts[0].stated.contains(&"timeout"), "what people change later stays");
}

#[test]
fn a_label_survives_another_time_and_another_place() {
    let label = |text: &str| user(text).drafts.last().unwrap().label.clone();
    assert_eq!(label("0 2 * * * backup"), label("# x\n\nA=1\n30 4 * * * backup"));
    assert_ne!(label("0 2 * * * backup"), label("0 2 * * * backup --all"));
    assert_eq!(label("0 2 * * * backup\n0 3 * * * backup"), format!("{}-2", label("0 2 * * * backup")));
}

#[test]
fn in_a_system_crontab_the_sixth_field_is_the_user() {
    let reading = read("17 * * * * root cd / && run-parts x\n@daily www-data y", &origin(CrontabFormat::System));
    let [first, second] = reading.drafts.as_slice() else { panic!("{reading:?}") };
    assert_eq!(first.fields["tool_input"]["script"], "cd / && run-parts x");
    assert_eq!(second.fields["tool_input"]["script"], "y");
    assert_eq!(second.fields["description"], "User: www-data");
    assert!(second.warnings[0].contains("not as www-data"), "{second:?}");
}

fn found(text: &str) -> Detected {
    let users = ["root", "www-data", "mysql"].map(str::to_owned).into();
    detect(text, &Machine { users, is_program: &|name| ["newsyslog", "mysql", "run-parts"].contains(&name) })
}

#[test]
fn the_format_is_known_by_its_users() {
    for (text, format) in [
        ("SHELL=/bin/sh\n# x\n17 * * * * root run-parts\n@daily www-data x y", CrontabFormat::System),
        ("17 * * * * root run-parts\n@daily backup x", CrontabFormat::User),
        ("0 5 * * * tar -zcf x /home", CrontabFormat::User),
        ("0 5 * * * python3 /srv/app/manage.py clearsessions", CrontabFormat::User),
        ("0 5 * * * mysql -e 'optimize table x'", CrontabFormat::User),
        ("0 5 * * * root", CrontabFormat::User),
        ("# empty", CrontabFormat::User),
    ] {
        assert_eq!(found(text).format, format, "{text}");
    }
}

/// Lines of FreeBSD, of Debian's cron.d and of a host whose users are not ours.
#[test]
fn a_user_unknown_here_is_recognised_and_named() {
    let freebsd = "SHELL=/bin/sh\nPATH=/etc:/bin\n#minute\thour\tmday\tmonth\twday\twho\tcommand\n\
                   */11\t*\t*\t*\t*\toperator /usr/libexec/save-entropy\n0\t*\t*\t*\t*\troot\tnewsyslog\n";
    let read = found(freebsd);
    assert_eq!(read.format, CrontabFormat::System);
    assert!(read.notes[1].contains("operator (line 4)"), "{read:?}");
    let alone = found("*/11 * * * * operator /usr/libexec/save-entropy");
    assert_eq!(alone.format, CrontabFormat::System);
    let debian =
        found("*/30 * * * * postgres [ -x /usr/bin/munin-run ] && munin-run\n@daily logcheck /usr/sbin/logcheck");
    assert_eq!(debian.format, CrontabFormat::System, "{debian:?}");
    assert!(debian.notes[1].contains("postgres (line 1), logcheck (line 2)"), "{debian:?}");
}

#[test]
fn what_may_be_a_user_is_named_where_the_file_is_read_otherwise() {
    let mixed = found("0 5 * * * operator /usr/libexec/save-entropy\n0 6 * * * /usr/local/bin/report");
    assert_eq!(mixed.format, CrontabFormat::User);
    assert!(mixed.notes[0].contains("operator (line 1)") && mixed.notes[0].contains("--system"), "{mixed:?}");
    assert!(found("0 6 * * * /usr/local/bin/report").notes.is_empty());
}

#[test]
fn a_step_without_a_range_is_read_as_elsewhere_with_a_warning() {
    let reading = user("0/15 * * * * poll\n*/15 * * * * fine\n1-9/2 * * * * fine too");
    let warned: Vec<bool> = reading.drafts.iter().map(|draft| !draft.warnings.is_empty()).collect();
    assert_eq!(warned, [true, false, false]);
    assert!(reading.drafts[0].warnings[0].contains("0/15"), "{reading:?}");
}

#[test]
fn what_is_no_entry_is_refused_with_its_line() {
    let reading = user("\nhello world\n0 5 * * *\n@daily\n0 5 * * * fine");
    assert_eq!(reading.drafts.len(), 1);
    let places: Vec<&str> = reading.refused.iter().map(|refused| refused.place.as_str()).collect();
    assert_eq!(places, ["line 2", "line 3", "line 4"], "{reading:?}");
}

#[test]
fn what_cannot_be_carried_over_is_reported() {
    let reading = user("MAILTO=root\nORDO_X=1\nRANDOM_DELAY=soon\n@reboot start-it");
    assert_eq!(reading.notes.len(), 3, "{reading:?}");
    assert!(reading.drafts[0].warnings[0].contains("ordo job trigger crontab/start-it-"), "{reading:?}");
}
