//! Choosing the next token.

use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

/// A temperature below this one always takes the likeliest token.
const GREEDY_BELOW: f64 = 1e-3;

/// How tokens are chosen where a request does not say it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// How evenly tokens are chosen: 0 always takes the likeliest one.
    pub temperature: f64,
    /// Only the likeliest tokens are chosen from, as many as together have this probability.
    pub top_p: f64,
    /// Where the random numbers of each round start. The same request with the same seed has the same reply.
    pub seed: u64,
    /// The most tokens of a reply, where the request does not say; `None` leaves it to the context window.
    pub max_tokens: Option<u32>,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            // What small instruct models are tuned for.
            temperature: 0.2,
            top_p: 0.9,
            seed: 0,
            // A small model that has lost its thread goes round in circles, and does not end by itself.
            max_tokens: Some(1024),
        }
    }
}

/// Chooses the tokens of one reply.
pub(super) struct Sampler {
    temperature: f64,
    top_p: f64,
    random: StdRng,
}

impl Sampler {
    pub(super) fn new(sampling: Sampling) -> Self {
        Self {
            temperature: sampling.temperature,
            top_p: sampling.top_p,
            random: StdRng::seed_from_u64(sampling.seed),
        }
    }

    /// The token that comes next, by the scores of all tokens.
    pub(super) fn choose(&mut self, scores: &[f32]) -> u32 {
        let best = likeliest(scores);
        if self.temperature < GREEDY_BELOW {
            return best as u32;
        }
        let weights = self.nucleus(scores, f64::from(scores[best]));
        let all: f64 = weights.iter().map(|(_, weight)| weight).sum();
        let mut drawn = self.random.random::<f64>() * all;
        for (token, weight) in &weights {
            drawn -= weight;
            if drawn <= 0.0 {
                return *token;
            }
        }
        best as u32
    }

    /// The likeliest tokens, the first ones first, with what their probabilities are in proportion to.
    fn nucleus(&self, scores: &[f32], best: f64) -> Vec<(u32, f64)> {
        let weigh = |score: f32| ((f64::from(score) - best) / self.temperature).exp();
        let mut all = 0.0;
        let mut weights = Vec::new();
        for (token, score) in (0u32..).zip(scores) {
            let weight = weigh(*score);
            all += weight;
            // What is a million times less likely than the best one is never in the nucleus of any use.
            if weight > 1e-6 {
                weights.push((token, weight));
            }
        }
        weights.sort_by(|(a, left), (b, right)| right.total_cmp(left).then(a.cmp(b)));
        let mut covered = 0.0;
        let kept = weights.iter().position(|(_, weight)| {
            covered += weight;
            covered >= self.top_p * all
        });
        weights.truncate(kept.map_or(weights.len(), |last| last + 1));
        weights
    }
}

/// The first of the tokens with the highest score.
fn likeliest(scores: &[f32]) -> usize {
    let better = |best: usize, (token, score): (usize, &f32)| if *score > scores[best] { token } else { best };
    scores.iter().enumerate().fold(0, better)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCORES: [f32; 4] = [1.0, 3.0, 2.0, -9.0];

    fn drawn(sampling: Sampling) -> Vec<u32> {
        let mut sampler = Sampler::new(sampling);
        (0..200).map(|_| sampler.choose(&SCORES)).collect()
    }

    #[test]
    fn no_temperature_takes_the_likeliest_token() {
        let sampling = Sampling {
            temperature: 0.0,
            ..Sampling::default()
        };
        assert!(drawn(sampling).iter().all(|token| *token == 1));
    }

    #[test]
    fn a_seed_repeats_what_was_drawn() {
        let sampling = |seed| Sampling {
            temperature: 1.0,
            top_p: 1.0,
            seed,
            ..Sampling::default()
        };
        assert_eq!(drawn(sampling(7)), drawn(sampling(7)));
        assert_ne!(drawn(sampling(7)), drawn(sampling(8)));
        let mut tokens = drawn(sampling(7));
        tokens.sort_unstable();
        tokens.dedup();
        assert_eq!(tokens, [0, 1, 2]);
    }

    #[test]
    fn the_nucleus_leaves_the_unlikely_out() {
        let sampling = Sampling {
            temperature: 1.0,
            top_p: 0.8,
            ..Sampling::default()
        };
        // The probabilities are about 0.67, 0.24 and 0.09.
        let tokens = drawn(sampling);
        assert!(tokens.contains(&2) && !tokens.contains(&0));
    }

    #[test]
    fn scores_that_are_no_numbers_choose_some_token() {
        let mut sampler = Sampler::new(Sampling::default());
        assert!(sampler.choose(&[f32::NAN, f32::NAN]) < 2);
    }
}
