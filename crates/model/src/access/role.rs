//! Roles: what the holder of a token may do.
//!
//! Invariant: there is one table, `Role::may`, and it grants nothing that is not written in it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Everything.
    Admin,
    /// Reads, and changes jobs, runs and incidents.
    Operator,
    /// Reads.
    Viewer,
    /// Speaks the protocol of executors, and nothing else.
    Executor,
    /// Reads, and changes hooks.
    HookManager,
    /// Pings monitors by name and adds missing ones: it is a ping key, stands in a path, and opens nothing else.
    Pinger,
}

/// What a request wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Right {
    /// Look at jobs, runs, events, hooks, incidents.
    Read,
    /// Change jobs, runs and incidents.
    Operate,
    /// Change hooks.
    ManageHooks,
    /// Take runs, report on them.
    Execute,
    /// Secrets, tokens, the store as a whole.
    Administer,
}

impl Role {
    pub const ALL: [Role; 6] =
        [Role::Admin, Role::Operator, Role::Viewer, Role::Executor, Role::HookManager, Role::Pinger];

    pub const fn may(self, right: Right) -> bool {
        match (self, right) {
            (Role::Admin, _) => true,
            (Role::Operator, Right::Read | Right::Operate) => true,
            (Role::Operator, Right::ManageHooks | Right::Execute | Right::Administer) => false,
            (Role::Viewer, Right::Read) => true,
            (Role::Viewer, Right::Operate | Right::ManageHooks | Right::Execute | Right::Administer) => false,
            (Role::Executor, Right::Execute) => true,
            (Role::Executor, Right::Read | Right::Operate | Right::ManageHooks | Right::Administer) => false,
            (Role::HookManager, Right::Read | Right::ManageHooks) => true,
            (Role::HookManager, Right::Operate | Right::Execute | Right::Administer) => false,
            (Role::Pinger, Right::Read | Right::Operate | Right::ManageHooks | Right::Execute | Right::Administer) => {
                false
            }
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Role::Admin => "admin",
            Role::Operator => "operator",
            Role::Viewer => "viewer",
            Role::Executor => "executor",
            Role::HookManager => "hook-manager",
            Role::Pinger => "pinger",
        }
    }

    /// The letter that a token of this role bears.
    pub const fn initial(self) -> char {
        match self {
            Role::Admin => 'a',
            Role::Operator => 'o',
            Role::Viewer => 'v',
            Role::Executor => 'e',
            Role::HookManager => 'h',
            Role::Pinger => 'p',
        }
    }
}

impl Right {
    /// The role that has it and little else: what to ask for.
    pub const fn least(self) -> Role {
        match self {
            Right::Read => Role::Viewer,
            Right::Operate => Role::Operator,
            Right::ManageHooks => Role::HookManager,
            Right::Execute => Role::Executor,
            Right::Administer => Role::Admin,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Role {
    type Err = NotARole;

    fn from_str(text: &str) -> Result<Role, NotARole> {
        Role::ALL.into_iter().find(|role| role.name() == text).ok_or_else(|| NotARole(text.chars().take(60).collect()))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a role: there are admin, operator, viewer, executor, hook-manager and pinger")]
pub struct NotARole(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_has_its_rights_and_no_others() {
        use Right::{Administer, Execute, ManageHooks, Operate, Read};
        let all = [Read, Operate, ManageHooks, Execute, Administer];
        let rights = |role: Role| all.into_iter().filter(|right| role.may(*right)).collect::<Vec<_>>();
        assert_eq!(rights(Role::Admin), all);
        assert_eq!(rights(Role::Operator), [Read, Operate]);
        assert_eq!(rights(Role::Viewer), [Read]);
        assert_eq!(rights(Role::Executor), [Execute]);
        assert_eq!(rights(Role::HookManager), [Read, ManageHooks]);
        assert_eq!(rights(Role::Pinger), []);
        for right in all {
            assert!(right.least().may(right));
        }
    }

    #[test]
    fn a_role_reads_back() {
        for role in Role::ALL {
            assert_eq!(role.name().parse(), Ok(role));
            assert_eq!(serde_json::to_value(role).unwrap(), role.name());
        }
        assert!("root".parse::<Role>().unwrap_err().to_string().contains("hook-manager"));
    }
}
