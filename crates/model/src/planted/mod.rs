//! Bugs that are planted on purpose, to prove that the simulators find them. Only with the feature `planted-bugs`, which
//! nothing shipped has; without it the macros below leave nothing behind.
//!
//! Invariant: at most one bug is planted at a time, in the whole process. A bug that the simulators do not find within the
//! stated number of seeds is a finding about the simulators.

#[cfg(feature = "planted-bugs")]
use std::sync::atomic::{AtomicUsize, Ordering};

/// What is planted where a seam names the bug: `planted!(Bug, statements)`.
#[cfg(feature = "planted-bugs")]
#[macro_export]
macro_rules! planted {
    ($bug:ident, $($bad:tt)*) => {
        if $crate::planted::is_planted($crate::planted::Bug::$bug) {
            $($bad)*
        }
    };
}

#[cfg(not(feature = "planted-bugs"))]
#[macro_export]
macro_rules! planted {
    ($($bad:tt)*) => {};
}

/// Whether the bug is planted, as a value.
#[cfg(feature = "planted-bugs")]
#[macro_export]
macro_rules! is_planted {
    ($bug:ident) => {
        $crate::planted::is_planted($crate::planted::Bug::$bug)
    };
}

#[cfg(not(feature = "planted-bugs"))]
#[macro_export]
macro_rules! is_planted {
    ($bug:ident) => {
        false
    };
}

#[cfg(feature = "planted-bugs")]
macro_rules! bugs {
    ($($name:ident: $seeds:literal, $why:literal;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Bug {
            $($name,)*
        }

        impl Bug {
            pub const ALL: &'static [Bug] = &[$(Bug::$name,)*];

            pub const fn name(self) -> &'static str {
                match self {
                    $(Bug::$name => stringify!($name),)*
                }
            }

            /// What is wrong, and where such a bug comes from.
            pub const fn why(self) -> &'static str {
                match self {
                    $(Bug::$name => $why,)*
                }
            }

            /// Within how many seeds it must be found.
            pub const fn seeds(self) -> u64 {
                match self {
                    $(Bug::$name => $seeds,)*
                }
            }
        }
    };
}

#[cfg(feature = "planted-bugs")]
bugs! {
    EarlyBySecond: 100, "whoever wakes a job for another reason fires what is due within the next second";
    DstDoubled: 600, "an hour that the clock shows twice runs a daily job twice";
    StaleFenceAccepted: 300, "the report of an attempt that was given up ends the attempt that followed it";
    RetryCountedTwice: 40, "every failed try counts as two";
    BackoffForgotten: 40, "a failed run is tried again at once";
    OverlapIgnored: 100, "a job starts one run more beside others than its block strategy allows";
    WallClockTimeout: 300, "timeouts and backoffs stay where the wall clock was when somebody set it";
    BroadcastShardLost: 200, "a broadcast run leaves out one of its executors";
    MonitorPingForgotten: 100, "a sign of life does not put off when the next one is expected";
    AckBeforeSync: 300, "a commit is acknowledged before its record is on the disk";
    CheckpointRunsAhead: 300, "redb says that it holds all records, while rows of some of them still wait for it";
    FrozenOutOfOrder: 300, "of the overlays that wait for redb the newest is taken first";
    RecoveredRowsLost: 300, "a recovery drops what it should leave to be taken later";
    RecordSkipped: 300, "the last record of the journal is left out when it is replayed";
    DedupForgotten: 300, "the key under which something must not happen twice is not stored";
    AlarmForgotten: 40, "the alarm of an object is not stored with it";
    ConflictIgnored: 300, "a writer that lost to another node believes that it won";
    IncidentOpenedTwice: 150, "trouble opens a new incident beside the one that is open";
    OutboxEntryLost: 60, "of several pieces of news handed on together the first is left out";
    PublishedTooEarly: 600, "news count as handed on before the notifications are written";
    NotificationOutOfTurn: 200, "a notification does not wait for those before it about the same incident";
    GivenUpEarly: 150, "a notification is dead-lettered at its first failure";
    LeaseNotRenewed: 60, "heartbeats do not renew the leases of the runs that they name";
    LeaseRenewedToNow: 200, "a node renews its leases on partitions until now, not until some time from now";
    ExecutorNotHeard: 150, "heartbeats and polls do not count as signs of life";
    DeliveryClaimChanges: 600, "the key of a delivery's run is another one at every try";
    SlotLeaked: 600, "the slot of an attempt whose commit was lost is not given back";
    WakeLost: 300, "a job whose wake could not be committed is not woken again";
    OrphansForgotten: 150, "what a process that died was running is not settled by the next one";
    RetentionEatsKeptRun: 200, "one run more is forgotten than the retention of the job says";
}

/// One more than the place of the bug that is planted; 0: none is.
#[cfg(feature = "planted-bugs")]
static PLANTED: AtomicUsize = AtomicUsize::new(0);

/// From here on this bug is planted in the whole process.
#[cfg(feature = "planted-bugs")]
pub fn plant(bug: Option<Bug>) {
    PLANTED.store(bug.map_or(0, |bug| bug as usize + 1), Ordering::Relaxed);
}

#[cfg(feature = "planted-bugs")]
pub fn is_planted(bug: Bug) -> bool {
    PLANTED.load(Ordering::Relaxed) == bug as usize + 1
}
