//! Dumps as they occur: of version 3, of version 2.1, in one file and in two.

use serde_json::json;

use super::*;

fn origin() -> XxlOrigin {
    XxlOrigin { zone: "Asia/Shanghai".into() }
}

fn one(text: &str) -> XxlReading {
    read(&[("dump.sql".to_owned(), text.to_owned())], &origin()).unwrap()
}

const GROUP: &str = "INSERT INTO `xxl_job_group` (`id`,`app_name`,`title`,`address_type`,`address_list`,`update_time`) VALUES (1,'billing','Billing',0,NULL,'2026-01-01 00:00:00'),(2,'old','Old',1,'http://10.0.0.1:9999/','2026-01-01 00:00:00');\n";

/// Rows of version 3: only what differs is given.
fn row(id: i64, more: &[(&str, &str)]) -> String {
    let defaults = [
        ("job_group", "1"),
        ("job_desc", "'settle accounts'"),
        ("author", "'XXL'"),
        ("alarm_email", "''"),
        ("schedule_type", "'CRON'"),
        ("schedule_conf", "'0 0 2 ? * 2-6'"),
        ("misfire_strategy", "'DO_NOTHING'"),
        ("executor_route_strategy", "'FIRST'"),
        ("executor_handler", "'settleHandler'"),
        ("executor_param", "''"),
        ("executor_block_strategy", "'SERIAL_EXECUTION'"),
        ("executor_timeout", "0"),
        ("executor_fail_retry_count", "0"),
        ("glue_type", "'BEAN'"),
        ("child_jobid", "''"),
        ("trigger_status", "1"),
        ("trigger_next_time", "0"),
    ];
    let value = |name: &str, default: &str| {
        more.iter().find(|(given, _)| *given == name).map_or(default, |(_, value)| *value).to_owned()
    };
    let names: Vec<String> = defaults.iter().map(|(name, _)| format!("`{name}`")).collect();
    let values: Vec<String> = defaults.iter().map(|(name, default)| value(name, default)).collect();
    format!("INSERT INTO `xxl_job_info` (`id`,{}) VALUES ({id},{});\n", names.join(","), values.join(","))
}

#[test]
fn a_job_says_here_what_it_said_there() {
    let job = row(
        12,
        &[
            ("alarm_email", "'ops@example.com'"),
            ("misfire_strategy", "'FIRE_ONCE_NOW'"),
            ("executor_route_strategy", "'LEAST_FREQUENTLY_USED'"),
            ("executor_param", "'region=east\\nday=\\'1\\''"),
            ("executor_block_strategy", "'COVER_EARLY'"),
            ("executor_timeout", "300"),
            ("executor_fail_retry_count", "2"),
        ],
    );
    let reading = one(&format!("{GROUP}{job}"));
    let draft = &reading.imported.drafts[0];
    assert_eq!((draft.label.as_str(), draft.held), ("billing/settleHandler-12", true));
    let expected = json!({
        "description": "settle accounts", "tool_name": "xxl", "group": "billing",
        "tool_input": { "handler": "settleHandler", "params": "region=east\nday='1'", "job_id": 12 },
        "trigger": { "type": "scheduled", "cron": "0 0 2 ? * MON,TUE,WED,THU,FRI", "timezone": "Asia/Shanghai" },
        "routing": "lfu", "block": "cover", "misfire": "fire_once_now", "timeout": "300s",
        "retry": { "max_attempts": 3, "backoff": "1s" },
        "on_failure": { "incident": { "resolve_on_recovery": true } },
    });
    assert_eq!(serde_json::Value::Object(draft.fields.clone()), expected);
    assert!(draft.warnings[0].contains("ops@example.com"), "{:?}", draft.warnings);
    assert!(draft.normal("2026-11-17T00:00:00Z".parse().unwrap()).is_ok());
    assert_eq!(reading.started, ["billing/settleHandler-12"]);
}

