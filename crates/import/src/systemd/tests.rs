//! What becomes of timers: units shaped like those that distributions and packages ship.

use serde_json::{Value, json};

use super::*;

fn files(texts: &[(&str, &str)]) -> Vec<UnitText> {
    texts.iter().map(|(name, text)| UnitText { name: (*name).to_owned(), text: (*text).to_owned() }).collect()
}

fn import(texts: &[(&str, &str)]) -> Imported {
    let reading = read(&files(texts), "Europe/Berlin");
    let now = "2026-11-17T00:00:00Z".parse().unwrap();
    for draft in &reading.drafts {
        draft.normal(now).unwrap_or_else(|why| panic!("{why}: {draft:?}"));
    }
    reading
}

const BACKUP_TIMER: &str = "\
# Shipped by the package
[Unit]
Description=Daily backup of the database

[Timer]
OnCalendar=*-*-* 02:30:00 UTC
RandomizedDelaySec=15min
Persistent=true
AccuracySec=1us

[Install]
WantedBy=timers.target
";

const BACKUP_SERVICE: &str = r#"
[Unit]
Description=Backup of the database (%n)
Documentation=man:backup(8)
After=network-online.target
Wants=network-online.target
ConditionACPower=true
OnFailure=alert@%n.service

[Service]
Type=oneshot
User=postgres
Environment="TARGET=s3://bucket/my db" LEVEL=9
Environment=LEVEL=3
WorkingDirectory=/var/backups
ExecStart=/usr/local/bin/backup \
    --level ${LEVEL} \
    $EXTRA
TimeoutStartSec=2h
Nice=19
ProtectSystem=strict
PrivateTmp=true
"#;

#[test]
fn a_timer_and_its_service_become_a_job() {
    let reading = import(&[("backup.timer", BACKUP_TIMER), ("backup.service", BACKUP_SERVICE)]);
    let [draft] = reading.drafts.as_slice() else { panic!("{reading:?}") };
    assert_eq!((draft.label.as_str(), draft.place.as_str()), ("backup", "backup.timer"));
    assert_eq!(
        Value::Object(draft.fields.clone()),
        json!({
            "description": "Backup of the database (backup.service)",
            "tool_name": "shell",
            "tool_input": {
                "script": "set -e\n/usr/local/bin/backup --level \"${LEVEL}\" $EXTRA",
                "env": {"TARGET": "s3://bucket/my db", "LEVEL": "3"},
                "cwd": "/var/backups"
            },
            "trigger": {"type": "scheduled", "cron": "30 2 * * *", "timezone": "UTC", "jitter": "15m"},
            "misfire": "fire_once_now", "block": "discard", "timeout": "2h"
        })
    );
    for said in
        ["not as postgres", "OnFailure=", "ConditionACPower= is not checked", "Nice=, PrivateTmp=, ProtectSystem= are"]
    {
        assert!(draft.warnings.iter().any(|warning| warning.contains(said)), "{said}: {:#?}", draft.warnings);
    }
    assert_eq!(draft.warnings.len(), 4, "{:#?}", draft.warnings);
    assert!(reading.notes.is_empty());
}

#[test]
fn what_systemctl_cat_prints_is_read_with_its_drop_ins() {
    let printed = "\
# /usr/lib/systemd/system/trim.timer
[Timer]
OnCalendar=weekly
AccuracySec=1h
Persistent=true

# /etc/systemd/system/trim.timer.d/override.conf
[Timer]
OnCalendar=
OnCalendar=Sat 04:00
OnCalendar=Wed 04:00

# /usr/lib/systemd/system/trim.service
[Service]
Type=oneshot
ExecStart=/sbin/fstrim --all --quiet
";
    let reading = import(&[("-", printed)]);
    let jobs: Vec<(&str, &Value)> =
        reading.drafts.iter().map(|draft| (draft.label.as_str(), &draft.fields["trigger"]["cron"])).collect();
    assert_eq!(jobs, [("trim", &json!("0 4 * * SAT")), ("trim (2)", &json!("0 4 * * WED"))]);
    assert_eq!(
        reading.drafts[0].fields["tool_input"],
        json!({"command": "/sbin/fstrim", "args": ["--all", "--quiet"]})
    );
    assert_eq!(reading.drafts[0].fields["trigger"]["timezone"], "Europe/Berlin");
}

