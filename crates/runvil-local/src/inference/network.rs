//! The network: a decoder of the Llama family.
//!
//! It is written against the tensors of `candle` and not taken from its collection of models: those build all of them,
//! hold windows of 4096 tokens at most, and cannot go back in a conversation.

use std::sync::Arc;

use candle_core::{
    DType, Device, Module as _, Result, Tensor,
    quantized::{QMatMul, QTensor},
};
use candle_nn::{
    ops::{rms_norm, softmax_last_dim},
    rotary_emb::{rope, rope_i},
};

use super::{failure::Failure, weights::Weights};
use crate::architecture::Dimensions;

/// How many tokens a conversation has room for at first; the room doubles as it grows.
const FIRST_ROOM: usize = 512;

/// The weights of a model, ready to compute.
pub(super) struct Network {
    sizes: Dimensions,
    tokens: Arc<QTensor>,
    layers: Vec<Layer>,
    norm: Tensor,
    output: QMatMul,
    /// How fast each pair of numbers of a head turns from one position to the next.
    turns: Vec<f32>,
}

struct Layer {
    attention_norm: Tensor,
    queries: Linear,
    keys: Linear,
    values: Linear,
    attention_output: QMatMul,
    norm: Tensor,
    gate: QMatMul,
    up: QMatMul,
    down: QMatMul,
}

struct Linear {
    matrix: QMatMul,
    bias: Option<Tensor>,
}

/// The keys and values of a conversation so far.
pub(super) struct Memory {
    layers: Vec<(Tensor, Tensor)>,
    room: usize,
    len: usize,
}

/// What all layers share in one step.
struct Step {
    cos: Tensor,
    sin: Tensor,
    /// Hides from each token those that come after it; none where there is one token only.
    mask: Option<Tensor>,
}

impl Network {
    pub(super) fn load(sizes: Dimensions, weights: &mut Weights<'_>) -> std::result::Result<Self, Failure> {
        let (tokens, output) = weights.tokens()?;
        let layers = (0..sizes.layers)
            .map(|layer| Layer::load(weights, layer))
            .collect::<std::result::Result<_, _>>()?;
        let stretch = match weights.full_if_any("rope_freqs.weight")? {
            Some(factors) => factors.to_vec1::<f32>()?,
            None => vec![1.0; sizes.head_width / 2],
        };
        let turn = |(pair, factor): (usize, &f32)| {
            let exponent = 2.0 * pair as f32 / sizes.head_width as f32;
            1.0 / (sizes.rope_base.powf(exponent) * factor)
        };
        Ok(Self {
            turns: stretch.iter().enumerate().map(turn).collect(),
            norm: weights.full("output_norm.weight")?,
            sizes,
            tokens,
            layers,
            output,
        })
    }

    pub(super) fn sizes(&self) -> &Dimensions {
        &self.sizes
    }

    /// An empty memory.
    pub(super) fn memory(&self) -> Memory {
        Memory {
            layers: Vec::new(),
            room: 0,
            len: 0,
        }
    }

    /// Reads tokens into the memory and gives the scores of the token that may come next.
    pub(super) fn read(&self, tokens: &[u32], memory: &mut Memory) -> Result<Vec<f32>> {
        memory.make_room(tokens.len(), &self.sizes)?;
        let step = self.step(memory.len, tokens.len())?;
        let mut x = self.tokens.embedding(&Tensor::new(tokens, &Device::Cpu)?)?;
        for (layer, (keys, values)) in self.layers.iter().zip(&memory.layers) {
            let attended = layer.attend(
                &self.norm_by(&x, &layer.attention_norm)?,
                &self.sizes,
                &step,
                Past {
                    keys,
                    values,
                    len: memory.len,
                },
            )?;
            x = (x + attended)?;
            let thought = layer.think(&self.norm_by(&x, &layer.norm)?)?;
            x = (x + thought)?;
        }
        memory.len += tokens.len();
        let last = self.norm_by(&x.narrow(0, tokens.len() - 1, 1)?.contiguous()?, &self.norm)?;
        self.output.forward(&last)?.flatten_all()?.to_vec1()
    }

