//! Files of other schedulers, bent: whatever is in them is read or refused with its place.

use ordo_fuzz::fuzz_text;
use ordo_import::{JobDraft, cronjob, crontab};
use ordo_model::Timestamp;

fn assert_drafts_are_readable(drafts: &[JobDraft]) {
    let now = Timestamp::from_ms(1_792_800_000_000).expect("a time");
    for draft in drafts {
        drop(draft.normal(now));
        draft.body(false);
    }
}

#[test]
fn fuzz_crontab() {
    fuzz_text("crontab", include_str!("corpus/crontab.txt"), |text| {
        for format in [crontab::CrontabFormat::User, crontab::CrontabFormat::System] {
            let origin = crontab::CrontabOrigin { format, name: "x".into(), zone: "UTC".into(), cwd: None };
            assert_drafts_are_readable(&crontab::read(text, &origin).drafts);
        }
    });
}

#[test]
fn fuzz_cronjob_yaml() {
    fuzz_text("cronjob", include_str!("corpus/cronjob.txt"), |text| {
        if let Ok(imported) = cronjob::read(text) {
            assert_drafts_are_readable(&imported.drafts);
        }
    });
}
