//! Choosing the next token.

use std::collections::{BTreeSet, VecDeque};

use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

/// A temperature below this one always takes the likeliest token.
const GREEDY_BELOW: f64 = 1e-3;

/// How many of the last tokens of a reply are not to be repeated.
const REPETITION_WINDOW: usize = 64;

/// How tokens are chosen where a request does not say it.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampling {
    /// How evenly tokens are chosen: 0 always takes the likeliest one.
    pub temperature: f64,
    /// Only the likeliest tokens are chosen from, at most this many; 0 leaves all of them.
    pub top_k: u32,
    /// Only the likeliest tokens are chosen from, as many as together have this probability.
    pub top_p: f64,
    /// How much less likely the last tokens of the reply are to come again; 1 leaves them as likely as they are.
    pub repetition_penalty: f64,
    /// Where the random numbers of each round start. The same request with the same seed has the same reply.
    pub seed: u64,
    /// The most tokens of a reply, where the request does not say; `None` leaves it to the context window.
    pub max_tokens: Option<u32>,
    /// Texts that end a reply before them, beside the model's own end.
    pub stop: Vec<String>,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            // What small instruct models are tuned for.
            temperature: 0.2,
            top_k: 40,
            top_p: 0.9,
            repetition_penalty: 1.1,
            seed: 0,
            // A small model that has lost its thread goes round in circles, and does not end by itself.
            max_tokens: Some(1024),
            stop: Vec::new(),
        }
    }
}

/// Chooses the tokens of one reply.
pub(super) struct Sampler<'a> {
    sampling: &'a Sampling,
    random: StdRng,
    /// The last tokens of the reply.
    last: VecDeque<u32>,
}

impl<'a> Sampler<'a> {
    pub(super) fn new(sampling: &'a Sampling) -> Self {
        Self {
            sampling,
            random: StdRng::seed_from_u64(sampling.seed),
            last: VecDeque::new(),
        }
    }

    /// The token that comes next, by the scores of all tokens.
    pub(super) fn choose(&mut self, scores: &mut [f32]) -> u32 {
        self.penalize(scores);
        let token = self.draw(scores);
        if self.last.len() == REPETITION_WINDOW {
            self.last.pop_front();
        }
        self.last.push_back(token);
        token
    }

    fn penalize(&self, scores: &mut [f32]) {
        let penalty = self.sampling.repetition_penalty as f32;
        // However often a token came, it pays once.
        for token in self.last.iter().copied().collect::<BTreeSet<_>>() {
            let score = &mut scores[token as usize];
            *score = if *score > 0.0 {
                *score / penalty
            } else {
                *score * penalty
            };
        }
    }

    fn draw(&mut self, scores: &[f32]) -> u32 {
        let best = likeliest(scores);
        if self.sampling.temperature < GREEDY_BELOW {
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
        let weigh = |score: f32| ((f64::from(score) - best) / self.sampling.temperature).exp();
        let mut weights = Vec::new();
        for (token, score) in (0u32..).zip(scores) {
            let weight = weigh(*score);
            // What is a million times less likely than the best one is never in the nucleus of any use.
            if weight > 1e-6 {
                weights.push((token, weight));
            }
        }
        weights.sort_by(|(a, left), (b, right)| right.total_cmp(left).then(a.cmp(b)));
        if self.sampling.top_k > 0 {
            weights.truncate(self.sampling.top_k as usize);
        }
        let all: f64 = weights.iter().map(|(_, weight)| weight).sum();
        let mut covered = 0.0;
        let kept = weights.iter().position(|(_, weight)| {
            covered += weight;
            covered >= self.sampling.top_p * all
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

    /// Draws without a penalty, unless the sampling has one.
    fn drawn(sampling: &Sampling) -> Vec<u32> {
        let mut sampler = Sampler::new(sampling);
        (0..200).map(|_| sampler.choose(&mut SCORES.clone())).collect()
    }

    /// Every token as likely as its score says.
    fn plain() -> Sampling {
        Sampling {
            temperature: 1.0,
            top_k: 0,
            top_p: 1.0,
            repetition_penalty: 1.0,
            ..Sampling::default()
        }
    }

    #[test]
    fn no_temperature_takes_the_likeliest_token() {
        let sampling = Sampling {
            temperature: 0.0,
            ..plain()
        };
        assert!(drawn(&sampling).iter().all(|token| *token == 1));
    }

    #[test]
    fn a_seed_repeats_what_was_drawn() {
        let sampling = |seed| Sampling { seed, ..plain() };
        assert_eq!(drawn(&sampling(7)), drawn(&sampling(7)));
        assert_ne!(drawn(&sampling(7)), drawn(&sampling(8)));
        let mut tokens = drawn(&sampling(7));
        tokens.sort_unstable();
        tokens.dedup();
        assert_eq!(tokens, [0, 1, 2]);
    }

    #[test]
    fn the_nucleus_leaves_the_unlikely_out() {
        // The probabilities are about 0.67, 0.24 and 0.09.
        let tokens = drawn(&Sampling { top_p: 0.8, ..plain() });
        assert!(tokens.contains(&2) && !tokens.contains(&0));
    }

    #[test]
    fn only_so_many_tokens_are_chosen_from() {
        let tokens = drawn(&Sampling { top_k: 2, ..plain() });
        assert!(tokens.contains(&1) && tokens.contains(&2) && !tokens.contains(&0));
        assert!(drawn(&Sampling { top_k: 1, ..plain() }).iter().all(|token| *token == 1));
    }

    #[test]
    fn what_was_said_is_less_likely_to_come_again() {
        let sampling = Sampling {
            temperature: 0.0,
            repetition_penalty: 2.0,
            ..plain()
        };
        let mut sampler = Sampler::new(&sampling);
        let mut said = |scores: [f32; 3]| sampler.choose(&mut scores.clone());
        assert_eq!(said([3.0, 2.0, -1.0]), 0);
        // 3 is halved below 2, and a negative score doubled; nothing pays twice.
        assert_eq!(said([3.0, 2.0, -1.0]), 1);
        assert_eq!(said([3.0, 2.0, -1.0]), 0);
        assert_eq!(said([-1.0, -1.5, -1.9]), 2);
    }

    #[test]
    fn a_token_is_free_again_after_a_while() {
        let sampling = Sampling {
            temperature: 0.0,
            repetition_penalty: 2.0,
            ..plain()
        };
        let mut sampler = Sampler::new(&sampling);
        assert_eq!(sampler.choose(&mut [3.0, 2.0, 9.0]), 2);
        for _ in 0..REPETITION_WINDOW {
            assert_eq!(sampler.choose(&mut [9.0, 2.0, 3.0]), 0);
        }
        assert_eq!(sampler.choose(&mut [4.0, 2.0, 3.0]), 2);
    }

    #[test]
    fn scores_that_are_no_numbers_choose_some_token() {
        let sampling = Sampling::default();
        let mut sampler = Sampler::new(&sampling);
        assert!(sampler.choose(&mut [f32::NAN, f32::NAN]) < 2);
    }
}