#[test]
fn intervals_and_several_commands_are_carried_over() {
    let timer = "[Timer]\nOnBootSec=15min\nOnUnitActiveSec=1d\nUnit=clean.service";
    let service = "[Service]\nType=oneshot\nExecCondition=/usr/bin/test -d /var/cache\nExecStartPre=-/bin/sync\n\
                   ExecStart=/usr/bin/clean 'a b'\nExecStart=/usr/bin/report\nRestart=on-failure\nRestartSec=30";
    let reading = import(&[("tmp-clean.timer", timer), ("clean.service", service)]);
    let fields = &reading.drafts[0].fields;
    assert_eq!(fields["trigger"], json!({"type": "scheduled", "every": "1d"}));
    assert_eq!(
        fields["tool_input"]["script"],
        "set -e\n/usr/bin/test -d /var/cache || exit 0\n/bin/sync || true\n/usr/bin/clean 'a b'\n/usr/bin/report"
    );
    assert_eq!(fields["retry"], json!({"max_attempts": 5, "backoff": "30s", "max_backoff": "30s"}));
    assert!(reading.drafts[0].warnings.iter().any(|warning| warning.contains("OnBootSec=")));
}

#[test]
fn what_fires_at_boot_only_waits_to_be_triggered() {
    let reading =
        import(&[("warm.timer", "[Timer]\nOnBootSec=5min"), ("warm.service", "[Service]\nExecStart=/bin/warm")]);
    assert_eq!(reading.drafts[0].fields["trigger"], json!({"type": "manual"}));
    assert!(reading.drafts[0].warnings[0].contains("ordo job trigger warm"));
}

#[test]
fn what_cannot_be_read_is_refused_by_name() {
    let service = ("a.service", "[Service]\nExecStart=/bin/a");
    for (timer, service, says) in [
        ("[Timer]\nOnCalendar=daily", ("b.service", "[Service]\nExecStart=/bin/b"), "a.service, which is not among"),
        ("[Timer]\nOnCalendar=*-*~03", service, "~3"),
        ("[Timer]\nPersistent=true", service, "never fires"),
        ("[Timer]\nOnCalendar=daily\nUnit=a.target", service, "a.target"),
        ("[Timer]\nOnCalendar=daily", ("a.service", "[Service]\nType=oneshot"), "no ExecStart="),
        ("[Timer]\nOnCalendar=daily", ("a.service", "[Service]\nExecStart=/bin/a %h"), "%h"),
        ("[Timer]\nOnCalendar=daily\nRandomizedDelaySec=soon", service, "soon"),
    ] {
        let reading = import(&[("a.timer", timer), service]);
        assert_eq!(reading.refused.len(), 1, "{reading:?}");
        assert!(reading.refused[0].why.contains(says), "{says}: {reading:?}");
    }
    let template =
        import(&[("a@.timer", "[Timer]\nOnCalendar=daily"), ("a@.service", "[Service]\nExecStart=/bin/a %i")]);
    assert!(template.refused[0].why.contains("template"), "{template:?}");
}

#[test]
fn a_service_without_a_timer_and_other_files_are_named() {
    let given = files(&[
        ("lone.timer", "[Timer]\nOnCalendar=daily"),
        ("x.service", "[Service]\nExecStart=/x"),
        ("README", "hi"),
    ]);
    let reading = read(&given, "UTC");
    assert_eq!(reading.notes.len(), 2, "{reading:?}");
    assert_eq!(missing_services(&given), ["lone.service"]);
}
