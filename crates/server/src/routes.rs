//! The routes of the server: a handler for each operation of the API, the pages, and what every request passes.

use std::sync::LazyLock;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{Uri, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, delete, get, patch, post, put};
use bytes::Bytes;
use ordo_api::{Code, Operation, openapi};
use tower::Layer;

use crate::api::{
    audit, channels, cron, events, executors, forecast, health, hooks, incidents, jobs, metrics, monitors, nodes,
    notifications, runs, secrets, slack, status, store, subscriptions, tokens, xxl,
};
use crate::app::App;
use crate::auth::{self, login};
use crate::http::problem::Problem;
use crate::http::{compression, security_headers, trace};
#[cfg(feature = "dashboard")]
use crate::pages::{self, layout::frame};

const BODY_MAX_BYTES: usize = 1024 * 1024;
const BATCH_BODY_MAX_BYTES: usize = 32 * 1024 * 1024;

/// The handler of each operation: the compiler keeps this complete.
fn handler(operation: Operation) -> MethodRouter<App> {
    let large = DefaultBodyLimit::max(BATCH_BODY_MAX_BYTES);
    match operation {
        Operation::CreateJob => post(jobs::create),
        Operation::CreateJobs => post(jobs::batch::create).layer(large),
        Operation::ListJobs => get(jobs::list::read),
        Operation::ReadJob => get(jobs::show),
        Operation::UpdateJob => patch(jobs::update),
        Operation::CancelJob => delete(jobs::cancel),
        Operation::TriggerJob => post(jobs::commands::trigger),
        Operation::PauseJob => post(jobs::commands::pause),
        Operation::ResumeJob => post(jobs::commands::resume),
        Operation::BackfillJob => post(jobs::commands::backfill),
        Operation::PreviewJob => get(jobs::commands::preview),
        Operation::ListRevisions => get(jobs::revisions::list),
        Operation::DiffJob => get(jobs::revisions::diff),
        Operation::RevertJob => post(jobs::revisions::revert),
        Operation::ListRuns => get(runs::list),
        Operation::ReadRun => get(runs::show),
        Operation::ReadLogs => get(runs::logs::read),
        Operation::CancelRun => post(runs::cancel),
        Operation::RetryRun => post(runs::retry),
        Operation::ListExecutors => get(executors::list),
        Operation::RegisterExecutor => post(executors::register),
        Operation::BeatExecutor => post(executors::heartbeat),
        Operation::PollExecutor => post(executors::poll),
        Operation::LeaveExecutor => delete(executors::leave),
        Operation::DrainExecutor => post(executors::drain),
        Operation::ReportRuns => post(executors::reports::report).layer(large),
        Operation::SendLogs => post(executors::reports::logs).layer(large),
        Operation::CallHook => post(hooks::receive::receive),
        Operation::ListHooks => get(hooks::list),
        Operation::CreateHook => post(hooks::create),
        Operation::ReadHook => get(hooks::show),
        Operation::UpdateHook => patch(hooks::update),
        Operation::RemoveHook => delete(hooks::remove),
        Operation::ListDeliveries => get(hooks::deliveries::list),
        Operation::ReplayDelivery => post(hooks::deliveries::replay),
        Operation::TestHook => post(hooks::test::receive),
        Operation::StartIncident => post(incidents::create),
        Operation::ListIncidents => get(incidents::list),
        Operation::ReadIncident => get(incidents::show),
        Operation::SetAssignee => post(incidents::change::assignee),
        Operation::SetSeverity => post(incidents::change::severity),
        Operation::SetStatus => post(incidents::change::status),
        Operation::AcknowledgeIncident => post(incidents::change::acknowledge),
        Operation::AddNote => post(incidents::change::note),
        Operation::LinkIncident => post(incidents::change::link),
        Operation::SetIncidentRole => post(incidents::change::role),
        Operation::DescribeImpact => post(incidents::change::impact),
        Operation::AddAction => post(incidents::change::add_action),
        Operation::SetAction => post(incidents::change::set_action),
        Operation::WritePostmortem => put(incidents::change::postmortem),
        Operation::SnoozeIncident => post(incidents::change::snooze),
        Operation::EndSnooze => delete(incidents::change::end_snooze),
        Operation::ListSimilarIncidents => get(incidents::similar),
        Operation::ExportIncident => get(incidents::export),
        Operation::ListSilences => get(incidents::silences::list),
        Operation::AddSilence => post(incidents::silences::create),
        Operation::EndSilence => delete(incidents::silences::end),
        Operation::ListNotifications => get(notifications::list),
        Operation::ReadNotification => get(notifications::show),
        Operation::ReplayNotification => post(notifications::replay),
        Operation::ListChannels => get(channels::list),
        Operation::AddChannel => post(channels::create),
        Operation::ReadChannel => get(channels::show),
        Operation::UpdateChannel => patch(channels::update),
        Operation::RemoveChannel => delete(channels::remove),
        Operation::TestChannel => post(channels::test),
        Operation::ListEscalations => get(channels::escalations::list),
        Operation::AddEscalation => post(channels::escalations::create),
        Operation::ReadEscalation => get(channels::escalations::show),
        Operation::UpdateEscalation => patch(channels::escalations::update),
        Operation::RemoveEscalation => delete(channels::escalations::remove),
        Operation::AddMonitor => post(monitors::create),
        Operation::ListMonitors => get(monitors::list),
        Operation::ReadMonitor => get(monitors::show),
        Operation::RemoveMonitor => delete(monitors::remove),
        Operation::Ping
        | Operation::PingStart
        | Operation::PingFail
        | Operation::PingLog
        | Operation::PingStatusOrName
        | Operation::PingByName => get(monitors::ping::receive),
        Operation::PingWithText
        | Operation::PingStartWithText
        | Operation::PingFailWithText
        | Operation::PingLogWithText
        | Operation::PingStatusOrNameWithText
        | Operation::PingByNameWithText => post(monitors::ping::receive),
        Operation::ReadBadge => get(monitors::badge::show),
        Operation::ReadStream => get(events::streams::read),
        Operation::ReadEvents => get(events::read),
        Operation::ReadAudit => get(audit::read),
        Operation::ListSubscriptions => get(subscriptions::list),
        Operation::CreateSubscription => post(subscriptions::create),
        Operation::ReadSubscription => get(subscriptions::show),
        Operation::UpdateSubscription => patch(subscriptions::update),
        Operation::RemoveSubscription => delete(subscriptions::remove),
        Operation::TestSubscription => post(subscriptions::test),
        Operation::HearSlack => post(slack::events),
        Operation::PressInSlack => post(slack::interaction),
        Operation::RegisterXxlExecutor => post(xxl::registry),
        Operation::RemoveXxlExecutor => post(xxl::remove),
        Operation::CallBackFromXxl => post(xxl::callback),
        Operation::ListSecrets => get(secrets::list),
        Operation::PutSecret => put(secrets::put),
        Operation::RemoveSecret => delete(secrets::remove),
        Operation::ResealSecrets => post(secrets::reseal),
        Operation::ListTokens => get(tokens::list),
        Operation::CreateToken => post(tokens::create),
        Operation::RevokeToken => delete(tokens::revoke),
        Operation::LoginByLink => get(login::by_link),
        Operation::LoginByForm => post(login::by_form),
        Operation::Logout => post(login::leave),
        Operation::IsAlive => get(health::alive),
        Operation::IsReady => get(health::ready),
        Operation::ReadMetrics => get(metrics::show),
        Operation::ReadDescription => get(description),
        Operation::ReadStatus => get(status::show),
        Operation::ReadTimekeeper => get(status::timekeeper),
        Operation::ExplainCron => get(cron::explain),
        Operation::ReadForecast => get(forecast::read),
        Operation::AskForecast => post(forecast::ask),
        Operation::ReadStoreStats => get(store::stats),
        Operation::BackupStore => post(store::backup),
        Operation::CheckStore => post(store::check),
        Operation::ListNodes => get(nodes::list),
        Operation::DrainNode => post(nodes::drain),
    }
}

