//! Waiting until a run's Packs can serve (book: Waiting for Packs and taking the snapshot).

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::{FutureExt, StreamExt, stream::FuturesUnordered};

use super::pick::{Picked, Supply};
use crate::RunControl;

/// Waits until every Pack is ready or the run is cancelled. What is not ready by then is unavailable to this run.
pub(crate) async fn wait(picked: &mut [Picked], control: &RunControl) {
    let mut waiting: Vec<Option<String>> = vec![None; picked.len()];
    let mut checks = FuturesUnordered::new();
    for (place, pick) in picked.iter().enumerate() {
        if let Supply::Pack(pack) = &pick.supply {
            waiting[place] = Some("it was still starting when the run was cancelled".to_owned());
            let pack = Arc::clone(pack);
            checks.push(async move { (place, AssertUnwindSafe(pack.ready()).catch_unwind().await) });
        }
    }
    loop {
        tokio::select! {
            // A Pack that is ready when the cancel comes is taken as ready.
            biased;
            check = checks.next() => match check {
                None => break,
                Some((place, Ok(Ok(())))) => waiting[place] = None,
                Some((place, Ok(Err(error)))) => waiting[place] = Some(error.to_string()),
                Some((place, Err(_))) => waiting[place] = Some("its readiness check stopped unexpectedly".to_owned()),
            },
            () = control.cancelled() => break,
        }
    }
    for (pick, reason) in picked.iter_mut().zip(waiting) {
        if let Some(reason) = reason {
            tracing::warn!(pack = %pick.name, error = %reason, "Pack will not be ready; this run treats it as unavailable");
            pick.supply = Supply::Unavailable(reason);
        }
    }
}
