//! How somebody wants to see the pages: bright or dark, dense or airy, and in which zone. Kept in cookies, so that the server
//! renders it right the first time.

use axum::extract::Form;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use ordo_model::Timestamp;

use crate::http::cookies;
use crate::pages::layout::context::{Flash, PageContext};
use crate::pages::layout::moment::Times;

const THEME: &str = "ordo_theme";
const ZONE: &str = "ordo_zone";
const DENSITY: &str = "ordo_density";
/// Set when somebody does not want to see the first steps any more.
const STEPS: &str = "ordo_steps";
/// The zone of the browser, as its script says.
const BROWSER: &str = "ordo_tz";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Preferences {
    pub(crate) theme: &'static str,
    pub(crate) zone: &'static str,
    pub(crate) density: &'static str,
    browser: Option<String>,
    pub(crate) hides_steps: bool,
}

pub(crate) const THEMES: [(&str, &str); 3] = [("system", "System"), ("light", "Light"), ("dark", "Dark")];
pub(crate) const DENSITIES: [(&str, &str); 2] = [("comfortable", "Comfortable"), ("compact", "Compact")];
pub(crate) const ZONES: [(&str, &str); 3] = [("browser", "My zone"), ("utc", "UTC"), ("job", "Job's zone")];

impl Preferences {
    pub(crate) fn read(headers: &HeaderMap) -> Preferences {
        let is_zone = |name: &String| ordo_model::zones::current().get(name).is_some();
        Preferences {
            theme: one_of(&THEMES, cookies::read(headers, THEME).as_deref()),
            zone: one_of(&ZONES, cookies::read(headers, ZONE).as_deref()),
            density: one_of(&DENSITIES, cookies::read(headers, DENSITY).as_deref()),
            browser: cookies::read(headers, BROWSER).filter(is_zone),
            hides_steps: cookies::read(headers, STEPS).is_some(),
        }
    }

    pub(crate) fn times(&self, now: Timestamp) -> Times {
        Times::new(now, self.zone_name(), self.zone == "job")
    }

    /// The zone in which times without one of their own are shown.
    pub(crate) fn zone_name(&self) -> &str {
        match (&self.browser, self.zone) {
            (Some(browser), "browser" | "job") => browser,
            _ => "UTC",
        }
    }
}

fn one_of(known: &[(&'static str, &str)], given: Option<&str>) -> &'static str {
    known.iter().map(|(name, _)| *name).find(|name| given == Some(*name)).unwrap_or(known[0].0)
}

/// `POST /preferences`: works without scripts.
pub(crate) async fn change(ctx: PageContext, Form(fields): Form<Vec<(String, String)>>) -> Response {
    let field = |name: &str| fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    let mut answer = ctx.go(&field("back").unwrap_or_default(), &Flash::good("Saved"));
    // Nothing to say about it: the page shows it.
    answer.headers_mut().remove(header::SET_COOKIE);
    let path = format!("{}/", ctx.app.base_path);
    for (name, cookie, known) in
        [("theme", THEME, &THEMES[..]), ("zone", ZONE, &ZONES[..]), ("density", DENSITY, &DENSITIES[..])]
    {
        if let Some(value) = field(name) {
            let cookie = cookies::lasting(cookie, one_of(known, Some(&value)), &path);
            answer.headers_mut().append(header::SET_COOKIE, cookie);
        }
    }
    if field("steps").is_some() {
        answer.headers_mut().append(header::SET_COOKIE, cookies::lasting(STEPS, "hidden", &path));
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn read(line: &'static str) -> Preferences {
        Preferences::read(&HeaderMap::from_iter([(header::COOKIE, HeaderValue::from_static(line))]))
    }

    #[test]
    fn what_is_unknown_falls_back_to_the_default() {
        assert_eq!(read("ordo_theme=dark; ordo_zone=utc").theme, "dark");
        assert_eq!((read("ordo_theme=pink").theme, read("").zone), ("system", "browser"));
        assert_eq!((read("ordo_density=compact").density, read("").density), ("compact", "comfortable"));
    }

    #[test]
    fn the_browsers_zone_counts_only_if_it_is_one_and_is_wanted() {
        assert_eq!(read("ordo_tz=Europe%2FBerlin").zone_name(), "Europe/Berlin");
        assert_eq!(read("ordo_tz=Europe%2FBerlin; ordo_zone=utc").zone_name(), "UTC");
        assert_eq!(read("ordo_tz=No%2FWhere").zone_name(), "UTC");
    }
}
