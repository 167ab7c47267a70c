//! Names of things: entities, runs, fencing tokens.
//!
//! Invariant: a run's id follows from its job, its number and its time, so a decision needs no chance
//! and the same decision made twice names the same run.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::limits::FENCING_TOKEN_MAX;
use crate::time::Timestamp;

macro_rules! uuid_name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(text: &str) -> Result<Self, uuid::Error> {
                text.parse().map($name)
            }
        }
    };
}

uuid_name!(
    /// A job.
    JobId
);
uuid_name!(
    /// A run of a job. Sorts by the time it was fired.
    RunId
);

impl RunId {
    /// The id of the job's `number`-th run, fired at `at`: a version 7 UUID whose random part is a hash of job and number.
    pub fn derive(job: JobId, number: u64, at: Timestamp) -> RunId {
        let (high, low) = job.0.as_u64_pair();
        let a = mix(high ^ mix(low ^ number));
        let b = mix(low.wrapping_add(a) ^ number.rotate_left(32));
        let mut bytes = [0u8; 16];
        bytes[..6].copy_from_slice(&at.ms().to_be_bytes()[2..]);
        bytes[6..8].copy_from_slice(&a.to_be_bytes()[..2]);
        bytes[8..].copy_from_slice(&b.to_be_bytes());
        bytes[6] = 0x70 | (bytes[6] & 0x0f);
        bytes[8] = 0x80 | (bytes[8] & 0x3f);
        RunId(Uuid::from_bytes(bytes))
    }

    /// Whether it is the id of the job's `number`-th run.
    pub fn is_of(self, job: JobId, number: u64) -> bool {
        self.0.as_u64_pair().1 == RunId::derive(job, number, Timestamp::MIN).0.as_u64_pair().1
    }
}

/// The finalizer of splitmix64.
pub fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A fencing token: grows with every attempt of a job, so a report from an older attempt is recognised; by how much
/// nobody knows but who began the attempt, so a report by somebody else is recognised too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = FencingToken))]
pub struct FencingToken(pub u64);

/// One step of a fencing token takes at most this part of what is left of the numbers: 2^31 at first, and never all.
const STEP_SHIFT: u32 = 22;

impl FencingToken {
    /// The token of the next attempt. `draw` is chance.
    #[must_use]
    pub fn next(self, draw: u64) -> FencingToken {
        let left = FENCING_TOKEN_MAX.saturating_sub(self.0);
        let widest = (left >> STEP_SHIFT).max(1);
        FencingToken(self.0.saturating_add(1 + draw % widest))
    }
}

/// One generation of one executor process: attempts belong to it and die with it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Incarnation {
    pub executor: String,
    /// `life` in events of format 1.
    #[serde(alias = "life")]
    pub generation: Uuid,
}

/// What kind of thing has a stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    Job,
    Incident,
    Hook,
    /// One call of a hook.
    Delivery,
    ApiToken,
    Secret,
    Executor,
    Subscription,
    Monitor,
    Notification,
    Silence,
    /// Somebody came in through the login page, or was turned away.
    Login,
    EscalationChain,
    /// What notifications go out through, kept in the store.
    Channel,
}

/// What a stream of events belongs to. Its stream is called `ordo-job-<uuid>`, `ordo-hook-<uuid>` and so on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EntityId {
    pub kind: Kind,
    pub id: Uuid,
}

impl Kind {
    pub const ALL: [Kind; 14] = [
        Kind::Job,
        Kind::Incident,
        Kind::Hook,
        Kind::Delivery,
        Kind::ApiToken,
        Kind::Secret,
        Kind::Executor,
        Kind::Monitor,
        Kind::Subscription,
        Kind::Notification,
        Kind::Silence,
        Kind::Login,
        Kind::EscalationChain,
        Kind::Channel,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Kind::Job => "job",
            Kind::Incident => "incident",
            Kind::Hook => "hook",
            Kind::Delivery => "delivery",
            Kind::ApiToken => "token",
            Kind::Secret => "secret",
            Kind::Executor => "executor",
            Kind::Subscription => "subscription",
            Kind::Monitor => "monitor",
            Kind::Notification => "notification",
            Kind::Silence => "silence",
            Kind::Login => "login",
            Kind::EscalationChain => "escalation",
            Kind::Channel => "channel",
        }
    }

    /// How the kind is written in a store; never changes for a released kind.
    pub const fn code(self) -> u8 {
        match self {
            Kind::Job => 1,
            Kind::Incident => 2,
            Kind::Hook => 3,
            Kind::Delivery => 4,
            Kind::ApiToken => 5,
            Kind::Secret => 6,
            Kind::Executor => 7,
            Kind::Subscription => 9,
            Kind::Monitor => 8,
            Kind::Notification => 10,
            Kind::Silence => 11,
            Kind::Login => 12,
            Kind::EscalationChain => 13,
            Kind::Channel => 14,
        }
    }

    pub fn from_code(code: u8) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.code() == code)
    }
}