    fn norm_by(&self, x: &Tensor, norm: &Tensor) -> Result<Tensor> {
        rms_norm(x, norm, self.sizes.epsilon)
    }

    fn step(&self, from: usize, count: usize) -> Result<Step> {
        let pairs = self.turns.len();
        let angles: Vec<f32> = (from..from + count)
            .flat_map(|position| self.turns.iter().map(move |turn| position as f32 * turn))
            .collect();
        let angles = Tensor::from_vec(angles, (count, pairs), &Device::Cpu)?;
        let hidden = |(row, column): (usize, usize)| if column > from + row { f32::NEG_INFINITY } else { 0.0 };
        let mask = || {
            let cells = (0..count).flat_map(|row| (0..from + count).map(move |column| (row, column)));
            Tensor::from_vec(
                cells.map(hidden).collect::<Vec<f32>>(),
                (count, from + count),
                &Device::Cpu,
            )
        };
        Ok(Step {
            cos: angles.cos()?,
            sin: angles.sin()?,
            mask: (count > 1).then(mask).transpose()?,
        })
    }
}

/// What a layer remembers, up to where this step begins.
#[derive(Clone, Copy)]
struct Past<'a> {
    keys: &'a Tensor,
    values: &'a Tensor,
    len: usize,
}

impl Layer {
    fn load(weights: &mut Weights<'_>, layer: usize) -> std::result::Result<Self, Failure> {
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

    /// Lets each token look at those before it.
    fn attend(&self, x: &Tensor, sizes: &Dimensions, step: &Step, past: Past<'_>) -> Result<Tensor> {
        let count = x.dim(0)?;
        let (heads, kv_heads, width) = (sizes.heads, sizes.kv_heads, sizes.head_width);
        let by_head = |x: Tensor, heads: usize| x.reshape((count, heads, width))?.transpose(0, 1)?.contiguous();
        let turned = |x: Tensor| {
            let turn = if sizes.rope_is_interleaved() { rope_i } else { rope };
            turn(&x.unsqueeze(0)?, &step.cos, &step.sin)?.squeeze(0)
        };
        let queries = turned(by_head(self.queries.forward(x)?, heads)?)?;
        past.keys
            .slice_set(&turned(by_head(self.keys.forward(x)?, kv_heads)?)?, 1, past.len)?;
        past.values
            .slice_set(&by_head(self.values.forward(x)?, kv_heads)?, 1, past.len)?;
        let all = past.len + count;
        let (keys, values) = (past.keys.narrow(1, 0, all)?, past.values.narrow(1, 0, all)?);

        // The heads of a group share keys and values: they are the rows of one matrix.
        let group = heads / kv_heads;
        let queries = (queries.reshape((kv_heads, group * count, width))? * (1.0 / (width as f64).sqrt()))?;
        let mut scores = queries.matmul(&keys.transpose(1, 2)?)?;
        if let Some(mask) = &step.mask {
            let by_token = scores.reshape((kv_heads, group, count, all))?;
            scores = by_token.broadcast_add(mask)?.reshape((kv_heads, group * count, all))?;
        }
        let seen = softmax_last_dim(&scores)?.matmul(&values)?;
        let seen = seen
            .reshape((heads, count, width))?
            .transpose(0, 1)?
            .reshape((count, heads * width))?;
        self.attention_output.forward(&seen)
    }

    /// Works on each token alone.
    fn think(&self, x: &Tensor) -> Result<Tensor> {
        let gated = (self.gate.forward(x)?.silu()? * self.up.forward(x)?)?;
        self.down.forward(&gated)
    }
}

impl Linear {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y = self.matrix.forward(x)?;
        match &self.bias {
            Some(bias) => y.broadcast_add(bias),
            None => Ok(y),
        }
    }
}

