//! Which networks are supported, and the sizes of one.

use crate::gguf::Gguf;

/// A family of networks that the decoder computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Architecture {
    /// Llama and what shares its form: SmolLM2, TinyLlama, Mistral's first models.
    Llama,
    /// Qwen 2 and 2.5: Llama with a bias on the three inputs of attention.
    Qwen2,
}

/// The architectures by the name that a file gives.
const ARCHITECTURES: [(&str, Architecture); 2] = [("llama", Architecture::Llama), ("qwen2", Architecture::Qwen2)];

/// The largest context window, whatever a file says.
const MAX_CONTEXT: u64 = 1 << 20;

/// Why a GGUF file holds no model that can run here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unsupported {
    /// A network of another family.
    #[error("the architecture `{0}` is not supported, only llama and qwen2")]
    Architecture(String),
    /// A network that chooses among experts.
    #[error("models with several experts are not supported")]
    Experts,
    /// A position encoding that is stretched.
    #[error("the rope scaling `{0}` is not supported")]
    RopeScaling(String),
    /// Words are split in a way that is not supported.
    #[error("the tokenizer `{0}` is not supported, only byte-level BPE")]
    Tokenizer(String),
    /// The metadata lacks something, or it has no sense.
    #[error("the metadata `{0}` is missing or has no sense")]
    Metadata(String),
    /// A tensor is missing or has an unexpected shape.
    #[error("the tensor `{0}` is missing or has an unexpected shape")]
    Tensor(String),
    /// Nothing tells how a conversation is written down.
    #[error("the file has no chat template, so the model is not made for conversations")]
    NoChatTemplate,
}

/// The sizes of a network.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(
    not(feature = "inference"),
    allow(dead_code, reason = "some of the sizes matter to the computation alone")
)]
pub(crate) struct Dimensions {
    pub(crate) architecture: Architecture,
    pub(crate) layers: usize,
    pub(crate) width: usize,
    pub(crate) hidden: usize,
    pub(crate) heads: usize,
    /// The heads of keys and values, which groups of heads share.
    pub(crate) kv_heads: usize,
    pub(crate) head_width: usize,
    pub(crate) vocabulary: usize,
    /// The context window in tokens.
    pub(crate) context: usize,
    pub(crate) rope_base: f32,
    pub(crate) epsilon: f32,
}

impl Dimensions {
    /// Reads the sizes, and checks that every tensor is there in its size.
    pub(crate) fn read(gguf: &Gguf) -> Result<Self, Unsupported> {
        let name = gguf
            .text("general.architecture")
            .ok_or_else(|| Unsupported::Metadata("general.architecture".to_owned()))?;
        let (_, architecture) = ARCHITECTURES
            .into_iter()
            .find(|(known, _)| *known == name)
            .ok_or_else(|| Unsupported::Architecture(name.escape_debug().to_string()))?;
        let fields = Fields { gguf, name };
        fields.refuse_extras()?;
        let heads = fields.size("attention.head_count", 1 << 12)?;
        let width = fields.size("embedding_length", 1 << 20)?;
        let kv_heads = fields.size_or("attention.head_count_kv", heads)?;
        let head_width = fields.size_or("attention.key_length", width / heads)?;
        fields.expect("attention.head_count", width % heads == 0)?;
        fields.expect("attention.head_count_kv", heads % kv_heads == 0)?;
        fields.expect(
            "attention.key_length",
            head_width % 2 == 0 && head_width * heads <= 1 << 20,
        )?;
        // A file that turns only a part of each head is another network.
        fields.expect(
            "rope.dimension_count",
            fields.size_or("rope.dimension_count", head_width)? == head_width,
        )?;
        let dimensions = Self {
            architecture,
            layers: fields.size("block_count", 1 << 10)?,
            width,
            hidden: fields.size("feed_forward_length", 1 << 22)?,
            heads,
            kv_heads,
            head_width,
            vocabulary: gguf.texts("tokenizer.ggml.tokens").map_or(0, |tokens| tokens.len()),
            context: fields.size("context_length", MAX_CONTEXT)?,
            rope_base: fields.number("rope.freq_base", Some(10_000.0))?,
            epsilon: fields.number("attention.layer_norm_rms_epsilon", None)?,
        };
        dimensions.check_tensors(gguf)?;
        Ok(dimensions)
    }

