//! Makes small GGUF files: a model that computes, with weights that mean nothing.

use std::collections::BTreeMap;

/// A metadata value to write.
#[derive(Clone)]
pub(crate) enum Meta {
    U32(u32),
    F32(f32),
    Text(&'static str),
    Texts(Vec<String>),
    I32s(Vec<i32>),
}

/// A GGUF file to write.
#[derive(Clone)]
pub(crate) struct Tiny {
    pub(crate) metadata: BTreeMap<String, Meta>,
    /// The tensors, each with its shape, columns first, all of them F32.
    pub(crate) tensors: BTreeMap<String, Vec<u64>>,
}

pub(crate) const CHATML: &str = "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + \
    message['content'] + '<|im_end|>\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' \
    }}{% endif %}";

const WIDTH: u64 = 64;
const HIDDEN: u64 = 96;
const LAYERS: u64 = 2;

/// The characters that stand for the bytes in a byte-level vocabulary.
fn byte_tokens() -> Vec<String> {
    let plain = |byte: &u32| matches!(*byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    let mut next = 0x100;
    (0u32..256)
        .map(|byte| {
            let code = if plain(&byte) {
                byte
            } else {
                next += 1;
                next - 1
            };
            char::from_u32(code).expect("a character").to_string()
        })
        .collect()
}

impl Tiny {
    /// A model of two layers, a vocabulary of the 256 bytes and three control tokens, and a window of 128 tokens.
    pub(crate) fn llama() -> Self {
        Self::of("llama")
    }

    pub(crate) fn of(architecture: &'static str) -> Self {
        let mut tokens = vec![
            "<|endoftext|>".to_owned(),
            "<|im_start|>".to_owned(),
            "<|im_end|>".to_owned(),
        ];
        tokens.extend(byte_tokens());
        let vocabulary = tokens.len() as u64;
        let kinds = (0..tokens.len()).map(|id| if id < 3 { 3 } else { 1 }).collect();
        let key = |name: &str| format!("{architecture}.{name}");
        let metadata = BTreeMap::from([
            ("general.architecture".to_owned(), Meta::Text(architecture)),
            ("general.name".to_owned(), Meta::Text("Tiny")),
            (key("block_count"), Meta::U32(LAYERS as u32)),
            (key("context_length"), Meta::U32(128)),
            (key("embedding_length"), Meta::U32(WIDTH as u32)),
            (key("feed_forward_length"), Meta::U32(HIDDEN as u32)),
            (key("attention.head_count"), Meta::U32(4)),
            (key("attention.head_count_kv"), Meta::U32(2)),
            (key("attention.layer_norm_rms_epsilon"), Meta::F32(1e-5)),
            (key("rope.freq_base"), Meta::F32(10000.0)),
            ("tokenizer.ggml.model".to_owned(), Meta::Text("gpt2")),
            ("tokenizer.ggml.pre".to_owned(), Meta::Text("smollm")),
            ("tokenizer.ggml.tokens".to_owned(), Meta::Texts(tokens)),
            ("tokenizer.ggml.token_type".to_owned(), Meta::I32s(kinds)),
            ("tokenizer.ggml.merges".to_owned(), Meta::Texts(Vec::new())),
            ("tokenizer.ggml.bos_token_id".to_owned(), Meta::U32(1)),
            ("tokenizer.ggml.eos_token_id".to_owned(), Meta::U32(2)),
            ("tokenizer.chat_template".to_owned(), Meta::Text(CHATML)),
        ]);
        let mut tensors = BTreeMap::from([
            ("token_embd.weight".to_owned(), vec![WIDTH, vocabulary]),
            ("output_norm.weight".to_owned(), vec![WIDTH]),
        ]);
        for layer in 0..LAYERS {
            for (name, shape) in [
                ("attn_norm", vec![WIDTH]),
                ("attn_q", vec![WIDTH, WIDTH]),
                ("attn_k", vec![WIDTH, WIDTH / 2]),
                ("attn_v", vec![WIDTH, WIDTH / 2]),
                ("attn_output", vec![WIDTH, WIDTH]),
                ("ffn_norm", vec![WIDTH]),
                ("ffn_gate", vec![WIDTH, HIDDEN]),
                ("ffn_up", vec![WIDTH, HIDDEN]),
                ("ffn_down", vec![HIDDEN, WIDTH]),
            ] {
                tensors.insert(format!("blk.{layer}.{name}.weight"), shape);
            }
            if architecture == "qwen2" {
                for (name, size) in [("attn_q", WIDTH), ("attn_k", WIDTH / 2), ("attn_v", WIDTH / 2)] {
                    tensors.insert(format!("blk.{layer}.{name}.bias"), vec![size]);
                }
            }
        }
        Self { metadata, tensors }
    }

    /// The file with another value under a key.
    pub(crate) fn with(mut self, key: &str, value: Meta) -> Self {
        self.metadata.insert(key.to_owned(), value);
        self
    }

    /// The file without a key.
    pub(crate) fn without(mut self, key: &str) -> Self {
        self.metadata.remove(key);
        self
    }

    /// The bytes of the file.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = b"GGUF".to_vec();
        out.extend(3u32.to_le_bytes());
        out.extend((self.tensors.len() as u64).to_le_bytes());
        out.extend((self.metadata.len() as u64).to_le_bytes());
        for (key, value) in &self.metadata {
            text(&mut out, key);
            meta(&mut out, value);
        }
        let mut offset = 0;
        for (name, shape) in &self.tensors {
            text(&mut out, name);
            out.extend((shape.len() as u32).to_le_bytes());
            for size in shape {
                out.extend(size.to_le_bytes());
            }
            out.extend(0u32.to_le_bytes());
            out.extend(offset_bytes(&mut offset, shape));
        }
        out.resize(out.len().next_multiple_of(32), 0);
        let data = out.len();
        for (name, shape) in &self.tensors {
            numbers(&mut out, name, shape);
            out.resize(data + (out.len() - data).next_multiple_of(32), 0);
        }
        out
    }
}

fn offset_bytes(offset: &mut u64, shape: &[u64]) -> [u8; 8] {
    let here = *offset;
    *offset = (here + 4 * shape.iter().product::<u64>()).next_multiple_of(32);
    here.to_le_bytes()
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

fn meta(out: &mut Vec<u8>, value: &Meta) {
    let list = |out: &mut Vec<u8>, kind: u32, len: usize| {
        out.extend(9u32.to_le_bytes());
        out.extend(kind.to_le_bytes());
        out.extend((len as u64).to_le_bytes());
    };
    match value {
        Meta::U32(number) => {
            out.extend(4u32.to_le_bytes());
            out.extend(number.to_le_bytes());
        }
        Meta::F32(number) => {
            out.extend(6u32.to_le_bytes());
            out.extend(number.to_le_bytes());
        }
        Meta::Text(value) => {
            out.extend(8u32.to_le_bytes());
            text(out, value);
        }
        Meta::Texts(values) => {
            list(out, 8, values.len());
            for value in values {
                text(out, value);
            }
        }
        Meta::I32s(values) => {
            list(out, 5, values.len());
            for value in values {
                out.extend(value.to_le_bytes());
            }
        }
    }
}

/// Numbers that look drawn: small, of both signs, the same in every file. A norm is all ones.
fn numbers(out: &mut Vec<u8>, name: &str, shape: &[u64]) {
    let mut state = name.bytes().fold(0x9e37_79b9_7f4a_7c15_u64, |state, byte| {
        (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    for _ in 0..shape.iter().product::<u64>() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let drawn = (state >> 40) as f32 / (1u64 << 24) as f32 - 0.5;
        let number = if name.ends_with("norm.weight") { 1.0 } else { drawn };
        out.extend(number.to_le_bytes());
    }
}
