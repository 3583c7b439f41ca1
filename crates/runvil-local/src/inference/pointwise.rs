//! What is computed for each token, or for each number, alone.

use rayon::prelude::*;

use crate::architecture::Dimensions;

/// The fewest numbers that are worth a second thread.
const TASK_NUMBERS: usize = 16 * 1024;

/// Brings the numbers of each token to the size of one on average, and weighs them.
pub(super) fn norm(x: &[f32], tokens: usize, weights: &[f32], epsilon: f32) -> Vec<f32> {
    let mut sizes = vec![0.0; tokens];
    for row in x.chunks(tokens) {
        for (size, number) in sizes.iter_mut().zip(row) {
            *size += number * number;
        }
    }
    for size in &mut sizes {
        *size = 1.0 / (*size / weights.len() as f32 + epsilon).sqrt();
    }
    let mut normed = Vec::with_capacity(x.len());
    for (row, weight) in x.chunks(tokens).zip(weights) {
        normed.extend(row.iter().zip(&sizes).map(|(number, size)| number * size * weight));
    }
    normed
}

/// Adds to each number.
pub(super) fn add(x: &mut [f32], more: &[f32]) {
    for (number, more) in x.iter_mut().zip(more) {
        *number += more;
    }
}

/// Multiplies each number with the one that it lets through: `x · sigmoid(x) · passing`.
pub(super) fn gate(x: &mut [f32], passing: &[f32]) {
    x.par_chunks_mut(TASK_NUMBERS)
        .zip(passing.par_chunks(TASK_NUMBERS))
        .for_each(|(x, passing)| {
            for (number, passing) in x.iter_mut().zip(passing) {
                *number *= passing / (1.0 + (-*number).exp());
            }
        });
}

/// How positions are written into queries and keys: pairs of a head's numbers turn from one position to the next.
pub(super) struct Turns {
    /// How fast each pair turns.
    speeds: Vec<f32>,
    /// Whether a pair is two neighbours, and not two numbers at the same place of the head's halves.
    neighbours: bool,
}

impl Turns {
    /// The turns of a network. Each pair may be slowed down by a factor.
    pub(super) fn new(sizes: &Dimensions, slower: Option<&[f32]>) -> Self {
        let speed = |pair: usize| {
            let exponent = 2.0 * pair as f32 / sizes.head_width as f32;
            let factor = slower.map_or(1.0, |factors| factors[pair]);
            1.0 / (sizes.rope_base.powf(exponent) * factor)
        };
        Self {
            speeds: (0..sizes.head_width / 2).map(speed).collect(),
            neighbours: sizes.rope_is_interleaved(),
        }
    }

    /// The turns of some tokens from a position on.
    pub(super) fn at(&self, first: usize, tokens: usize) -> TurnsAt {
        let angles = self.speeds.iter().flat_map(|speed| {
            let positions = first..first + tokens;
            positions.map(move |position| (position as f32 * speed).sin_cos())
        });
        let (sines, cosines) = angles.unzip();
        TurnsAt {
            sines,
            cosines,
            tokens,
            neighbours: self.neighbours,
        }
    }
}

/// The turns of some tokens: a row for each pair.
pub(super) struct TurnsAt {
    sines: Vec<f32>,
    cosines: Vec<f32>,
    tokens: usize,
    neighbours: bool,
}

impl TurnsAt {
    /// Turns the numbers of all heads.
    pub(super) fn turn(&self, x: &mut [f32]) {
        for head in x.chunks_mut(2 * self.sines.len()) {
            if self.neighbours {
                for (pair, rows) in head.chunks_mut(2 * self.tokens).enumerate() {
                    let (left, right) = rows.split_at_mut(self.tokens);
                    self.turn_pair(pair, left, right);
                }
            } else {
                let (left, right) = head.split_at_mut(self.sines.len());
                let pairs = left.chunks_mut(self.tokens).zip(right.chunks_mut(self.tokens));
                for (pair, (left, right)) in pairs.enumerate() {
                    self.turn_pair(pair, left, right);
                }
            }
        }
    }

    fn turn_pair(&self, pair: usize, left: &mut [f32], right: &mut [f32]) {
        let angles = pair * self.tokens..(pair + 1) * self.tokens;
        let angles = self.sines[angles.clone()].iter().zip(&self.cosines[angles]);
        for ((left, right), (sine, cosine)) in left.iter_mut().zip(right).zip(angles) {
            (*left, *right) = (*left * cosine - *right * sine, *left * sine + *right * cosine);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_token_is_normed_alone() {
        let normed = norm(&[3.0, 30.0, 4.0, 40.0], 2, &[1.0, 2.0], 0.0);
        let size = (12.5_f32).sqrt();
        let expected = [3.0 / size, 3.0 / size, 8.0 / size, 8.0 / size];
        assert!(
            normed
                .iter()
                .zip(expected)
                .all(|(left, right)| (left - right).abs() < 1e-5),
            "{normed:?}"
        );
    }

    #[test]
    fn a_gate_lets_through_what_is_large_and_stops_what_is_negative() {
        let mut x = [20.0, -20.0, 0.0];
        gate(&mut x, &[2.0, 2.0, 2.0]);
        assert!((x[0] - 40.0).abs() < 1e-3 && x[1].abs() < 1e-3 && x[2] == 0.0, "{x:?}");
    }

    #[test]
    fn a_turn_keeps_the_size_and_the_first_position_stands_still() {
        for neighbours in [true, false] {
            let turns = Turns {
                speeds: vec![1.0, 0.1],
                neighbours,
            };
            let before = [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0];
            let mut x = before;
            turns.at(0, 2).turn(&mut x);
            for row in 0..4 {
                assert_eq!(x[2 * row], before[2 * row]);
                assert_ne!(x[2 * row + 1], before[2 * row + 1]);
            }
            let size = |token: usize| {
                x.iter()
                    .skip(token)
                    .step_by(2)
                    .map(|number| number * number)
                    .sum::<f32>()
            };
            assert!((size(0) - size(1)).abs() < 1e-4);
        }
    }
}