    /// The bytes that keys and values of one token take.
    pub(crate) fn cache_bytes_per_token(&self) -> u64 {
        (self.layers * 2 * self.kv_heads * self.head_width * size_of::<f32>()) as u64
    }

    /// Whether positions turn neighbouring numbers of a head, and not those of its two halves.
    #[cfg(feature = "inference")]
    pub(crate) fn rope_is_interleaved(&self) -> bool {
        self.architecture == Architecture::Llama
    }

    fn check_tensors(&self, gguf: &Gguf) -> Result<(), Unsupported> {
        let has = |name: String, shape: &[usize]| match gguf.tensors.get(&name) {
            Some(tensor) if tensor.shape == shape => Ok(()),
            _ => Err(Unsupported::Tensor(name)),
        };
        has("token_embd.weight".to_owned(), &[self.vocabulary, self.width])?;
        has("output_norm.weight".to_owned(), &[self.width])?;
        if gguf.tensors.contains_key("output.weight") {
            has("output.weight".to_owned(), &[self.vocabulary, self.width])?;
        }
        if gguf.tensors.contains_key("rope_freqs.weight") {
            has("rope_freqs.weight".to_owned(), &[self.head_width / 2])?;
        }
        let (queries, keys) = (self.heads * self.head_width, self.kv_heads * self.head_width);
        for layer in 0..self.layers {
            let weight = |name: &str| format!("blk.{layer}.{name}.weight");
            has(weight("attn_norm"), &[self.width])?;
            has(weight("attn_q"), &[queries, self.width])?;
            has(weight("attn_k"), &[keys, self.width])?;
            has(weight("attn_v"), &[keys, self.width])?;
            has(weight("attn_output"), &[self.width, queries])?;
            has(weight("ffn_norm"), &[self.width])?;
            has(weight("ffn_gate"), &[self.hidden, self.width])?;
            has(weight("ffn_up"), &[self.hidden, self.width])?;
            has(weight("ffn_down"), &[self.width, self.hidden])?;
            if self.architecture == Architecture::Qwen2 {
                has(format!("blk.{layer}.attn_q.bias"), &[queries])?;
                has(format!("blk.{layer}.attn_k.bias"), &[keys])?;
                has(format!("blk.{layer}.attn_v.bias"), &[keys])?;
            }
        }
        Ok(())
    }
}

/// The metadata that stands under the architecture's name.
struct Fields<'a> {
    gguf: &'a Gguf,
    name: &'a str,
}

impl Fields<'_> {
    fn key(&self, field: &str) -> String {
        format!("{}.{field}", self.name)
    }

    fn expect(&self, field: &str, holds: bool) -> Result<(), Unsupported> {
        if holds {
            Ok(())
        } else {
            Err(Unsupported::Metadata(self.key(field)))
        }
    }

    fn size(&self, field: &str, largest: u64) -> Result<usize, Unsupported> {
        self.gguf
            .count(&self.key(field))
            .filter(|size| (1..=largest).contains(size))
            .and_then(|size| usize::try_from(size).ok())
            .ok_or_else(|| Unsupported::Metadata(self.key(field)))
    }

    fn size_or(&self, field: &str, otherwise: usize) -> Result<usize, Unsupported> {
        if self.gguf.metadata.contains_key(&self.key(field)) {
            self.size(field, 1 << 20)
        } else {
            Ok(otherwise)
        }
    }

    fn number(&self, field: &str, otherwise: Option<f64>) -> Result<f32, Unsupported> {
        self.gguf
            .number(&self.key(field))
            .or(otherwise)
            .map(|number| number as f32)
            .filter(|number| number.is_finite() && *number > 0.0)
            .ok_or_else(|| Unsupported::Metadata(self.key(field)))
    }

    /// Refuses what would change the computation in a way that the decoder does not know.
    fn refuse_extras(&self) -> Result<(), Unsupported> {
        if self
            .gguf
            .count(&self.key("expert_count"))
            .is_some_and(|experts| experts > 0)
        {
            return Err(Unsupported::Experts);
        }
        match self.gguf.text(&self.key("rope.scaling.type")) {
            None | Some("none") => Ok(()),
            Some(scaling) => Err(Unsupported::RopeScaling(scaling.escape_debug().to_string())),
        }
    }
}
