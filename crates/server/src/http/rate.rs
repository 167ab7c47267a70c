//! Shares of requests: so many in a minute for each token, each hook, each address that tries to log in.
//!
//! Invariant: a share is a bucket that fills evenly. A bounded number of them is kept: one that is full again is
//! forgotten, and while all places are taken newcomers have one share together rather than push out those that are limited.
//! Nothing that a stranger can make up is the name of a share: hooks and tokens are there before they have one.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use ordo_api::Code;
use ordo_engine::clock::Stopwatch;
use ordo_model::Millis;
use uuid::Uuid;

use crate::http::problem::Problem;

const WINDOW: Millis = Millis::from_secs(60);
/// How many shares are kept of each kind.
const BUCKETS_MAX: usize = 10_000;
/// How often those that are full again are looked for while all places are taken.
const SWEEP_EVERY: Millis = Millis::from_secs(1);
/// Attempts to log in without success, from one address in a minute.
const LOGINS_PER_MINUTE: u32 = 20;

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// How large the shares are; 0 is without a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimits {
    pub requests_per_minute: u32,
    pub hook_requests_per_minute: u32,
}

impl Default for RateLimits {
    fn default() -> RateLimits {
        RateLimits { requests_per_minute: 6_000, hook_requests_per_minute: 600 }
    }
}

/// All shares of one server.
#[derive(Debug)]
pub(crate) struct Rates {
    since: Stopwatch,
    tokens: Limiter<Uuid>,
    hooks: Limiter<String>,
    logins: Limiter<IpAddr>,
}

impl Rates {
    pub(crate) fn new(limits: RateLimits) -> Rates {
        Rates {
            since: Stopwatch::start(),
            tokens: Limiter::new("token", limits.requests_per_minute),
            hooks: Limiter::new("hook", limits.hook_requests_per_minute),
            logins: Limiter::new("login", LOGINS_PER_MINUTE),
        }
    }

    pub(crate) fn of_token(&self, token: Uuid) -> Option<Allowance> {
        self.tokens.take(token, self.since.elapsed())
    }

    pub(crate) fn of_hook(&self, slug: &str) -> Option<Allowance> {
        self.hooks.take(slug.to_owned(), self.since.elapsed())
    }

    /// How a wrong token counts.
    pub(crate) fn of_login(&self, address: IpAddr) -> Option<Allowance> {
        self.logins.take(network(address), self.since.elapsed())
    }

    /// Whoever had a token was not guessing.
    pub(crate) fn logged_in(&self, address: IpAddr) {
        self.logins.give_back(&network(address));
    }
}

/// Whoever has one address of IPv6 has 2^64 of them.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => std::net::Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    }
}

/// What is left of a share after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Allowance {
    name: &'static str,
    per_minute: u32,
    left: u32,
    /// Until the share is whole again.
    full_in: Millis,
    /// There was nothing left; the next request is taken after this.
    wait: Option<Millis>,
}

impl Allowance {
    /// The refusal, if there was nothing left.
    pub(crate) fn refusal(&self) -> Option<Response> {
        let wait = seconds(self.wait?);
        let detail = format!("more than {} requests in a minute: try again in {wait}s", self.per_minute);
        let mut response = Problem::new(Code::RateLimited, detail).into_response();
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(wait));
        self.write_to(response.headers_mut());
        Some(response)
    }

    /// Sets the headers with what the client has left, as in the IETF's draft on RateLimit headers.
    pub(crate) fn write_to(&self, headers: &mut HeaderMap) {
        let Allowance { name, per_minute, left, full_in, .. } = self;
        let policy = format!("\"{name}\";q={per_minute};w={}", WINDOW.ms() / 1_000);
        let state = format!("\"{name}\";r={left};t={}", seconds(*full_in));
        for (header, text) in [(RATE_LIMIT_POLICY, policy), (RATE_LIMIT, state)] {
            if let Ok(value) = HeaderValue::try_from(text) {
                headers.insert(header, value);
            }
        }
    }
}

fn seconds(time: Millis) -> u64 {
    time.ms().div_ceil(1_000)
}

#[derive(Debug)]
struct Limiter<K> {
    name: &'static str,
    per_minute: u32,
    buckets: Mutex<Buckets<K>>,
}

#[derive(Debug)]
struct Buckets<K> {
    map: HashMap<K, Bucket>,
    /// Of all for whom there was no place.
    rest: Bucket,
    swept_at: Millis,
}

/// One request is worth the window in milliseconds; every millisecond adds `per_minute`.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    filled: u64,
    at: Millis,
}

impl<K: Hash + Eq> Limiter<K> {
    fn new(name: &'static str, per_minute: u32) -> Limiter<K> {
        let rest = Bucket { filled: u64::from(per_minute) * WINDOW.ms(), at: Millis::ZERO };
        let buckets = Buckets { map: HashMap::new(), rest, swept_at: Millis::ZERO };
        Limiter { name, per_minute, buckets: Mutex::new(buckets) }
    }

