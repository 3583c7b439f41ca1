//! The tokens of a model: byte-level BPE, built from the vocabulary and the merges of its file.

use std::collections::BTreeSet;

use tokenizers::{
    AddedToken, NormalizerWrapper, PreTokenizerWrapper, SplitDelimiterBehavior, Tokenizer,
    models::bpe::BPE,
    normalizers::unicode::NFC,
    pre_tokenizers::{
        byte_level::ByteLevel,
        digits::Digits,
        sequence::Sequence,
        split::{Split, SplitPattern},
    },
};

use super::failure::Failure;
use crate::{
    Unsupported,
    gguf::{Gguf, Value},
};

/// How Llama 3 splits text into words.
const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// How Qwen 2 splits text into words.
const QWEN2: &str =
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// The type numbers of tokens that are not made of others: control tokens, which are no text, and those that a user of
/// the format defined.
const CONTROL: u64 = 3;
const USER_DEFINED: u64 = 4;

/// The tokens that end a turn in the usual conversation formats, beside the one that the file names.
const ENDS: [&str; 6] = [
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end|>",
    "</s>",
];

/// The vocabulary of a model.
pub(super) struct Vocabulary {
    tokenizer: Tokenizer,
    /// The bytes of each token; none for a control token.
    bytes: Vec<Vec<u8>>,
    controls: Vec<String>,
    ends: BTreeSet<u32>,
    begin: Option<u32>,
    end: u32,
    tokens: Vec<String>,
}

impl Vocabulary {
    pub(super) fn read(gguf: &Gguf) -> Result<Self, Failure> {
        let tokens = texts(gguf, "tokenizer.ggml.tokens")?;
        let kinds = Kinds::read(gguf);
        let controls = kinds.tokens(&tokens, &[CONTROL, USER_DEFINED]);
        let mut tokenizer = Tokenizer::new(bpe(gguf, &tokens)?);
        let splitting = gguf.text("tokenizer.ggml.pre").unwrap_or("default");
        tokenizer.with_pre_tokenizer(Some(splitter(splitting)?));
        if splitting == "qwen2" {
            tokenizer
                .with_normalizer(Some(NormalizerWrapper::from(NFC)))
                .map_err(computation)?;
        }
        let added: Vec<AddedToken> = controls
            .iter()
            .map(|token| AddedToken::from(token.clone(), true))
            .collect();
        tokenizer.add_special_tokens(added).map_err(computation)?;
        let bytes = tokens.iter().enumerate().map(|(at, token)| match kinds.of(at) {
            Some(CONTROL) => Vec::new(),
            // Such as the tags of a tool call: a text that is one token.
            Some(USER_DEFINED) => token.clone().into_bytes(),
            _ => token_bytes(token),
        });
        let id = |key: &str| {
            let id = gguf.count(key).and_then(|id| u32::try_from(id).ok());
            id.filter(|id| (*id as usize) < tokens.len())
        };
        let end = id("tokenizer.ggml.eos_token_id").ok_or_else(|| missing("tokenizer.ggml.eos_token_id"))?;
        let known_ends = ENDS.iter().filter_map(|token| tokenizer.token_to_id(token));
        let ends = [Some(end), id("tokenizer.ggml.eot_token_id")].into_iter().flatten();
        Ok(Self {
            ends: ends.chain(known_ends).collect(),
            begin: id("tokenizer.ggml.bos_token_id"),
            end,
            bytes: bytes.collect(),
            controls,
            tokens,
            tokenizer,
        })
    }

    /// The tokens of a text, in which control tokens stand as their names.
    pub(super) fn encode(&self, text: &str) -> Result<Vec<u32>, Failure> {
        let encoding = self.tokenizer.encode_fast(text, false).map_err(computation)?;
        Ok(encoding.get_ids().to_vec())
    }

    /// The bytes that a token stands for.
    pub(super) fn bytes(&self, token: u32) -> &[u8] {
        self.bytes.get(token as usize).map_or(&[], Vec::as_slice)
    }

    /// Whether a reply ends with this token.
    pub(super) fn is_end(&self, token: u32) -> bool {
        self.ends.contains(&token)
    }

    /// The name of the token that a conversation begins with, for its template.
    pub(super) fn begin_name(&self) -> &str {
        self.begin.map_or("", |id| self.tokens[id as usize].as_str())
    }

    /// The name of the token that ends a text, for the template.
    pub(super) fn end_name(&self) -> &str {
        &self.tokens[self.end as usize]
    }

    /// A text in which nothing reads as a control token, so that only the template can end a message or begin one.
    pub(super) fn harmless(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for control in self.controls.iter().filter(|control| !control.is_empty()) {
            if text.contains(control.as_str()) {
                let mut broken = control.clone();
                let first = control.chars().next().map_or(0, char::len_utf8);
                broken.insert(first, '\u{200b}');
                text = text.replace(control.as_str(), &broken);
            }
        }
        text
    }
}

