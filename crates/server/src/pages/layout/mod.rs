//! What all pages share: the frame around them, their context, tables, times and preferences.

pub(crate) mod answer;
pub(crate) mod assets;
pub(crate) mod caches;
pub(crate) mod context;
pub(crate) mod frame;
pub(crate) mod html;
pub(crate) mod json_view;
pub(crate) mod listing;
pub(crate) mod live;
pub(crate) mod login;
pub(crate) mod moment;
pub(crate) mod search;
pub(crate) mod shell;
pub(crate) mod trouble;