    /// Takes one request from a share; nothing when there is no limit.
    fn take(&self, key: K, now: Millis) -> Option<Allowance> {
        if self.per_minute == 0 {
            return None;
        }
        let mut guard = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let Buckets { map, rest, swept_at } = &mut *guard;
        if map.len() >= BUCKETS_MAX && !map.contains_key(&key) {
            if now.ms().saturating_sub(swept_at.ms()) >= SWEEP_EVERY.ms() {
                *swept_at = now;
                map.retain(|_, bucket| self.filled(*bucket, now) < self.whole());
            }
            if map.len() >= BUCKETS_MAX {
                return Some(self.take_from(rest, now));
            }
        }
        Some(self.take_from(map.entry(key).or_insert(Bucket { filled: self.whole(), at: now }), now))
    }

    fn take_from(&self, bucket: &mut Bucket, now: Millis) -> Allowance {
        bucket.filled = self.filled(*bucket, now);
        bucket.at = now;
        let has_one = bucket.filled >= WINDOW.ms();
        if has_one {
            bucket.filled -= WINDOW.ms();
        }
        self.allowance(bucket.filled, has_one)
    }

    /// The last request of this share does not count.
    fn give_back(&self, key: &K) {
        let mut guard = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = guard.map.get_mut(key) {
            bucket.filled = bucket.filled.saturating_add(WINDOW.ms()).min(self.whole());
        }
    }

    fn whole(&self) -> u64 {
        u64::from(self.per_minute) * WINDOW.ms()
    }

    fn filled(&self, bucket: Bucket, now: Millis) -> u64 {
        let gained = now.ms().saturating_sub(bucket.at.ms()).saturating_mul(self.per_minute.into());
        bucket.filled.saturating_add(gained).min(self.whole())
    }

    fn allowance(&self, filled: u64, has_one: bool) -> Allowance {
        let until = |wanted: u64| Millis::from_ms(wanted.saturating_sub(filled).div_ceil(self.per_minute.into()));
        Allowance {
            name: self.name,
            per_minute: self.per_minute,
            left: u32::try_from(filled / WINDOW.ms()).unwrap_or(u32::MAX),
            full_in: until(self.whole()),
            wait: (!has_one).then(|| until(WINDOW.ms())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Millis {
        Millis::from_ms(ms)
    }

    #[test]
    fn a_share_is_used_up_and_fills_again_evenly() {
        let limiter = Limiter::new("token", 60);
        for n in 0..60 {
            let allowance = limiter.take("a", at(0)).unwrap();
            assert_eq!((allowance.left, allowance.wait), (59 - n, None));
        }
        let refused = limiter.take("a", at(0)).unwrap();
        assert_eq!((refused.wait, refused.full_in), (Some(at(1_000)), at(60_000)));
        assert_eq!(limiter.take("a", at(999)).unwrap().wait, Some(at(1)));
        assert_eq!(limiter.take("a", at(1_000)).unwrap().wait, None);
        assert_eq!(limiter.take("b", at(1_000)).unwrap().left, 59, "others have their own");
        assert_eq!(limiter.take("a", at(3_600_000)).unwrap().left, 59, "it never holds more than a whole share");
    }

    #[test]
    fn what_was_given_back_does_not_count() {
        let limiter = Limiter::new("login", 2);
        for _ in 0..10 {
            assert_eq!(limiter.take("a", at(0)).unwrap().wait, None);
            limiter.give_back(&"a");
        }
        assert_eq!(limiter.take("a", at(0)).unwrap().left, 1);
    }

    #[test]
    fn zero_is_without_a_limit() {
        assert_eq!(Limiter::new("token", 0).take("a", at(0)), None);
    }

    #[test]
    fn the_memory_is_bounded_and_newcomers_push_nobody_out() {
        let limiter = Limiter::new("login", 1);
        for n in 0..=BUCKETS_MAX {
            assert_eq!(limiter.take(n, at(0)).unwrap().wait, None);
        }
        assert!(limiter.take(BUCKETS_MAX + 1, at(0)).unwrap().wait.is_some(), "newcomers share");
        let count = || limiter.buckets.lock().unwrap().map.len();
        assert_eq!(count(), BUCKETS_MAX);
        assert!(limiter.take(0, at(0)).unwrap().wait.is_some(), "whoever used up a share stays limited");
        limiter.take(usize::MAX, at(120_000));
        assert_eq!(count(), 1, "what is full again is forgotten");
    }

    #[test]
    fn the_headers_are_those_of_the_draft() {
        let limiter = Limiter::new("token", 60);
        let mut headers = HeaderMap::new();
        limiter.take("a", at(0)).unwrap().write_to(&mut headers);
        assert_eq!(headers["ratelimit-policy"], "\"token\";q=60;w=60");
        assert_eq!(headers["ratelimit"], "\"token\";r=59;t=1");
    }

    #[test]
    fn addresses_of_one_network_share() {
        let of = |text: &str| network(text.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
    }
}
