//! What a model file says of itself.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{
    architecture::{Dimensions, Unsupported},
    gguf::{Gguf, GgufError, Tensor, TensorKind},
};

/// Where a file keeps its chat template.
pub(crate) const TEMPLATE_KEY: &str = "tokenizer.chat_template";

/// The byte-level BPE vocabularies whose splitting of words is known.
pub(crate) const SPLITTINGS: [&str; 6] = ["default", "gpt-2", "smollm", "llama-bpe", "llama3", "qwen2"];

/// How many tokens of conversation a loaded model has memory for from the start.
const FIRST_TOKENS: u64 = 2048;

/// Memory that a loaded model takes besides its weights and its conversation: vocabulary and intermediate results.
const OVERHEAD_BYTES: u64 = 64 * 1024 * 1024;

/// A model file, described.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelFacts {
    /// The name that the file gives the model; may be empty.
    pub title: String,
    /// The family of the network, such as `llama`.
    pub architecture: String,
    /// How many weights it has.
    pub parameters: u64,
    /// How most of the weights are packed, such as `Q4_1`.
    pub quantization: String,
    /// The context window in tokens.
    pub context: u32,
    /// The memory that the model takes once it is loaded, in bytes.
    pub memory: u64,
}

/// Why a file cannot be used as a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelFileError {
    /// The file is no sound GGUF file.
    #[error(transparent)]
    Gguf(#[from] GgufError),
    /// The model is not one that runs here.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
}

impl ModelFacts {
    /// Reads a model file's header and tells whether the model can run here.
    ///
    /// # Errors
    /// The file cannot be read, is no sound GGUF file, or holds a model of a kind that is not supported.
    pub fn read(path: &Path) -> Result<Self, ModelFileError> {
        let (gguf, _) = Gguf::open(path)?;
        Ok(Self::of(&gguf)?)
    }

    pub(crate) fn of(gguf: &Gguf) -> Result<Self, Unsupported> {
        let dimensions = Dimensions::read(gguf)?;
        check_tokenizer(gguf)?;
        if gguf.text(TEMPLATE_KEY).is_none() {
            return Err(Unsupported::NoChatTemplate);
        }
        let context = dimensions.context as u64;
        let weights: u64 = gguf
            .tensors
            .values()
            .map(|tensor| loaded_bytes(tensor.kind, tensor.numbers()))
            .sum();
        Ok(Self {
            title: gguf
                .text("general.name")
                .unwrap_or_default()
                .chars()
                .filter(|c| !c.is_control())
                .collect(),
            architecture: gguf.text("general.architecture").unwrap_or_default().to_owned(),
            parameters: gguf.tensors.values().map(Tensor::numbers).sum(),
            quantization: most_of(gguf).map_or("", TensorKind::name).to_owned(),
            context: u32::try_from(dimensions.context).unwrap_or(u32::MAX),
            memory: weights + dimensions.cache_bytes_per_token() * context.min(FIRST_TOKENS) + OVERHEAD_BYTES,
        })
    }
}

/// What a kind of packing is loaded as. Some kinds have no fast kernel; twice the bytes are better than a tenth of the
/// speed.
pub(crate) fn loaded_kind(kind: TensorKind) -> TensorKind {
    match kind {
        TensorKind::Q4_1 | TensorKind::Q5_0 | TensorKind::Q5_1 => TensorKind::Q8_0,
        // Matrices without packing are computed as they are, in full width.
        TensorKind::F16 | TensorKind::Bf16 => TensorKind::F32,
        kind => kind,
    }
}

fn loaded_bytes(kind: TensorKind, numbers: u64) -> u64 {
    let kind = loaded_kind(kind);
    let (block, mut bytes) = kind.block();
    if kind == TensorKind::Q8_0 {
        // The scale of a block is in full width then.
        bytes += 2;
    }
    numbers / block * bytes
}

