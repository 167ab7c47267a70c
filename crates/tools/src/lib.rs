//! The tools every executor has: `shell`, `http`, `noop`, and those a configuration names.
//!
//! Invariant: a tool refuses what it does not understand by name, and what it starts it also ends.

mod confinement;
mod fields;
mod http;
pub mod launcher;
pub mod limits;
mod named;
mod near;
mod noop;
mod process;
mod shell;
mod template;
mod toolbox;
mod trace_context;

pub use confinement::{Confinement, ConfinementError, Limits};
pub use fields::InputError;
pub use http::{Http, HttpOptions};
pub use launcher::Launcher;
pub use named::{DefinitionError, NamedDefinition, NamedTool};
pub use noop::Noop;
pub use ordo_egress_guard::{Allowed, Forbidden, Lookup, Network, NotANetwork, NotAllowable, SystemLookup};
pub use process::book::ProcessBook;
pub use shell::environment::Environment;
pub use shell::runner::{Invocation, ProcessRunner};
pub use shell::{Shell, ShellOptions};
pub use template::{Template, TemplateError};
pub use toolbox::{ToolOptions, Toolbox, ToolboxError};