fn bpe(gguf: &Gguf, tokens: &[String]) -> Result<BPE, Failure> {
    let merges: Option<Vec<(String, String)>> = texts(gguf, "tokenizer.ggml.merges")?
        .iter()
        .map(|merge| {
            merge
                .split_once(' ')
                .map(|(left, right)| (left.to_owned(), right.to_owned()))
        })
        .collect();
    let merges = merges.ok_or_else(|| missing("tokenizer.ggml.merges"))?;
    let vocabulary: tokenizers::models::bpe::Vocab = tokens.iter().cloned().zip(0..).collect();
    BPE::builder()
        .vocab_and_merges(vocabulary, merges)
        .ignore_merges(
            gguf.text("tokenizer.ggml.pre")
                .is_some_and(|pre| pre.starts_with("llama")),
        )
        .build()
        .map_err(computation)
}

/// How text is split into the words that tokens are made of.
fn splitter(name: &str) -> Result<PreTokenizerWrapper, Failure> {
    let words = |pattern: &str| {
        Split::new(
            SplitPattern::Regex(pattern.to_owned()),
            SplitDelimiterBehavior::Isolated,
            false,
        )
        .map(|split| Sequence::new(vec![split.into(), ByteLevel::new(false, false, false).into()]))
        .map_err(computation)
    };
    Ok(match name {
        "smollm" => Sequence::new(vec![
            Digits::new(true).into(),
            ByteLevel::new(false, false, true).into(),
        ])
        .into(),
        "llama-bpe" | "llama3" => words(LLAMA3)?.into(),
        "qwen2" => words(QWEN2)?.into(),
        _ => ByteLevel::new(false, false, true).into(),
    })
}

/// The type numbers of the tokens.
struct Kinds(Vec<Option<u64>>);

impl Kinds {
    fn read(gguf: &Gguf) -> Self {
        let kinds = gguf.metadata.get("tokenizer.ggml.token_type").and_then(Value::as_list);
        Self(kinds.unwrap_or_default().iter().map(Value::as_count).collect())
    }

    fn of(&self, token: usize) -> Option<u64> {
        self.0.get(token).copied().flatten()
    }

    /// The tokens of some kinds.
    fn tokens(&self, tokens: &[String], wanted: &[u64]) -> Vec<String> {
        let is_wanted = |at: usize| self.of(at).is_some_and(|kind| wanted.contains(&kind));
        let tokens = tokens.iter().enumerate().filter(|(at, _)| is_wanted(*at));
        tokens.map(|(_, token)| token.clone()).collect()
    }
}

/// The bytes of a token, which the vocabulary writes as one character for each byte.
fn token_bytes(token: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(token.len());
    for c in token.chars() {
        match byte_of(c) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend(c.to_string().as_bytes()),
        }
    }
    bytes
}

/// The byte that a character stands for. Printable bytes of Latin-1 stand for themselves; the others, in their order,
/// are the characters from U+0100 on.
fn byte_of(c: char) -> Option<u8> {
    let code = u32::from(c);
    match code {
        0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => u8::try_from(code).ok(),
        0x100..=0x120 => u8::try_from(code - 0x100).ok(),
        0x121..=0x142 => u8::try_from(code - 0x121 + 0x7f).ok(),
        0x143 => Some(0xad),
        _ => None,
    }
}

fn texts(gguf: &Gguf, key: &str) -> Result<Vec<String>, Failure> {
    let texts = gguf.texts(key).ok_or_else(|| missing(key))?;
    Ok(texts.into_iter().map(str::to_owned).collect())
}

fn missing(key: &str) -> Failure {
    Failure::Computation(Unsupported::Metadata(key.to_owned()).to_string())
}

fn computation(error: impl std::fmt::Display) -> Failure {
    Failure::Computation(error.to_string())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::tiny::Tiny;

    fn vocabulary() -> Vocabulary {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(&Tiny::llama().bytes()).expect("written");
        let (gguf, _) = Gguf::open(file.path()).expect("a header");
        Vocabulary::read(&gguf).expect("a vocabulary")
    }

    #[test]
    fn every_byte_comes_back() {
        let vocabulary = vocabulary();
        let text: String = (0u32..0x250)
            .filter_map(char::from_u32)
            .chain("🍵 12\n\t".chars())
            .collect();
        let tokens = vocabulary.encode(&text).expect("tokens");
        let bytes: Vec<u8> = tokens
            .iter()
            .flat_map(|token| vocabulary.bytes(*token))
            .copied()
            .collect();
        assert_eq!(String::from_utf8(bytes).expect("text"), text);
    }

    #[test]
    fn a_control_token_is_one_token_and_no_text() {
        let vocabulary = vocabulary();
        let tokens = vocabulary.encode("<|im_start|>a<|im_end|>").expect("tokens");
        assert_eq!((tokens.len(), tokens[0], tokens[2]), (3, 1, 2));
        assert!(vocabulary.bytes(1).is_empty() && vocabulary.is_end(2) && vocabulary.is_end(0));
        assert_eq!(
            (vocabulary.begin_name(), vocabulary.end_name()),
            ("<|im_start|>", "<|im_end|>")
        );
    }

    #[test]
    fn a_message_cannot_hold_a_control_token() {
        let vocabulary = vocabulary();
        let text = vocabulary.harmless("a<|im_end|>b");
        assert_eq!(text, "a<\u{200b}|im_end|>b");
        assert!(!vocabulary.encode(&text).expect("tokens").contains(&2));
        assert_eq!(vocabulary.harmless("plain <text>"), "plain <text>");
    }
}
