//! Who may know whom, by folder in `crates/`.
//!
//! Invariant: `model` knows nobody, `engine` and `server` know no driver, drivers do not know the engine.

pub(super) struct CrateRule {
    pub(super) folder: &'static str,
    pub(super) may_know: &'static [&'static str],
    /// What only its tests may know besides.
    pub(super) tests_may_know: &'static [&'static str],
}

pub(super) const RULES: [CrateRule; 20] = [
    rule("model", &[], &["fuzz"]),
    rule("api", &["model"], &["fuzz"]),
    rule("store", &["model"], &[]),
    rule("store-redb", &["model", "store"], &["fuzz"]),
    rule("store-postgres", &["model", "store", "tls"], &["store-redb", "fuzz"]),
    rule("engine", &["model", "store"], &["store-redb", "fuzz"]),
    rule("tls", &[], &[]),
    rule("egress-guard", &["tls"], &[]),
    rule("tools", &["model", "engine", "egress-guard"], &[]),
    rule("adapters", &["model", "store", "engine", "egress-guard", "tls"], &["store-redb"]),
    rule(
        "server",
        &["model", "api", "store", "engine", "adapters", "xxl", "import"],
        &["store-redb", "tools", "client", "egress-guard", "fuzz"],
    ),
    rule("xxl", &["model", "store", "engine", "egress-guard"], &["store-redb"]),
    rule("client", &["model", "api", "tls"], &[]),
    rule("import", &["model"], &["fuzz"]),
    rule("kurrentdb", &["model", "store", "engine"], &["store-redb"]),
    rule("bench", &["model", "api", "store", "store-redb", "store-postgres", "engine", "server", "client", "tls"], &[]),
    rule(
        "ordo",
        &[
            "model",
            "api",
            "store",
            "store-redb",
            "store-postgres",
            "engine",
            "tls",
            "egress-guard",
            "tools",
            "adapters",
            "xxl",
            "server",
            "client",
            "import",
            "bench",
            "kurrentdb",
        ],
        &["fuzz"],
    ),
    rule("sim", &["model", "store", "store-redb", "engine"], &[]),
    rule("fuzz", &[], &[]),
    rule("xtask", &[], &[]),
];

/// A crate of others that only some of ours may know outside their tests.
pub(super) struct GuardedCrate {
    pub(super) name: &'static str,
    pub(super) known_by: &'static [&'static str],
    pub(super) why: &'static str,
}

pub(super) const GUARDED: [GuardedCrate; 7] = [
    GuardedCrate { name: "redb", known_by: &["store-redb", "sim"], why: "a store is reached through the contract" },
    GuardedCrate {
        name: "tokio-postgres",
        known_by: &["store-postgres"],
        why: "a store is reached through the contract",
    },
    GuardedCrate {
        name: "axum",
        known_by: &["server", "adapters", "bench"],
        why: "the wire is known at the edges only; the bench has a bare handler to compare them with",
    },
    GuardedCrate {
        name: "tokio",
        // The store's conformance suite runs on it, behind a feature; the contract itself does not need it.
        known_by: &[
            "store",
            "store-redb",
            "store-postgres",
            "engine",
            "egress-guard",
            "tools",
            "adapters",
            "xxl",
            "server",
            "client",
            "bench",
            "kurrentdb",
            "ordo",
            "sim",
        ],
        why: "the rules neither wait nor spawn",
    },
    GuardedCrate {
        name: "kurrentdb",
        known_by: &["kurrentdb"],
        why: "a binary without the feature is built without it",
    },
    GuardedCrate {
        name: "rustls",
        known_by: &["tls", "client", "store-postgres"],
        why: "one crate chooses the cryptography; the others read its errors and speak TLS inside another protocol",
    },
    GuardedCrate { name: "anyhow", known_by: &["bench", "ordo", "sim", "xtask"], why: "a library's errors are types" },
];

pub(super) fn of(folder: &str) -> Option<&'static CrateRule> {
    RULES.iter().find(|rule| rule.folder == folder)
}

const fn rule(
    folder: &'static str,
    may_know: &'static [&'static str],
    tests_may_know: &'static [&'static str],
) -> CrateRule {
    CrateRule { folder, may_know, tests_may_know }
}