/// The kind that most of the weights have.
fn most_of(gguf: &Gguf) -> Option<TensorKind> {
    let mut kinds: Vec<TensorKind> = gguf.tensors.values().map(|tensor| tensor.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds.into_iter().max_by_key(|kind| {
        let of_kind = gguf.tensors.values().filter(|tensor| tensor.kind == *kind);
        of_kind.map(Tensor::numbers).sum::<u64>()
    })
}

fn check_tokenizer(gguf: &Gguf) -> Result<(), Unsupported> {
    let missing = |key: &str| Unsupported::Metadata(key.to_owned());
    match gguf.text("tokenizer.ggml.model") {
        Some("gpt2") => {}
        Some(model) => return Err(Unsupported::Tokenizer(model.escape_debug().to_string())),
        None => return Err(missing("tokenizer.ggml.model")),
    }
    let splitting = gguf.text("tokenizer.ggml.pre").unwrap_or("default");
    if !SPLITTINGS.contains(&splitting) {
        return Err(Unsupported::Tokenizer(splitting.escape_debug().to_string()));
    }
    for key in ["tokenizer.ggml.tokens", "tokenizer.ggml.merges"] {
        gguf.texts(key).ok_or_else(|| missing(key))?;
    }
    let key = "tokenizer.ggml.eos_token_id";
    let tokens = gguf
        .texts("tokenizer.ggml.tokens")
        .map_or(0, |tokens| tokens.len() as u64);
    gguf.count(key)
        .filter(|id| *id < tokens)
        .map(|_| ())
        .ok_or_else(|| missing(key))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::tiny::{Meta, Tiny};

    fn read(tiny: &Tiny) -> Result<ModelFacts, String> {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(&tiny.bytes()).expect("written");
        ModelFacts::read(file.path()).map_err(|error| error.to_string())
    }

    fn refusal(tiny: &Tiny) -> String {
        read(tiny).expect_err("refused")
    }

    #[test]
    fn a_file_is_described() {
        let facts = read(&Tiny::llama()).expect("supported");
        assert_eq!((facts.title.as_str(), facts.architecture.as_str()), ("Tiny", "llama"));
        assert_eq!((facts.context, facts.quantization.as_str()), (128, "F32"));
        assert!(facts.memory > OVERHEAD_BYTES + 4 * facts.parameters);
        assert!(read(&Tiny::of("qwen2")).is_ok());
    }

    #[test]
    fn what_cannot_run_here_is_told() {
        let key = "general.architecture";
        assert_eq!(
            refusal(&Tiny::llama().with(key, Meta::Text("mamba"))),
            "the architecture `mamba` is not supported, only llama and qwen2"
        );
        assert_eq!(
            refusal(&Tiny::llama().without(key)),
            "the metadata `general.architecture` is missing or has no sense"
        );
        assert_eq!(
            refusal(&Tiny::llama().with("llama.expert_count", Meta::U32(8))),
            "models with several experts are not supported"
        );
        assert_eq!(
            refusal(&Tiny::llama().with("llama.rope.scaling.type", Meta::Text("yarn"))),
            "the rope scaling `yarn` is not supported"
        );
        assert_eq!(
            refusal(&Tiny::llama().with("tokenizer.ggml.model", Meta::Text("llama"))),
            "the tokenizer `llama` is not supported, only byte-level BPE"
        );
        assert_eq!(
            refusal(&Tiny::llama().without("tokenizer.chat_template")),
            "the file has no chat template, so the model is not made for conversations"
        );
    }

    #[test]
    fn sizes_that_do_not_fit_are_told() {
        for (key, value) in [
            ("llama.attention.head_count", 0),
            ("llama.attention.head_count", 7),
            ("llama.attention.head_count_kv", 3),
            ("llama.rope.dimension_count", 6),
            ("llama.context_length", u32::MAX),
            ("tokenizer.ggml.eos_token_id", 259),
        ] {
            let error = refusal(&Tiny::llama().with(key, Meta::U32(value)));
            assert_eq!(
                error,
                format!("the metadata `{key}` is missing or has no sense"),
                "{value}"
            );
        }
        let mut narrow = Tiny::llama();
        narrow.tensors.insert("blk.1.ffn_up.weight".to_owned(), vec![64, 95]);
        assert_eq!(
            refusal(&narrow),
            "the tensor `blk.1.ffn_up.weight` is missing or has an unexpected shape"
        );
        let mut none = Tiny::of("qwen2");
        none.tensors.remove("blk.0.attn_q.bias");
        assert_eq!(
            refusal(&none),
            "the tensor `blk.0.attn_q.bias` is missing or has an unexpected shape"
        );
    }
}
