//! What stands around every page: navigation, the state of things, the viewer's choices.

use ordo_engine::queries::Queries;
use ordo_model::Timestamp;
use ordo_store::Fault;

use crate::pages::layout::assets;
use crate::pages::layout::context::preferences::{DENSITIES, THEMES, ZONES};
use crate::pages::layout::context::{Flash, PageContext};
use crate::pages::layout::trouble;
use crate::pages::runs::outcome::Counted;

/// A page in the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NavSection {
    Home,
    Jobs,
    Runs,
    Incidents,
    Calendar,
    Monitors,
    Hooks,
    Executors,
    Nodes,
    Notifications,
    Channels,
    Subscriptions,
    Secrets,
    Tokens,
    Audit,
    /// Not in the navigation.
    Elsewhere,
}

const SECTIONS: [(NavSection, &str, &str, &str); 15] = [
    (NavSection::Home, "/", "Home", "home"),
    (NavSection::Jobs, "/jobs", "Jobs", "jobs"),
    (NavSection::Runs, "/runs", "Runs", "runs"),
    (NavSection::Incidents, "/incidents", "Incidents", "incidents"),
    (NavSection::Calendar, "/calendar", "Calendar", "calendar"),
    (NavSection::Monitors, "/monitors", "Monitors", "monitors"),
    (NavSection::Hooks, "/hooks", "Hooks", "hooks"),
    (NavSection::Executors, "/executors", "Executors", "executors"),
    (NavSection::Nodes, "/nodes", "Nodes", "nodes"),
    (NavSection::Notifications, "/notifications", "Notifications", "dead"),
    (NavSection::Channels, "/channels", "Channels", "channels"),
    (NavSection::Subscriptions, "/subscriptions", "Subscriptions", "link"),
    (NavSection::Secrets, "/secrets", "Secrets", "held"),
    (NavSection::Tokens, "/tokens", "Tokens", "tokens"),
    (NavSection::Audit, "/audit", "Audit", "audit"),
];

#[derive(Debug, Clone)]
pub(crate) struct NavItem {
    pub(crate) href: String,
    pub(crate) label: &'static str,
    pub(crate) icon: &'static str,
    pub(crate) is_current: bool,
    pub(crate) badge: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct MenuChoice {
    pub(crate) value: &'static str,
    pub(crate) label: String,
    pub(crate) is_chosen: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct PageShell {
    pub(crate) base: String,
    pub(crate) title: String,
    pub(crate) nav: Vec<NavItem>,
    pub(crate) theme: &'static str,
    pub(crate) themes: Vec<MenuChoice>,
    pub(crate) density: &'static str,
    pub(crate) densities: Vec<MenuChoice>,
    pub(crate) zone: String,
    pub(crate) zones: Vec<MenuChoice>,
    pub(crate) flash: Option<Flash>,
    pub(crate) viewer: String,
    pub(crate) may_operate: bool,
    pub(crate) may_leave: bool,
    pub(crate) here: String,
    pub(crate) node: String,
    /// How many jobs are failing now.
    pub(crate) trouble: Counted,
    pub(crate) now: Timestamp,
}

impl PageShell {
    pub(crate) async fn new(
        ctx: &PageContext,
        section: NavSection,
        title: impl Into<String>,
    ) -> Result<PageShell, Fault> {
        let trouble = trouble::failing_count(&ctx.app).await?;
        Ok(PageShell::around(ctx, section, title.into(), trouble))
    }

    /// Without asking the store: also for pages that say it does not answer.
    pub(crate) fn around(ctx: &PageContext, section: NavSection, title: String, trouble: Counted) -> PageShell {
        let zone = ctx.preferences.zone_name().to_owned();
        PageShell {
            base: ctx.app.base_path.to_string(),
            title,
            nav: nav(ctx, section, trouble),
            theme: ctx.preferences.theme,
            themes: THEMES.map(|(value, label)| choice(value, label.to_owned(), ctx.preferences.theme)).to_vec(),
            density: ctx.preferences.density,
            densities: DENSITIES
                .map(|(value, label)| choice(value, label.to_owned(), ctx.preferences.density))
                .to_vec(),
            zones: ZONES
                .map(|(value, label)| choice(value, zone_label(value, label, &zone), ctx.preferences.zone))
                .to_vec(),
            zone,
            flash: ctx.flash.clone(),
            viewer: ctx.viewer.name.clone(),
            may_operate: ctx.viewer.may_operate,
            may_leave: ctx.viewer.may_leave,
            here: ctx.here.clone(),
            node: ctx.app.node.name.clone(),
            trouble,
            now: ctx.now,
        }
    }

    pub(crate) fn link(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    pub(crate) fn asset(&self, name: &str) -> String {
        self.link(&assets::address(name))
    }

    pub(crate) fn favicon(&self) -> String {
        self.asset(if self.trouble.count > 0 { "favicon-trouble.svg" } else { "favicon.svg" })
    }

    /// Trouble comes first: it is what a row of tabs still shows.
    pub(crate) fn full_title(&self) -> String {
        match self.trouble.count {
            0 => format!("{} · Ordo", self.title),
            _ => format!("({}) {} · Ordo", self.trouble.short(), self.title),
        }
    }
}

fn nav(ctx: &PageContext, section: NavSection, trouble: Counted) -> Vec<NavItem> {
    let shown = SECTIONS.iter().filter(|(one, ..)| {
        ctx.viewer.may_admin || !matches!(one, NavSection::Tokens | NavSection::Secrets | NavSection::Audit)
    });
    let item = |(one, path, label, icon): &(NavSection, &str, &'static str, &'static str)| NavItem {
        href: ctx.link(path),
        label,
        icon,
        is_current: *one == section,
        badge: (*one == NavSection::Home && trouble.count > 0).then(|| trouble.short()),
    };
    shown.map(item).collect()
}

fn choice(value: &'static str, label: String, chosen: &str) -> MenuChoice {
    MenuChoice { value, label, is_chosen: value == chosen }
}

fn zone_label(value: &str, label: &str, zone: &str) -> String {
    match value {
        "browser" if zone != "UTC" => format!("{label} ({zone})"),
        _ => label.to_owned(),
    }
}

/// What a page reads from.
pub(crate) fn queries(ctx: &PageContext) -> &Queries {
    ctx.app.engine.queries()
}