/// `GET /openapi.json`
async fn description() -> impl IntoResponse {
    static TEXT: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(openapi().to_string()));
    ([(header::CONTENT_TYPE, "application/json")], TEXT.clone())
}

pub fn router(app: App) -> Router {
    let prefix = app.base_path.clone();
    let api = Operation::routes().iter().map(|route| (route.path, handler(route.operation())));
    #[cfg(feature = "dashboard")]
    let api = api.chain(pages::table());
    let routes = api.fold(Router::new(), |router, (path, methods)| router.route(path, methods));
    let routes = routes
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .layer((compression::layer(), from_fn_with_state(app.clone(), pass), DefaultBodyLimit::max(BODY_MAX_BYTES)))
        .with_state(app);
    match prefix.as_ref() {
        "" => routes,
        // A proxy may take the prefix away or leave it: both are answered.
        _ => {
            let bare = tower::util::MapRequestLayer::new(move |request| without(&prefix, request));
            Router::new().fallback_service(bare.layer(routes))
        }
    }
}

/// What every request passes on its way in and out. One layer: axum boxes each of them anew for every request.
async fn pass(State(app): State<App>, request: Request, next: Next) -> Response {
    let app = &app;
    let guarded = |request| auth::guard(app, request, |request| next.run(request));
    #[cfg(feature = "dashboard")]
    let guarded = |request| frame::around(app, request, guarded);
    trace::request(app, request, |request| security_headers::put_on(request, guarded)).await
}

/// The request as if there were no prefix.
fn without(prefix: &str, mut request: Request) -> Request {
    let rest = request.uri().path_and_query().and_then(|place| place.as_str().strip_prefix(prefix));
    let bare = match rest {
        Some(rest) if rest.is_empty() || rest.starts_with('?') => format!("/{rest}"),
        Some(rest) if rest.starts_with('/') => rest.to_owned(),
        Some(_) | None => return request,
    };
    let mut parts = request.uri().clone().into_parts();
    // A part of an address is an address.
    parts.path_and_query = bare.parse().ok();
    if let Ok(uri) = Uri::from_parts(parts) {
        *request.uri_mut() = uri;
    }
    request
}

async fn no_route(uri: Uri) -> Problem {
    Problem::new(Code::RouteNotFound, format!("there is no route {}", uri.path()))
}

async fn no_method(method: axum::http::Method, uri: Uri) -> Problem {
    Problem::new(Code::MethodNotAllowed, format!("{} does not take {method}", uri.path()))
}
