//! The network: a decoder of the Llama family.
//!
//! Numbers that belong to several tokens lie side by side: each row holds one number of every token. So one token is
//! the case of a single column, and what a matrix makes of its rows is in one piece.

use super::{
    attention::{self, Heads},
    failure::Failure,
    listener::Listener,
    matrix::Matrix,
    past::Past,
    pointwise::{Turns, add, gate, norm},
    weights::Weights,
};
use crate::architecture::Dimensions;

/// The weights of a model, ready to compute.
pub(super) struct Network {
    sizes: Dimensions,
    /// What each token is read as.
    tokens: Matrix,
    layers: Vec<Layer>,
    norm: Vec<f32>,
    /// What scores the tokens, if it is not the matrix that they are read with.
    output: Option<Matrix>,
    turns: Turns,
}

struct Layer {
    attention_norm: Vec<f32>,
    queries: Linear,
    keys: Linear,
    values: Linear,
    attention_output: Matrix,
    norm: Vec<f32>,
    gate: Matrix,
    up: Matrix,
    down: Matrix,
}

struct Linear {
    matrix: Matrix,
    bias: Option<Vec<f32>>,
}

impl Network {
    pub(super) fn load(sizes: Dimensions, weights: &mut Weights<'_>) -> Result<Self, Failure> {
        let layers = (0..sizes.layers)
            .map(|layer| Layer::load(weights, layer))
            .collect::<Result<_, _>>()?;
        let stretch = weights.full_if_any("rope_freqs.weight")?;
        Ok(Self {
            turns: Turns::new(&sizes, stretch.as_deref()),
            tokens: weights.matrix("token_embd.weight")?,
            layers,
            norm: weights.full("output_norm.weight")?,
            output: weights.matrix_if_any("output.weight")?,
            sizes,
        })
    }

    pub(super) fn sizes(&self) -> &Dimensions {
        &self.sizes
    }

    /// A conversation of no tokens.
    pub(super) fn past(&self) -> Past {
        Past::new(self.sizes.layers, self.sizes.kv_heads * self.sizes.head_width)
    }

    /// Reads tokens, and gives the scores of the token that may come next. Work that ends early leaves the past as it
    /// was.
    pub(super) fn read(&self, tokens: &[u32], past: &mut Past, listener: &Listener) -> Result<Vec<f32>, Failure> {
        let x = self.read_on(tokens, past, listener)?;
        let last: Vec<f32> = x.into_iter().skip(tokens.len() - 1).step_by(tokens.len()).collect();
        let last = norm(&last, 1, &self.norm, self.sizes.epsilon);
        self.output.as_ref().unwrap_or(&self.tokens).times(&last, 1, listener)
    }

    /// Reads tokens whose scores nobody wants.
    pub(super) fn skim(&self, tokens: &[u32], past: &mut Past, listener: &Listener) -> Result<(), Failure> {
        self.read_on(tokens, past, listener).map(|_| ())
    }

    fn read_on(&self, tokens: &[u32], past: &mut Past, listener: &Listener) -> Result<Vec<f32>, Failure> {
        let known = past.len();
        let read = self.through_layers(tokens, past, listener);
        if read.is_err() {
            past.keep(known);
        }
        read
    }

    fn through_layers(&self, tokens: &[u32], past: &mut Past, listener: &Listener) -> Result<Vec<f32>, Failure> {
        let (first, count) = (past.len(), tokens.len());
        let mut x = self.embed(tokens)?;
        let turns = self.turns.at(first, count);
        let heads = Heads::of(&self.sizes);
        for (at, layer) in self.layers.iter().enumerate() {
            listener.go_on()?;
            let normed = norm(&x, count, &layer.attention_norm, self.sizes.epsilon);
            let mut queries = layer.queries.times(&normed, count, listener)?;
            let mut keys = layer.keys.times(&normed, count, listener)?;
            let values = layer.values.times(&normed, count, listener)?;
            turns.turn(&mut queries);
            turns.turn(&mut keys);
            past.add(at, &keys, &values, count);
            let seen = attention::look(&heads, &queries, past.layer(at), count, listener)?;
            add(&mut x, &layer.attention_output.times(&seen, count, listener)?);
            let normed = norm(&x, count, &layer.norm, self.sizes.epsilon);
            let mut thought = layer.gate.times(&normed, count, listener)?;
            gate(&mut thought, &layer.up.times(&normed, count, listener)?);
            add(&mut x, &layer.down.times(&thought, count, listener)?);
        }
        Ok(x)
    }

    fn embed(&self, tokens: &[u32]) -> Result<Vec<f32>, Failure> {
        let mut x = vec![0.0; self.sizes.width * tokens.len()];
        for (at, token) in tokens.iter().enumerate() {
            let row = self.tokens.row(*token as usize)?;
            for (number, place) in row.into_iter().zip(x.iter_mut().skip(at).step_by(tokens.len())) {
                *place = number;
            }
        }
        Ok(x)
    }
}