impl EntityId {
    /// The one entity of a kind that bears this name: its id is a version 5 UUID of both. Names that are unique need
    /// no look-up, and two writers of one name meet in one stream.
    pub fn named(kind: Kind, name: &str) -> EntityId {
        let namespace = Uuid::from_u128(0x0d50_0000_0000_8000_8000_0000_0000_0000 | u128::from(kind.code()));
        EntityId { kind, id: Uuid::new_v5(&namespace, name.as_bytes()) }
    }
}

impl From<JobId> for EntityId {
    fn from(job: JobId) -> EntityId {
        EntityId { kind: Kind::Job, id: job.0 }
    }
}

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ordo-{}-{}", self.kind.name(), self.id)
    }
}

impl FromStr for EntityId {
    type Err = NotAStream;

    fn from_str(text: &str) -> Result<EntityId, NotAStream> {
        let rest = text.strip_prefix("ordo-").ok_or(NotAStream)?;
        let (kind, id) = rest.split_once('-').ok_or(NotAStream)?;
        let kind = Kind::ALL.into_iter().find(|k| k.name() == kind).ok_or(NotAStream)?;
        Ok(EntityId { kind, id: id.parse().map_err(|_| NotAStream)? })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a stream name: write ordo-job-<uuid>")]
pub struct NotAStream;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_id_is_a_version_7_uuid_that_sorts_by_time() {
        let job = JobId(Uuid::from_u128(7));
        let early = RunId::derive(job, 1, Timestamp::from_ms(1_000).unwrap());
        let late = RunId::derive(job, 2, Timestamp::from_ms(2_000).unwrap());
        assert!(early < late);
        assert_eq!(early.0.get_version_num(), 7);
        assert_ne!(early, RunId::derive(job, 2, Timestamp::from_ms(1_000).unwrap()));
    }

    #[test]
    fn a_fencing_token_grows_by_what_nobody_can_guess() {
        let first: std::collections::BTreeSet<u64> = (0..1_000).map(|n| FencingToken(0).next(mix(n)).0).collect();
        assert!(first.len() > 990, "hardly two draws give the same");
        assert!(*first.last().unwrap() > 1 << 30);
        let mut token = FencingToken(0);
        for n in 0..1_000_000 {
            let next = token.next(u64::MAX - n);
            assert!(next > token && next.0 < FENCING_TOKEN_MAX, "{next:?}");
            token = next;
        }
        assert_eq!(
            FencingToken(FENCING_TOKEN_MAX).next(7),
            FencingToken(FENCING_TOKEN_MAX + 1),
            "it goes on growing, whatever comes"
        );
    }

    #[test]
    fn a_name_has_one_entity_of_each_kind() {
        let secret = EntityId::named(Kind::Secret, "github");
        assert_eq!(secret, EntityId::named(Kind::Secret, "github"));
        assert_ne!(secret.id, EntityId::named(Kind::Secret, "githuc").id);
        assert_ne!(secret.id, EntityId::named(Kind::Job, "github").id);
        assert_eq!(secret.id.get_version_num(), 5);
    }

    #[test]
    fn a_stream_name_reads_back() {
        let entity = EntityId { kind: Kind::Job, id: Uuid::from_u128(42) };
        assert_eq!(entity.to_string().parse(), Ok(entity));
        assert!("ordo-pet-00000000-0000-0000-0000-00000000002a".parse::<EntityId>().is_err());
    }
}