impl Memory {
    /// How many tokens it holds.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Forgets all but the first tokens.
    pub(super) fn keep(&mut self, tokens: usize) {
        self.len = self.len.min(tokens);
    }

    fn make_room(&mut self, more: usize, sizes: &Dimensions) -> Result<()> {
        let needed = self.len + more;
        if needed <= self.room {
            return Ok(());
        }
        let room = needed
            .next_power_of_two()
            .max(FIRST_ROOM)
            .min(sizes.context.max(needed));
        let empty = || Tensor::zeros((sizes.kv_heads, room, sizes.head_width), DType::F32, &Device::Cpu);
        let mut layers = Vec::with_capacity(sizes.layers);
        for layer in 0..sizes.layers {
            let (keys, values) = (empty()?, empty()?);
            if let Some((old_keys, old_values)) = self.layers.get(layer).filter(|_| self.len > 0) {
                keys.slice_set(&old_keys.narrow(1, 0, self.len)?.contiguous()?, 1, 0)?;
                values.slice_set(&old_values.narrow(1, 0, self.len)?.contiguous()?, 1, 0)?;
            }
            layers.push((keys, values));
        }
        self.layers = layers;
        self.room = room;
        Ok(())
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
        let (gguf, file) = Gguf::open(file.path()).expect("a header");
        let sizes = Dimensions::read(&gguf).expect("supported");
        Network::load(sizes, &mut Weights::new(&gguf, file, &mut || Ok(()))).expect("loaded")
    }

    fn close(left: &[f32], right: &[f32]) -> bool {
        left.len() == right.len() && left.iter().zip(right).all(|(left, right)| (left - right).abs() < 1e-3)
    }

    #[test]
    fn tokens_read_one_by_one_give_the_scores_of_all_at_once() {
        for architecture in ["llama", "qwen2"] {
            let network = network(architecture);
            let tokens: Vec<u32> = (3..40).collect();
            let at_once = network.read(&tokens, &mut network.memory()).expect("scores");
            let mut memory = network.memory();
            let mut one_by_one = Vec::new();
            for token in &tokens {
                one_by_one = network.read(&[*token], &mut memory).expect("scores");
            }
            assert_eq!(memory.len(), tokens.len());
            assert!(close(&at_once, &one_by_one), "{architecture}");
            let mut memory = network.memory();
            network.read(&tokens[..10], &mut memory).expect("scores");
            assert!(close(
                &at_once,
                &network.read(&tokens[10..], &mut memory).expect("scores")
            ));
        }
    }

    #[test]
    fn going_back_in_a_conversation_is_as_if_the_rest_had_not_been() {
        let network = network("llama");
        let mut memory = network.memory();
        network.read(&[3, 4, 5, 6], &mut memory).expect("scores");
        network.read(&[7, 8, 9], &mut memory).expect("scores");
        memory.keep(4);
        let again = network.read(&[50, 51], &mut memory).expect("scores");
        let fresh = network
            .read(&[3, 4, 5, 6, 50, 51], &mut network.memory())
            .expect("scores");
        assert!(close(&again, &fresh));
    }

    #[test]
    fn a_conversation_outgrows_its_first_room() {
        let network = network("llama");
        let mut memory = network.memory();
        let tokens: Vec<u32> = (0..FIRST_ROOM + 40).map(|at| 3 + (at % 200) as u32).collect();
        network.read(&tokens[..FIRST_ROOM - 1], &mut memory).expect("scores");
        let grown = network.read(&tokens[FIRST_ROOM - 1..], &mut memory).expect("scores");
        let fresh = network.read(&tokens, &mut network.memory()).expect("scores");
        assert!(close(&grown, &fresh));
    }

    #[test]
    fn the_order_of_tokens_matters() {
        let network = network("llama");
        let read = |tokens: &[u32]| network.read(tokens, &mut network.memory()).expect("scores");
        assert!(!close(&read(&[3, 4, 5]), &read(&[4, 3, 5])));
        assert!(close(&read(&[3, 4, 5]), &read(&[3, 4, 5])));
    }
}
