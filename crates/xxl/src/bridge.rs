//! What XXL-JOB's admin does for executors: takes their registrations and hears how runs ended.
//!
//! Invariant: nobody is listened to without the token of the group, compared in constant time, and nobody who is not in a
//! group of the configuration. What an executor says of a run counts only if its group has that run.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ordo_egress_guard::{Guard, Guarded};
use ordo_engine::Engine;
use ordo_engine::executors::ListedExecutor;
use ordo_model::executor::{Executor, Offer, Speaker};
use ordo_model::{Actor, ActorSource};
use ordo_store::Fault;
use subtle::ConstantTimeEq;
use tokio::task::JoinSet;

use crate::client::ExecutorClient;
use crate::held::XxlAttempt;
use crate::input::TOOL;
use crate::link::ExecutorLink;
use crate::options::{XxlGroup, XxlOptions};
use crate::wire::{CallbackParam, RegistryParam, XxlAnswer};

/// How an executor is marked that is here on behalf of one of XXL-JOB.
const MARK: &str = "xxl-job";
const ALLOW: &str = "xxl.groups.NAME.allow";

/// A clone is the same one; when the last is dropped, executors are left alone.
#[derive(Debug, Clone)]
pub struct Bridge {
    shared: Arc<BridgeState>,
}

#[derive(Debug)]
struct BridgeState {
    engine: Engine,
    groups: BTreeMap<String, BridgedGroup>,
    links: Mutex<ExecutorLinks>,
}

#[derive(Debug)]
struct BridgedGroup {
    token: String,
    capacity: u32,
    guarded: Guarded,
}

/// Executors by group and address.
#[derive(Debug, Default)]
struct ExecutorLinks {
    by_address: HashMap<(String, String), Arc<ExecutorLink>>,
    /// Those that are about to be registered.
    coming: BTreeSet<(String, String)>,
    serving: JoinSet<()>,
}

/// Whether a bridge registered it, here or on another node. Whoever registers with a token owns the executor, whatever it
/// says of itself: it must not be called, and shown the token of a group, at an address that it calls its name.
fn is_bridged(executor: &Executor) -> bool {
    executor.offer.version.as_deref() == Some(MARK) && executor.owner.is_none() && executor.is_there()
}

impl BridgedGroup {
    fn of(group: &XxlGroup) -> BridgedGroup {
        let guarded = Guarded::new(Guard::new(ALLOW, group.allow.clone()));
        BridgedGroup { token: group.access_token.clone(), capacity: group.capacity, guarded }
    }

    fn admits(&self, token: &str) -> bool {
        self.token.as_bytes().ct_eq(token.as_bytes()).into()
    }

    fn client(&self, address: &str) -> Result<ExecutorClient, String> {
        ExecutorClient::new(self.guarded.clone(), self.token.clone(), address).map_err(|error| error.to_string())
    }
}

impl Bridge {
    /// Goes on with the executors that were there when this server was stopped. None: the configuration has no group.
    pub async fn start(engine: &Engine, options: &XxlOptions) -> Result<Option<Bridge>, Fault> {
        if options.groups.is_empty() {
            return Ok(None);
        }
        let engine = engine.signed_by(&Actor::new(MARK, ActorSource::Executor));
        let groups = options.groups.iter().map(|(name, group)| (name.clone(), BridgedGroup::of(group))).collect();
        let bridge = Bridge { shared: Arc::new(BridgeState { engine, groups, links: Mutex::default() }) };
        for listed in bridge.shared.engine.executors().await?.into_iter().filter(|one| bridge.is_own(one)) {
            bridge.resume(&listed).await?;
        }
        Ok(Some(bridge))
    }

    fn is_own(&self, listed: &ListedExecutor) -> bool {
        is_bridged(&listed.executor) && listed.executor.node == self.shared.engine.me().executor
    }

    async fn resume(&self, listed: &ListedExecutor) -> Result<(), Fault> {
        let Offer { name: address, group, .. } = &listed.executor.offer;
        let engine = &self.shared.engine;
        let client = self.shared.groups.get(group).map(|served| served.client(address));
        let Some(Ok(client)) = client else {
            tracing::warn!(group, address, "an executor of XXL-JOB is no longer served: the configuration has changed");
            let _ = engine.leave(Speaker::Admin, listed.id).await;
            return Ok(());
        };
        let link = ExecutorLink::new(engine.clone(), listed.id, group, address, client);
        for attempt in engine.held_by(listed.id) {
            if let Some(run) = XxlAttempt::restored(engine, &attempt).await? {
                link.hold(run);
            }
        }
        self.serve(link);
        Ok(())
    }

    fn serve(&self, link: ExecutorLink) {
        let link = Arc::new(link);
        let mut links = self.lock();
        while links.serving.try_join_next().is_some() {}
        links.by_address.retain(|_, link| !link.is_over());
        let key = (link.group.clone(), link.address.clone());
        links.coming.remove(&key);
        links.by_address.insert(key, link.clone());
        links.serving.spawn(link.serve());
    }

    fn lock(&self) -> MutexGuard<'_, ExecutorLinks> {
        self.shared.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn group_of(&self, token: Option<&str>, param: &RegistryParam) -> Result<&BridgedGroup, XxlAnswer> {
        let group = self.shared.groups.get(&param.registry_key);
        let admitted = group.filter(|group| token.is_some_and(|token| group.admits(token)));
        // Which groups there are is nobody's business.
        admitted.ok_or_else(|| XxlAnswer::refused("The access token is wrong, or the group is not served here."))
    }

