//! `ordo token …`

use clap::{Args, Subcommand, ValueEnum};
use ordo_model::{Millis, Role};

use super::values::{duration, names_of};
use super::{RefreshArgs, RemovalArgs};
use crate::commands::about::completions::Listed;

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Create a token; it is shown only once
    Add(TokenAddArgs),
    /// List tokens, without their text
    #[command(visible_alias = "ls")]
    List(RefreshArgs),
    /// Revoke a token
    #[command(visible_alias = "remove")]
    Revoke(RemovalArgs<RevokeArgs>),
}

#[derive(Debug, Args)]
pub(crate) struct TokenAddArgs {
    /// The name: letters, digits, '.', '_', '-' and '@'
    pub(crate) name: String,
    /// The role of its holder
    #[arg(long, value_enum, value_name = "ROLE")]
    pub(crate) role: RoleName,
    /// When it expires: 90d, 12h [default: never]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) expires: Option<Millis>,
    /// A group that executors with this token may serve; may be repeated [default: any]
    #[arg(long = "group", value_name = "GROUP")]
    pub(crate) groups: Vec<String>,
    /// A tool that executors with this token may offer; may be repeated [default: any]
    #[arg(long = "tool", value_name = "TOOL")]
    pub(crate) tools: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RevokeArgs {
    /// The token's name or id
    #[arg(add = names_of(Listed::Tokens))]
    pub(crate) token: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RoleName {
    /// May do everything
    Admin,
    /// May read, and change jobs, runs and incidents
    Operator,
    /// May read
    Viewer,
    /// May act as an executor
    Executor,
    /// May read, and change hooks
    HookManager,
    /// Pings monitors by name, in the path of a ping; nothing else
    Pinger,
}

impl From<RoleName> for Role {
    fn from(name: RoleName) -> Role {
        match name {
            RoleName::Admin => Role::Admin,
            RoleName::Operator => Role::Operator,
            RoleName::Viewer => Role::Viewer,
            RoleName::Executor => Role::Executor,
            RoleName::HookManager => Role::HookManager,
            RoleName::Pinger => Role::Pinger,
        }
    }
}
