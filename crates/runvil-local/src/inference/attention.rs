//! Attention: each token looks at those before it and at itself.

use rayon::prelude::*;

use super::{
    failure::Failure,
    listener::Listener,
    past::LayerPast,
    product::{View, multiply},
};
use crate::architecture::Dimensions;

/// The fewest products that are worth a second thread.
const TASK_PRODUCTS: usize = 64 * 1024;

/// The heads of a layer.
pub(super) struct Heads {
    count: usize,
    /// The heads of keys and values, which groups of heads share.
    shared: usize,
    width: usize,
}

impl Heads {
    pub(super) fn of(sizes: &Dimensions) -> Self {
        Self {
            count: sizes.heads,
            shared: sizes.kv_heads,
            width: sizes.head_width,
        }
    }
}

/// What the heads see when the last tokens of the past ask their queries.
pub(super) fn look(
    heads: &Heads,
    queries: &[f32],
    past: &LayerPast,
    tokens: usize,
    listener: &Listener,
) -> Result<Vec<f32>, Failure> {
    let head_size = heads.width * tokens;
    let known = past.keys.len() / (heads.shared * heads.width);
    let mut seen = vec![0.0; queries.len()];
    seen.par_chunks_mut(head_size)
        .zip(queries.par_chunks(head_size))
        .enumerate()
        .with_min_len(TASK_PRODUCTS.div_ceil(known * head_size))
        .try_for_each_init(Vec::new, |scores, (head, (seen, queries))| {
            listener.check()?;
            let shared = head * heads.shared / heads.count;
            let view = |rows| of_head(rows, heads, shared, known);
            scores.resize(tokens * known, 0.0);
            multiply(
                View::rows(queries, tokens).transposed(),
                view(&past.keys).transposed(),
                scores,
            );
            let scale = 1.0 / (heads.width as f32).sqrt();
            for (token, scores) in scores.chunks_mut(known).enumerate() {
                weigh(scores, known - tokens + token + 1, scale);
            }
            multiply(
                view(&past.values).transposed(),
                View::rows(scores, known).transposed(),
                seen,
            );
            Ok::<_, Failure>(())
        })?;
    Ok(seen)
}

/// The numbers of one head in the rows of all heads.
fn of_head<'a>(rows: &'a [f32], heads: &Heads, head: usize, count: usize) -> View<'a> {
    View::spaced(
        &rows[head * heads.width..],
        count,
        heads.width,
        heads.shared * heads.width,
    )
}

/// Turns the scores of the first tokens into shares of one, and hides the others.
fn weigh(scores: &mut [f32], visible: usize, scale: f32) {
    let (visible, hidden) = scores.split_at_mut(visible);
    hidden.fill(0.0);
    let largest = visible.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut all = 0.0;
    for score in visible.iter_mut() {
        *score = ((*score - largest) * scale).exp();
        all += *score;
    }
    visible.iter_mut().for_each(|score| *score /= all);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_sees_those_before_it_and_itself() {
        let heads = Heads {
            count: 2,
            shared: 1,
            width: 2,
        };
        // All keys are alike, so each token sees the mean of the values that it may see.
        let past = LayerPast {
            keys: vec![1.0; 6],
            values: vec![3.0, 0.0, 6.0, 0.0, 0.0, 9.0],
        };
        let seen = look(&heads, &[1.0; 8], &past, 2, &Listener::nobody()).expect("seen");
        // Rows of a head's numbers, one column for each of the two last tokens.
        let expected = [4.5, 3.0, 0.0, 3.0];
        for head in seen.chunks(4) {
            assert!(
                head.iter()
                    .zip(expected)
                    .all(|(left, right)| (left - right).abs() < 1e-5),
                "{seen:?}"
            );
        }
    }

    #[test]
    fn shares_add_up_to_one_however_large_the_scores_are() {
        let mut scores = [1000.0, 999.0, -1000.0, 5000.0];
        weigh(&mut scores, 3, 1.0);
        assert!((scores.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        assert_eq!(scores[3], 0.0);
    }
}