    /// `/xxl-job-admin/api/registry`: an executor says that it is there.
    pub async fn registry(&self, token: Option<&str>, body: &[u8]) -> XxlAnswer {
        let param: RegistryParam = match serde_json::from_slice(body) {
            Ok(param) => param,
            Err(error) => return XxlAnswer::refused(format!("unreadable: {error}")),
        };
        let group = match self.group_of(token, &param) {
            Ok(group) => group,
            Err(refusal) => return refusal,
        };
        let address = param.registry_value.trim().trim_end_matches('/').to_owned();
        let client = match group.client(&address) {
            Ok(client) => client,
            Err(why) => return XxlAnswer::refused(why),
        };
        if self.is_known((param.registry_key.clone(), address.clone())) {
            return XxlAnswer::success();
        }
        let key = (param.registry_key, address);
        let capacity = group.capacity;
        // Whoever hangs up meanwhile has registered all the same: half of it would leave an executor that nobody serves.
        let enlisting = tokio::spawn(self.clone().enlist_for(key, capacity, client));
        enlisting.await.unwrap_or_else(|error| XxlAnswer::refused(error.to_string()))
    }

    async fn enlist_for(self, key: (String, String), capacity: u32, client: ExecutorClient) -> XxlAnswer {
        let answer = match self.enlist(&key, capacity, client).await {
            Ok(()) => XxlAnswer::success(),
            Err(why) => {
                tracing::warn!(group = key.0, address = key.1, why, "an executor of XXL-JOB could not be registered");
                XxlAnswer::refused(why)
            }
        };
        self.lock().coming.remove(&key);
        answer
    }

    /// Whether it is served already, or about to be; if it is not, it is about to be from now on.
    fn is_known(&self, key: (String, String)) -> bool {
        let mut links = self.lock();
        match links.by_address.get(&key).filter(|link| !link.is_over()) {
            Some(link) => {
                link.announce();
                true
            }
            None => !links.coming.insert(key),
        }
    }

    async fn enlist(&self, key: &(String, String), capacity: u32, client: ExecutorClient) -> Result<(), String> {
        let engine = &self.shared.engine;
        let known = engine.executors().await.map_err(|fault| fault.to_string())?;
        let is_elsewhere = |one: &ListedExecutor| {
            let executor = &one.executor;
            (&executor.offer.group, &executor.offer.name) == (&key.0, &key.1)
                && is_bridged(executor)
                && executor.node != engine.me().executor
        };
        // Another node of the cluster speaks for it.
        if known.iter().any(is_elsewhere) {
            return Ok(());
        }
        let offer = Offer {
            name: key.1.clone(),
            group: key.0.clone(),
            tools: BTreeSet::from([TOOL.to_owned()]),
            capacity,
            version: Some(MARK.to_owned()),
        };
        let id = engine.register_executor(offer, None).await.map_err(|error| error.to_string())?;
        tracing::info!(group = key.0, address = key.1, "an executor of XXL-JOB is there");
        self.serve(ExecutorLink::new(engine.clone(), id, &key.0, &key.1, client));
        Ok(())
    }

    /// `/xxl-job-admin/api/registryRemove`: an executor goes.
    pub async fn registry_remove(&self, token: Option<&str>, body: &[u8]) -> XxlAnswer {
        let param: RegistryParam = match serde_json::from_slice(body) {
            Ok(param) => param,
            Err(error) => return XxlAnswer::refused(format!("unreadable: {error}")),
        };
        if let Err(refusal) = self.group_of(token, &param) {
            return refusal;
        }
        let address = param.registry_value.trim().trim_end_matches('/').to_owned();
        let found = self.lock().by_address.get(&(param.registry_key, address)).cloned();
        if let Some(link) = found {
            link.leave().await;
        }
        XxlAnswer::success()
    }

    /// `/xxl-job-admin/api/callback`: an executor says how runs ended.
    pub async fn callback(&self, token: Option<&str>, body: &[u8]) -> XxlAnswer {
        let token = token.unwrap_or_default();
        let admitted: BTreeSet<&str> =
            self.shared.groups.iter().filter(|(_, group)| group.admits(token)).map(|(name, _)| name.as_str()).collect();
        if admitted.is_empty() {
            return XxlAnswer::refused("The access token is wrong.");
        }
        let ended: Vec<CallbackParam> = match serde_json::from_slice(body) {
            Ok(ended) => ended,
            Err(error) => return XxlAnswer::refused(format!("unreadable: {error}")),
        };
        for one in ended {
            let number = one.log_id;
            let links: Vec<Arc<ExecutorLink>> = self.lock().by_address.values().cloned().collect();
            let mut groups = links.iter().filter(|link| admitted.contains(link.group.as_str()));
            let Some((link, run)) = groups.find_map(|link| Some((link, link.find(number)?))) else {
                // Its end is known: it was reported before, or settled without it.
                tracing::debug!(number, "an executor of XXL-JOB called back about a run that is over");
                continue;
            };
            let (code, said) = one.ended();
            if let Err(error) = link.finish(&run, code, said).await {
                return XxlAnswer::refused(format!("it could not be kept, say it again: {error}"));
            }
        }
        XxlAnswer::success()
    }
}