impl Layer {
    fn load(weights: &mut Weights<'_>, layer: usize) -> Result<Self, Failure> {
        let name = |part: &str| format!("blk.{layer}.{part}");
        let mut linear = |part: &str| {
            Ok::<_, Failure>(Linear {
                matrix: weights.matrix(&name(&format!("{part}.weight")))?,
                bias: weights.full_if_any(&name(&format!("{part}.bias")))?,
            })
        };
        let (queries, keys, values) = (linear("attn_q")?, linear("attn_k")?, linear("attn_v")?);
        Ok(Self {
            attention_norm: weights.full(&name("attn_norm.weight"))?,
            queries,
            keys,
            values,
            attention_output: weights.matrix(&name("attn_output.weight"))?,
            norm: weights.full(&name("ffn_norm.weight"))?,
            gate: weights.matrix(&name("ffn_gate.weight"))?,
            up: weights.matrix(&name("ffn_up.weight"))?,
            down: weights.matrix(&name("ffn_down.weight"))?,
        })
    }
}

impl Linear {
    fn times(&self, x: &[f32], tokens: usize, listener: &Listener) -> Result<Vec<f32>, Failure> {
        let mut product = self.matrix.times(x, tokens, listener)?;
        if let Some(bias) = &self.bias {
            for (row, bias) in product.chunks_mut(tokens).zip(bias) {
                row.iter_mut().for_each(|number| *number += bias);
            }
        }
        Ok(product)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::{gguf::Gguf, tiny::Tiny};

    fn network(architecture: &'static str) -> Network {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(&Tiny::of(architecture).bytes()).expect("written");
        let (gguf, opened) = Gguf::open(file.path()).expect("a header");
        let sizes = Dimensions::read(&gguf).expect("supported");
        Network::load(
            sizes,
            &mut Weights::new(&gguf, file.path(), opened, &Listener::nobody()),
        )
        .expect("loaded")
    }

    fn close(left: &[f32], right: &[f32]) -> bool {
        left.len() == right.len() && left.iter().zip(right).all(|(left, right)| (left - right).abs() < 1e-3)
    }

    #[test]
    fn tokens_read_one_by_one_give_the_scores_of_all_at_once() {
        for architecture in ["llama", "qwen2"] {
            let network = network(architecture);
            let tokens: Vec<u32> = (3..40).collect();
            let at_once = network
                .read(&tokens, &mut network.past(), &Listener::nobody())
                .expect("scores");
            let mut past = network.past();
            let mut one_by_one = Vec::new();
            for token in &tokens {
                one_by_one = network.read(&[*token], &mut past, &Listener::nobody()).expect("scores");
            }
            assert_eq!(past.len(), tokens.len());
            assert!(close(&at_once, &one_by_one), "{architecture}");
            let mut past = network.past();
            network
                .read(&tokens[..10], &mut past, &Listener::nobody())
                .expect("scores");
            assert!(close(
                &at_once,
                &network
                    .read(&tokens[10..], &mut past, &Listener::nobody())
                    .expect("scores")
            ));
        }
    }

    #[test]
    fn going_back_in_a_conversation_is_as_if_the_rest_had_not_been() {
        let network = network("llama");
        let mut past = network.past();
        network
            .read(&[3, 4, 5, 6], &mut past, &Listener::nobody())
            .expect("scores");
        network
            .read(&[7, 8, 9], &mut past, &Listener::nobody())
            .expect("scores");
        past.keep(4);
        let again = network.read(&[50, 51], &mut past, &Listener::nobody()).expect("scores");
        let fresh = network
            .read(&[3, 4, 5, 6, 50, 51], &mut network.past(), &Listener::nobody())
            .expect("scores");
        assert!(close(&again, &fresh));
    }

    const PART: usize = 512;

    #[test]
    fn a_long_conversation_read_in_parts_is_as_if_read_at_once() {
        let network = network("llama");
        let mut past = network.past();
        let tokens: Vec<u32> = (0..PART + 40).map(|at| 3 + (at % 200) as u32).collect();
        network
            .read(&tokens[..PART - 1], &mut past, &Listener::nobody())
            .expect("scores");
        let grown = network
            .read(&tokens[PART - 1..], &mut past, &Listener::nobody())
            .expect("scores");
        let fresh = network
            .read(&tokens, &mut network.past(), &Listener::nobody())
            .expect("scores");
        assert!(close(&grown, &fresh));
    }

    #[test]
    fn the_order_of_tokens_matters() {
        let network = network("llama");
        let read = |tokens: &[u32]| {
            network
                .read(tokens, &mut network.past(), &Listener::nobody())
                .expect("scores")
        };
        assert!(!close(&read(&[3, 4, 5]), &read(&[4, 3, 5])));
        assert!(close(&read(&[3, 4, 5]), &read(&[3, 4, 5])));
    }

    #[test]
    fn work_that_ends_early_leaves_the_past_as_it_was() {
        let network = network("llama");
        let mut past = network.past();
        network.skim(&[3, 4, 5], &mut past, &Listener::nobody()).expect("read");
        assert!(network.read(&[6, 7, 8, 9, 10], &mut past, &Listener::gone()).is_err());
        assert_eq!(past.len(), 3);
        let scores = network.read(&[6], &mut past, &Listener::nobody()).expect("scores");
        let fresh = network.read(&[3, 4, 5, 6], &mut network.past(), &Listener::nobody());
        assert!(close(&scores, &fresh.expect("scores")));
    }
}