#[test]
fn intervals_keep_their_beat_and_what_has_no_schedule_is_triggered_by_hand() {
    let every =
        row(1, &[("schedule_type", "'FIX_RATE'"), ("schedule_conf", "'30'"), ("trigger_next_time", "1700000000000")]);
    let manual = row(2, &[("schedule_type", "'NONE'"), ("schedule_conf", "NULL"), ("trigger_status", "0")]);
    let reading = one(&format!("{GROUP}{every}{manual}"));
    let triggers: Vec<_> = reading.imported.drafts.iter().map(|draft| &draft.fields["trigger"]).collect();
    assert_eq!(triggers[0], &json!({ "type": "scheduled", "every": "30s", "start": "2023-11-14T22:13:20.000Z" }));
    assert_eq!(triggers[1], &json!({ "type": "manual" }));
    // XXL-JOB starts no job without a schedule: its status says nothing.
    assert_eq!(reading.started, ["billing/settleHandler-1", "billing/settleHandler-2"]);
}

#[test]
fn a_stopped_job_stays_held_unless_its_parents_run_it() {
    let stopped = ("trigger_status", "0");
    let parent = row(1, &[("child_jobid", "'2'")]);
    let (child, alone) = (row(2, &[stopped]), row(3, &[stopped]));
    let reading = one(&format!("{GROUP}{parent}{child}{alone}"));
    assert_eq!(reading.started, ["billing/settleHandler-1", "billing/settleHandler-2"]);
    let child = &reading.imported.drafts[1];
    assert_eq!(child.fields["trigger"], json!({ "type": "manual" }), "its own schedule was stopped");
    assert!(child.warnings.iter().any(|warning| warning.contains("0 0 2 ? * 2-6")), "{:?}", child.warnings);
    assert_eq!(reading.imported.drafts[2].fields["trigger"]["type"], "scheduled");
}

#[test]
fn children_run_after_their_parents() {
    let (parent, child) = (row(1, &[("child_jobid", "'2, 99'")]), row(2, &[("schedule_type", "'NONE'")]));
    let reading = one(&format!("{GROUP}{parent}{child}"));
    let chain = BTreeMap::from([("billing/settleHandler-2".to_owned(), vec!["billing/settleHandler-1".to_owned()])]);
    assert_eq!(reading.chains, chain);
    assert!(reading.imported.notes.iter().any(|note| note.contains("99")), "{:?}", reading.imported.notes);
}

#[test]
fn what_cannot_be_carried_over_is_refused_by_name() {
    let rows = [
        row(1, &[("glue_type", "'GLUE_PYTHON'")]),
        row(2, &[("job_group", "7")]),
        row(3, &[("executor_route_strategy", "'NEAREST'")]),
        row(4, &[("schedule_conf", "'0 0 2 ? * 9'")]),
    ];
    let reading = one(&format!("{GROUP}{}", rows.concat()));
    let reasons: Vec<&str> = reading.imported.refused.iter().map(|refused| refused.why.as_str()).collect();
    for (reason, part) in reasons.iter().zip(["GLUE_PYTHON", "xxl_job_group", "NEAREST", "\"9\""]) {
        assert!(reason.contains(part), "{reason}");
    }
    assert_eq!(reasons.len(), 4);
    assert!(reading.imported.notes[0].contains("old"), "addresses by hand: {:?}", reading.imported.notes);
}

#[test]
fn a_dump_of_version_2_1_in_two_files_is_read_too() {
    let info = "CREATE TABLE `xxl_job_info` (\n  `id` int(11) NOT NULL,\n  `job_group` int(11) NOT NULL,\n  `job_cron` varchar(128) NOT NULL,\n  `job_desc` varchar(255) NOT NULL,\n  `executor_route_strategy` varchar(50),\n  `executor_handler` varchar(255),\n  `trigger_status` tinyint(4) NOT NULL DEFAULT '0',\n  PRIMARY KEY (`id`)\n);\nINSERT INTO `xxl_job_info` VALUES (5,1,'0 0 0 * * ? *','old one','SHARDING_BROADCAST','demoJobHandler',1);\n";
    let files = [("a.sql".to_owned(), GROUP.to_owned()), ("b.sql".to_owned(), info.to_owned())];
    let reading = read(&files, &origin()).unwrap();
    let draft = &reading.imported.drafts[0];
    assert_eq!((draft.place.as_str(), &draft.fields["routing"]), ("b.sql, line 11", &json!("sharding_broadcast")));
    assert_eq!(draft.fields["trigger"]["cron"], "0 0 0 * * ? *");
    assert!(draft.warnings.iter().any(|warning| warning.contains("no timeout")));
}
