//! A tensor, as the header describes it.

use super::{GgufError, Source};

/// The most dimensions of a tensor.
const MAX_DIMENSIONS: u32 = 4;

/// A tensor of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tensor {
    /// Rows before columns; the file has it the other way round.
    pub(crate) shape: Vec<usize>,
    pub(crate) kind: TensorKind,
    /// Where its bytes start in the file.
    pub(crate) start: u64,
    /// How many they are.
    pub(crate) bytes: u64,
}

/// How the numbers of a tensor are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TensorKind {
    F32,
    F16,
    Bf16,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q2K,
    Q3K,
    Q4K,
    Q5K,
    Q6K,
}

impl TensorKind {
    fn from_code(code: u32) -> Option<Self> {
        Some(match code {
            0 => Self::F32,
            1 => Self::F16,
            2 => Self::Q4_0,
            3 => Self::Q4_1,
            6 => Self::Q5_0,
            7 => Self::Q5_1,
            8 => Self::Q8_0,
            10 => Self::Q2K,
            11 => Self::Q3K,
            12 => Self::Q4K,
            13 => Self::Q5K,
            14 => Self::Q6K,
            30 => Self::Bf16,
            _ => return None,
        })
    }

    /// The numbers of a block, and its bytes.
    pub(crate) fn block(self) -> (u64, u64) {
        match self {
            Self::F32 => (1, 4),
            Self::F16 | Self::Bf16 => (1, 2),
            Self::Q4_0 => (32, 18),
            Self::Q4_1 => (32, 20),
            Self::Q5_0 => (32, 22),
            Self::Q5_1 => (32, 24),
            Self::Q8_0 => (32, 34),
            Self::Q2K => (256, 84),
            Self::Q3K => (256, 110),
            Self::Q4K => (256, 144),
            Self::Q5K => (256, 176),
            Self::Q6K => (256, 210),
        }
    }

    /// The name that quantizers give it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::F32 => "F32",
            Self::F16 => "F16",
            Self::Bf16 => "BF16",
            Self::Q4_0 => "Q4_0",
            Self::Q4_1 => "Q4_1",
            Self::Q5_0 => "Q5_0",
            Self::Q5_1 => "Q5_1",
            Self::Q8_0 => "Q8_0",
            Self::Q2K => "Q2_K",
            Self::Q3K => "Q3_K",
            Self::Q4K => "Q4_K",
            Self::Q5K => "Q5_K",
            Self::Q6K => "Q6_K",
        }
    }
}

impl Tensor {
    pub(super) fn read(source: &mut Source, name: &str) -> Result<Self, GgufError> {
        let dimensions = source.u32()?;
        if dimensions > MAX_DIMENSIONS {
            return Err(source.damaged("a tensor has more than four dimensions"));
        }
        let mut shape = Vec::new();
        for _ in 0..dimensions {
            let size = usize::try_from(source.u64()?).ok().filter(|size| *size > 0);
            shape.push(size.ok_or_else(|| source.damaged("a tensor has a dimension of no size"))?);
        }
        let code = source.u32()?;
        let kind = TensorKind::from_code(code).ok_or_else(|| GgufError::TensorType {
            tensor: name.to_owned(),
            code,
        })?;
        let start = source.u64()?;
        let (block, block_bytes) = kind.block();
        let row = shape.first().copied().unwrap_or(1) as u64;
        let numbers = shape.iter().try_fold(1u64, |all, size| all.checked_mul(*size as u64));
        let bytes = numbers
            .filter(|_| row.is_multiple_of(block))
            .and_then(|numbers| (numbers / block).checked_mul(block_bytes))
            .ok_or_else(|| source.damaged("the size of a tensor does not fit its type"))?;
        shape.reverse();
        Ok(Self {
            shape,
            kind,
            start,
            bytes,
        })
    }

    /// How many numbers it holds.
    pub(crate) fn numbers(&self) -> u64 {
        self.shape.iter().map(|size| *size as u64).product()
    }
}
