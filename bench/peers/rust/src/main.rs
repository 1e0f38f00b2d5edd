// The kube-rs side of bench/peers. bench/peers/README.md says what the modes and the lines mean.
mod memcached;

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use futures::channel::mpsc;
use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::controller::Action;
use kube::runtime::{Controller, WatchStreamExt, reflector, watcher};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};

const SENT_ANNOTATION: &str = "bench.kopper.dev/sent";

static EVENTS: AtomicI64 = AtomicI64::new(0);
static RECONCILES: AtomicI64 = AtomicI64::new(0);
static LATENCIES: LazyLock<Mutex<Latencies>> = LazyLock::new(Default::default);

#[derive(Default)]
struct Latencies {
    since: i64,
    values: Vec<i64>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let client = Client::try_default().await?;
    match arguments.first().map(String::as_str) {
        Some("cache") => run_cache(client, arguments.iter().any(|a| a == "--strip")).await,
        Some("controller") => run_controller(client).await,
        Some("operator") => memcached::run(client).await,
        _ => bail!("usage: rust-peer cache [--strip] | controller | operator"),
    }
}

async fn run_cache(client: Client, strip: bool) -> Result<()> {
    let (reader, writer) = reflector::store();
    let pods = watcher(Api::<Pod>::all(client), watcher::Config::default()).default_backoff();
    let pods = if strip {
        pods.modify(|pod| pod.managed_fields_mut().clear()).boxed()
    } else {
        pods.boxed()
    };
    tokio::spawn(pods.reflect(writer).touched_objects().for_each(|_| async {
        EVENTS.fetch_add(1, Relaxed);
    }));
    reader.wait_until_ready().await?;
    say("synced", json!({}));
    serve(None).await
}

async fn run_controller(client: Client) -> Result<()> {
    let (again, asked) = mpsc::unbounded();
    let controller = Controller::new(Api::<Pod>::all(client), watcher::Config::default()).reconcile_all_on(asked);
    let store = controller.store();
    tokio::spawn(controller.run(reconcile_pod, |_, _, _| Action::requeue(Duration::from_secs(5)), Arc::new(()))
        .for_each(|_| async {}));
    first_reconcile().await;
    say("synced", json!({}));
    serve(Some((store, again))).await
}

// Not Store::wait_until_ready(): it wakes only the last of several who wait, and the controller is one of them.
async fn first_reconcile() {
    while RECONCILES.load(Relaxed) == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn reconcile_pod(pod: Arc<Pod>, _: Arc<()>) -> Result<Action, std::convert::Infallible> {
    let now = now();
    RECONCILES.fetch_add(1, Relaxed);
    if let Some(sent) = pod.annotations().get(SENT_ANNOTATION).and_then(|text| text.parse::<i64>().ok()) {
        let mut latencies = LATENCIES.lock().unwrap();
        if sent > latencies.since {
            latencies.values.push(now - sent);
        }
    }
    Ok(Action::await_change())
}

type Again = (reflector::Store<Pod>, mpsc::UnboundedSender<()>);

// Asks for each pod once a round, and waits until all have been reconciled.
async fn storm((store, again): &Again, rounds: i64) -> Result<()> {
    let pods = store.len() as i64;
    let (before, begin) = (RECONCILES.load(Relaxed), Instant::now());
    for round in 1..=rounds {
        again.unbounded_send(())?;
        while RECONCILES.load(Relaxed) < before + round * pods {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    let reconciles = RECONCILES.load(Relaxed) - before;
    say("storm", json!({"reconciles": reconciles, "seconds": begin.elapsed().as_secs_f64()}));
    Ok(())
}

// Obeys the driver until it closes our standard input.
async fn serve(again: Option<Again>) -> Result<()> {
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        match (line.split_once(' ').unwrap_or((&line, "")), &again) {
            (("mark", _), _) => mark(),
            (("storm", rounds), Some(again)) => storm(again, rounds.parse()?).await?,
            _ => bail!("no command {line:?}"),
        }
    }
    Ok(())
}

fn mark() {
    let mut values = {
        let mut latencies = LATENCIES.lock().unwrap();
        latencies.since = now();
        std::mem::take(&mut latencies.values)
    };
    values.sort_unstable();
    let quantile = |percent: usize| match values.len() {
        0 => 0.0,
        n => values[(n * percent / 100).min(n - 1)] as f64 / 1e3,
    };
    say("mark", json!({"latencies": values.len(), "p50_us": quantile(50), "p99_us": quantile(99)}));
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64
}

// One line of JSON for the driver: what happened, and what it has cost until now.
fn say(what: &str, more: Value) {
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    let mut line = json!({
        "what": what,
        "cpu": seconds(usage.ru_utime) + seconds(usage.ru_stime),
        "events": EVENTS.load(Relaxed),
        "reconciles": RECONCILES.load(Relaxed),
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        line[key] = value.clone();
    }
    println!("{line}");
}
