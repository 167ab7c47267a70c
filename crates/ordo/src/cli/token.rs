//! `ordo token …`

use clap::{Args, Subcommand, ValueEnum};
use ordo_model::{Millis, Role};

use super::values::duration;

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token; it is shown this once
    Add(TokenAddArgs),
    /// All tokens, without their text
    #[command(visible_alias = "ls")]
    List,
    /// Let nobody in with this token any more
    #[command(visible_alias = "remove")]
    Revoke(RevokeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct TokenAddArgs {
    /// What it is for: letters, digits, '.', '_', '-' and '@'
    pub(crate) name: String,
    /// What its holder may do
    #[arg(long, value_enum, value_name = "ROLE")]
    pub(crate) role: RoleName,
    /// When it ends by itself: 90d, 12h [default: never]
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
    pub(crate) token: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RoleName {
    /// Everything
    Admin,
    /// Reads; changes jobs, runs and incidents
    Operator,
    /// Reads
    Viewer,
    /// Speaks the protocol of executors
    Executor,
    /// Reads; changes hooks
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
