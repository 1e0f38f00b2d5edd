use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use anyhow::Result;
use futures::StreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::controller::Action;
use kube::runtime::{Controller, watcher};
use kube::{Client, CustomResource, Resource, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "cache.example.com", version = "v1alpha1", kind = "Memcached", namespaced)]
#[kube(status = "MemcachedStatus")]
struct MemcachedSpec {
    #[serde(default = "one")]
    size: i32,
    #[serde(default = "default_image")]
    image: String,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
struct MemcachedStatus {
    #[serde(default)]
    ready: i32,
}

fn one() -> i32 {
    1
}
fn default_image() -> String {
    "memcached:1.6-alpine".into()
}

fn desired(mc: &Memcached) -> serde_json::Value {
    let labels = json!({"app": "memcached", "instance": mc.name_any()});
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": mc.name_any(), "labels": labels, "ownerReferences": [mc.controller_owner_ref(&()).unwrap()]},
        "spec": {
            "replicas": mc.spec.size,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [
                    {"name": "memcached", "image": mc.spec.image, "ports": [{"containerPort": 11211}]}]},
            },
        },
    })
}

async fn reconcile(mc: Arc<Memcached>, client: Arc<Client>) -> Result<Action, kube::Error> {
    crate::RECONCILES.fetch_add(1, Relaxed);
    let (name, space) = (mc.name_any(), mc.namespace().unwrap());
    let deployments: Api<Deployment> = Api::namespaced((*client).clone(), &space);
    let live = deployments
        .patch(&name, &PatchParams::apply("memcached").force(), &Patch::Apply(desired(&mc)))
        .await?;
    let ready = live.status.and_then(|s| s.ready_replicas).unwrap_or(0);
    if mc.status.as_ref().map(|s| s.ready) != Some(ready) {
        let memcacheds: Api<Memcached> = Api::namespaced((*client).clone(), &space);
        let status = json!({"status": {"ready": ready}});
        memcacheds.patch_status(&name, &PatchParams::default(), &Patch::Merge(status)).await?;
    }
    Ok(Action::await_change())
}

pub async fn run(client: Client) -> Result<()> {
    let controller = Controller::new(Api::<Memcached>::all(client.clone()), watcher::Config::default())
        .owns(Api::<Deployment>::all(client.clone()), watcher::Config::default());
    tokio::spawn(
        controller
            .run(reconcile, |_, _, _| Action::requeue(Duration::from_secs(5)), Arc::new(client))
            .for_each(|_| async {}),
    );
    crate::first_reconcile().await;
    crate::say("synced", json!({}));
    crate::serve(None).await
}
