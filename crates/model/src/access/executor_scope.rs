//! Whom executors that register with a token may serve: the groups and the tools that the token names.
//!
//! Invariant: a token that names none serves any, and says so wherever it is shown.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::access::role::Role;
use crate::executor::Offer;
use crate::limits::{GROUP_MAX_BYTES, TOKEN_SCOPE_MAX, TOOL_NAME_MAX_BYTES};
use crate::text::is_name;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutorScope {
    /// None: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<BTreeSet<String>>,
    /// None: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<BTreeSet<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScopeRefusal {
    #[error("{field} is for tokens of the role executor: others run nothing")]
    NotAnExecutor { field: &'static str },
    #[error("{field}: name between 1 and {TOKEN_SCOPE_MAX}, each of 1 to {max_bytes} bytes without control characters")]
    BadNames { field: &'static str, max_bytes: usize },
}

impl ScopeRefusal {
    /// Where it is wrong.
    pub const fn field(&self) -> &'static str {
        match self {
            ScopeRefusal::NotAnExecutor { field } | ScopeRefusal::BadNames { field, .. } => field,
        }
    }
}

/// An executor offers to serve somebody whom its token is not for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the token is for executors that serve {scope}: {what} {name:?} is not among them")]
pub struct OutOfScope {
    pub scope: ExecutorScope,
    pub what: &'static str,
    pub name: String,
}

impl ExecutorScope {
    pub fn validate(&self, role: Role) -> Result<(), ScopeRefusal> {
        for (field, names, max_bytes) in
            [("groups", &self.groups, GROUP_MAX_BYTES), ("tools", &self.tools, TOOL_NAME_MAX_BYTES)]
        {
            let Some(names) = names else { continue };
            if role != Role::Executor {
                return Err(ScopeRefusal::NotAnExecutor { field });
            }
            let right = (1..=TOKEN_SCOPE_MAX).contains(&names.len());
            if !right || !names.iter().all(|name| is_name(name, max_bytes)) {
                return Err(ScopeRefusal::BadNames { field, max_bytes });
            }
        }
        Ok(())
    }

    /// Refuses an offer to serve a group, or to run a tool, that the token does not name.
    pub fn check(&self, offer: &Offer) -> Result<(), OutOfScope> {
        let refuse = |what, name: &String| OutOfScope { scope: self.clone(), what, name: name.clone() };
        if self.groups.as_ref().is_some_and(|groups| !groups.contains(&offer.group)) {
            return Err(refuse("the group", &offer.group));
        }
        let foreign = self.tools.as_ref().and_then(|tools| offer.tools.difference(tools).next());
        foreign.map_or(Ok(()), |tool| Err(refuse("the tool", tool)))
    }
}

impl fmt::Display for ExecutorScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |names: &BTreeSet<String>| names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        match &self.groups {
            None => write!(f, "any group")?,
            Some(groups) if groups.len() == 1 => write!(f, "the group {}", list(groups))?,
            Some(groups) => write!(f, "the groups {}", list(groups))?,
        }
        match &self.tools {
            None => Ok(()),
            Some(tools) => write!(f, " with {}", list(tools)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names<const N: usize>(names: [&str; N]) -> Option<BTreeSet<String>> {
        Some(names.into_iter().map(str::to_owned).collect())
    }

    fn offer(group: &str, tools: &[&str]) -> Offer {
        let tools = tools.iter().map(|tool| (*tool).to_owned()).collect();
        Offer { name: "w".into(), group: group.into(), tools, capacity: 1, version: None }
    }

    #[test]
    fn a_token_serves_what_it_names_and_any_when_it_names_nothing() {
        let any = ExecutorScope::default();
        assert!(any.check(&offer("payments", &["shell"])).is_ok());
        let gpu = ExecutorScope { groups: names(["gpu"]), tools: None };
        assert!(gpu.check(&offer("gpu", &["shell"])).is_ok());
        let refused = gpu.check(&offer("payments", &["shell"])).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the token is for executors that serve the group gpu: the group \"payments\" is not among them"
        );
        let render = ExecutorScope { groups: None, tools: names(["render"]) };
        assert!(render.check(&offer("any", &["render"])).is_ok());
        assert!(render.check(&offer("any", &["render", "shell"])).is_err(), "one tool too many");
    }

    #[test]
    fn a_scope_is_read_by_people() {
        let shown = |groups, tools| ExecutorScope { groups, tools }.to_string();
        assert_eq!(shown(None, None), "any group");
        assert_eq!(shown(names(["a", "b"]), None), "the groups a, b");
        assert_eq!(shown(names(["a"]), names(["shell", "http"])), "the group a with http, shell");
    }

    #[test]
    fn only_executors_have_a_scope_and_it_is_not_empty() {
        let scope = ExecutorScope { groups: names(["gpu"]), tools: None };
        assert_eq!(scope.validate(Role::Executor), Ok(()));
        assert_eq!(scope.validate(Role::Admin), Err(ScopeRefusal::NotAnExecutor { field: "groups" }));
        for bad in [names([]), names([""]), names(["a\nb"])] {
            let scope = ExecutorScope { groups: None, tools: bad };
            assert!(matches!(scope.validate(Role::Executor), Err(ScopeRefusal::BadNames { field: "tools", .. })));
        }
        assert_eq!(ExecutorScope::default().validate(Role::Viewer), Ok(()));
    }
}
