//! What every page needs from its request: who asks, how they want to see it, what happened just before.

pub(crate) mod preferences;
mod viewer;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ordo_api::Code;
use ordo_model::Timestamp;

use crate::app::{App, Signed};
use crate::http::cookies;
use crate::http::problem::Problem;
use crate::pages::layout::moment::Times;
use crate::pages::layout::shell::NavSection;
use preferences::Preferences;
use viewer::Viewer;

pub(crate) const FLASH: &str = "ordo_flash";

pub(crate) struct PageContext {
    pub(crate) app: App,
    pub(crate) viewer: Viewer,
    pub(crate) preferences: Preferences,
    pub(crate) flash: Option<Flash>,
    /// Where this page stands, with its query, below the base path.
    pub(crate) here: String,
    pub(crate) now: Timestamp,
}

/// A word about what was just done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flash {
    pub(crate) is_good: bool,
    pub(crate) text: String,
}

impl Flash {
    pub(crate) fn good(text: impl Into<String>) -> Flash {
        Flash { is_good: true, text: text.into() }
    }

    pub(crate) fn bad(text: impl Into<String>) -> Flash {
        Flash { is_good: false, text: text.into() }
    }

    fn written(&self) -> String {
        format!("{}{}", if self.is_good { '+' } else { '-' }, self.text)
    }

    fn read(text: &str) -> Option<Flash> {
        let rest = text.get(1..)?;
        match text.as_bytes().first()? {
            b'+' => Some(Flash::good(rest)),
            b'-' => Some(Flash::bad(rest)),
            _ => None,
        }
    }
}

impl FromRequestParts<App> for PageContext {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<PageContext, Problem> {
        let Ok(viewer) = Viewer::from_request_parts(parts, app).await;
        let flash = cookies::read(&parts.headers, FLASH).and_then(|text| Flash::read(&text));
        let app = match parts.method.is_safe() {
            // Whoever has just done something sees what came of it.
            true if flash.is_some() => app.clone(),
            true => app.only_looking(),
            false => {
                let Ok(Signed(app)) = Signed::from_request_parts(parts, app).await;
                app
            }
        };
        let here = parts.uri.path_and_query().map_or("/", |place| place.as_str()).to_owned();
        Ok(PageContext { viewer, preferences: Preferences::read(&parts.headers), flash, here, now: app.now(), app })
    }
}

impl PageContext {
    pub(crate) fn times(&self) -> Times {
        self.preferences.times(self.now)
    }

    /// The address of something below the base path.
    pub(crate) fn link(&self, path: &str) -> String {
        format!("{}{path}", self.app.base_path)
    }

    /// Only whoever may act goes on.
    pub(crate) fn operator(&self) -> Result<(), Problem> {
        match self.viewer.may_operate {
            true => Ok(()),
            false => Err(Problem::new(Code::Forbidden, "your token lets you look, not act")),
        }
    }

    /// Only administrators go on.
    pub(crate) fn admin(&self) -> Result<(), Problem> {
        match self.viewer.may_admin {
            true => Ok(()),
            false => Err(Problem::new(Code::Forbidden, "this page is for administrators")),
        }
    }

    /// Whether the viewer may make what a section lists.
    pub(crate) fn may_see(&self, section: NavSection) -> bool {
        match section {
            NavSection::Tokens
            | NavSection::Secrets
            | NavSection::Subscriptions
            | NavSection::Channels
            | NavSection::Audit => self.viewer.may_admin,
            NavSection::Home
            | NavSection::Jobs
            | NavSection::Runs
            | NavSection::Incidents
            | NavSection::Calendar
            | NavSection::Monitors
            | NavSection::Hooks
            | NavSection::Executors
            | NavSection::Nodes
            | NavSection::Notifications
            | NavSection::Elsewhere => self.viewer.may_operate,
        }
    }

    /// To another page, with a word about what was done.
    pub(crate) fn go(&self, to: &str, flash: &Flash) -> Response {
        let path = format!("{}/", self.app.base_path);
        let mut answer = StatusCode::SEE_OTHER.into_response();
        let headers = answer.headers_mut();
        let place = HeaderValue::try_from(self.link(local(to))).unwrap_or(HeaderValue::from_static("/"));
        headers.insert(header::LOCATION, place);
        headers.append(header::SET_COOKIE, cookies::passing(FLASH, &flash.written(), &path));
        answer
    }
}

/// A place on this server; anything else leads home.
pub(crate) fn local(to: &str) -> &str {
    let is_ours = to.starts_with('/') && !to.starts_with("//") && !to.contains('\\');
    if is_ours && to.bytes().all(|byte| byte.is_ascii_graphic()) { to } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_stays_on_this_server() {
        assert_eq!(local("/jobs?q=state%3Apaused"), "/jobs?q=state%3Apaused");
        for elsewhere in ["", "//evil.example", "https://evil.example", "/\\evil.example", "/a\r\nb", "jobs"] {
            assert_eq!(local(elsewhere), "/", "{elsewhere:?}");
        }
    }

    #[test]
    fn a_flash_comes_back_as_it_was_written() {
        for flash in [Flash::good("paused"), Flash::bad("the job is over"), Flash::good("")] {
            assert_eq!(Flash::read(&flash.written()), Some(flash));
        }
        assert_eq!((Flash::read(""), Flash::read("x")), (None, None));
    }
}
