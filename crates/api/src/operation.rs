//! Every operation of the API by name: the table that server, description and tests walk.
//!
//! Invariant: an operation without a row, or a row without an operation, does not compile; neither does a server that
//! has no handler for one.

use std::sync::LazyLock;

use crate::route::Route;
use crate::routes::{
    access, channels, events, executors, forecast, hooks, incidents, jobs, monitors, runs, slack, subscriptions,
    upkeep, xxl,
};

/// One line each: the operation, and the function that makes its row.
macro_rules! operations {
    ($($name:ident => $row:path,)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Operation {
            $($name,)+
        }

        impl Operation {
            pub const ALL: &[Operation] = &[$(Operation::$name,)+];

            const fn name(self) -> &'static str {
                match self {
                    $(Operation::$name => stringify!($name),)+
                }
            }
        }

        static ROWS: LazyLock<Vec<Route>> = LazyLock::new(|| vec![$($row().of(Operation::$name),)+]);
    };
}

operations! {
    CreateJob => jobs::create,
    CreateJobs => jobs::batch,
    ListJobs => jobs::list,
    ReadJob => jobs::read,
    UpdateJob => jobs::update,
    CancelJob => jobs::cancel,
    TriggerJob => jobs::trigger,
    PauseJob => jobs::pause,
    ResumeJob => jobs::resume,
    BackfillJob => jobs::backfill,
    PreviewJob => jobs::preview,
    ListRevisions => jobs::revisions,
    DiffJob => jobs::diff,
    RevertJob => jobs::revert,
    ListRuns => runs::list,
    ReadRun => runs::read,
    ReadLogs => runs::logs,
    CancelRun => runs::cancel,
    RetryRun => runs::retry,
    ListExecutors => executors::list,
    RegisterExecutor => executors::register,
    BeatExecutor => executors::heartbeat,
    PollExecutor => executors::poll,
    LeaveExecutor => executors::leave,
    DrainExecutor => executors::drain,
    ReportRuns => executors::report,
    SendLogs => executors::logs,
    CallHook => hooks::call,
    ListHooks => hooks::list,
    CreateHook => hooks::create,
    ReadHook => hooks::read,
    UpdateHook => hooks::update,
    RemoveHook => hooks::remove,
    ListDeliveries => hooks::deliveries,
    ReplayDelivery => hooks::replay,
    TestHook => hooks::test,
    StartIncident => incidents::start,
    ListIncidents => incidents::list,
    ReadIncident => incidents::read,
    SetAssignee => incidents::assignee,
    SetSeverity => incidents::severity,
    SetStatus => incidents::status,
    AcknowledgeIncident => incidents::acknowledge,
    AddNote => incidents::note,
    LinkIncident => incidents::link,
    SetIncidentRole => incidents::role,
    DescribeImpact => incidents::impact,
    AddAction => incidents::add_action,
    SetAction => incidents::set_action,
    WritePostmortem => incidents::write_postmortem,
    SnoozeIncident => incidents::snooze,
    EndSnooze => incidents::end_snooze,
    ListSimilarIncidents => incidents::similar,
    ExportIncident => incidents::export,
    ListSilences => incidents::silences::list,
    AddSilence => incidents::silences::add,
    EndSilence => incidents::silences::end,
    ListNotifications => incidents::notifications,
    ReadNotification => incidents::notification,
    ReplayNotification => incidents::replay,
    ListChannels => channels::list,
    AddChannel => channels::add,
    ReadChannel => channels::read,
    UpdateChannel => channels::update,
    RemoveChannel => channels::remove,
    TestChannel => channels::test,
    ListEscalations => channels::escalations,
    AddEscalation => channels::add_escalation,
    ReadEscalation => channels::read_escalation,
    UpdateEscalation => channels::update_escalation,
    RemoveEscalation => channels::remove_escalation,
    AddMonitor => monitors::add,
    ListMonitors => monitors::list,
    ReadMonitor => monitors::read,
    RemoveMonitor => monitors::remove,
    Ping => monitors::ping,
    PingWithText => monitors::ping_with_text,
    PingStart => monitors::start,
    PingStartWithText => monitors::start_with_text,
    PingFail => monitors::fail,
    PingFailWithText => monitors::fail_with_text,
    PingLog => monitors::log,
    PingLogWithText => monitors::log_with_text,
    PingStatusOrName => monitors::status_or_name,
    PingStatusOrNameWithText => monitors::status_or_name_with_text,
    PingByName => monitors::by_name,
    PingByNameWithText => monitors::by_name_with_text,
    ReadBadge => monitors::badge,
    ReadStream => events::stream,
    ReadEvents => events::all,
    ReadAudit => events::audit,
    ListSubscriptions => subscriptions::list,
    CreateSubscription => subscriptions::create,
    ReadSubscription => subscriptions::read,
    UpdateSubscription => subscriptions::update,
    RemoveSubscription => subscriptions::remove,
    TestSubscription => subscriptions::test,
    HearSlack => slack::events,
    PressInSlack => slack::interaction,
    RegisterXxlExecutor => xxl::registry,
    RemoveXxlExecutor => xxl::registry_remove,
    CallBackFromXxl => xxl::callback,
    ListSecrets => access::list_secrets,
    PutSecret => access::put_secret,
    RemoveSecret => access::remove_secret,
    ResealSecrets => access::reseal_secrets,
    ListTokens => access::list_tokens,
    CreateToken => access::create_token,
    RevokeToken => access::revoke_token,
    LoginByLink => access::login_link,
    LoginByForm => access::login_form,
    Logout => access::logout,
    IsAlive => upkeep::alive,
    IsReady => upkeep::ready,
    ReadMetrics => upkeep::metrics,
    ReadDescription => upkeep::description,
    ReadStatus => upkeep::status,
    ReadTimekeeper => upkeep::timekeeper,
    ExplainCron => upkeep::explain,
    ReadForecast => forecast::read,
    AskForecast => forecast::ask,
    ReadStoreStats => upkeep::stats,
    BackupStore => upkeep::backup,
    CheckStore => upkeep::check,
    ListNodes => upkeep::nodes,
    DrainNode => upkeep::drain,
}

impl Operation {
    /// Its name in the description: `createJob`.
    pub fn id(self) -> String {
        let name = self.name();
        name[..1].to_lowercase() + &name[1..]
    }

    /// Its row of the table.
    pub fn route(self) -> &'static Route {
        &ROWS[self as usize]
    }

    /// All rows, in the order of the operations.
    pub fn routes() -> &'static [Route] {
        &ROWS
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_operation_finds_its_own_row_and_no_route_is_written_twice() {
        for operation in Operation::ALL {
            assert_eq!(operation.route().operation(), *operation);
        }
        let all: BTreeSet<(&str, &str)> =
            Operation::routes().iter().map(|route| (route.path, route.method.name())).collect();
        assert_eq!(all.len(), Operation::ALL.len());
    }
}
