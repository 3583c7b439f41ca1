//! The weights of a model, read from its file.

use std::{fs::File, sync::Arc};

use candle_core::{
    Device, Tensor,
    quantized::{GgmlDType, QMatMul, QTensor, ggml_file::qtensor_from_ggml},
};

use super::failure::Failure;
use crate::{
    GgufError, Unsupported,
    facts::loaded_kind,
    gguf::{Gguf, TensorKind},
};

/// Reads the weights of a model one after the other.
pub(super) struct Weights<'a> {
    gguf: &'a Gguf,
    file: File,
    /// Called before each tensor; its refusal ends the loading.
    go_on: &'a mut dyn FnMut() -> Result<(), Failure>,
}

impl<'a> Weights<'a> {
    pub(super) fn new(gguf: &'a Gguf, file: File, go_on: &'a mut dyn FnMut() -> Result<(), Failure>) -> Self {
        Self { gguf, file, go_on }
    }

    /// A matrix to multiply with.
    pub(super) fn matrix(&mut self, name: &str) -> Result<QMatMul, Failure> {
        Ok(QMatMul::from_qtensor(self.packed(name)?)?)
    }

    /// A tensor in full width, such as a norm or a bias.
    pub(super) fn full(&mut self, name: &str) -> Result<Tensor, Failure> {
        Ok(self.packed(name)?.dequantize(&Device::Cpu)?)
    }

    /// A tensor in full width that not every model has.
    pub(super) fn full_if_any(&mut self, name: &str) -> Result<Option<Tensor>, Failure> {
        self.gguf
            .tensors
            .contains_key(name)
            .then(|| self.full(name))
            .transpose()
    }

    /// The table of the tokens, and the matrix that scores them, which is the same one in small models.
    pub(super) fn tokens(&mut self) -> Result<(Arc<QTensor>, QMatMul), Failure> {
        let table = Arc::new(self.packed("token_embd.weight")?);
        let output = if self.gguf.tensors.contains_key("output.weight") {
            self.matrix("output.weight")?
        } else {
            QMatMul::from_arc(Arc::clone(&table))?
        };
        Ok((table, output))
    }

    fn packed(&mut self, name: &str) -> Result<QTensor, Failure> {
        (self.go_on)()?;
        let missing = || Failure::Computation(Unsupported::Tensor(name.to_owned()).to_string());
        let tensor = self.gguf.tensors.get(name).ok_or_else(missing)?;
        let bytes = Gguf::bytes(&mut self.file, tensor).map_err(|error| {
            Failure::Computation(format!("the tensor `{name}` cannot be read: {}", GgufError::Io(error)))
        })?;
        let packed = qtensor_from_ggml(candle_kind(tensor.kind), &bytes, tensor.shape.clone(), &Device::Cpu)?;
        let wanted = loaded_kind(tensor.kind);
        if wanted == TensorKind::Q8_0 && tensor.kind != wanted {
            return Ok(QTensor::quantize(&packed.dequantize(&Device::Cpu)?, GgmlDType::Q8_0)?);
        }
        Ok(packed)
    }
}

fn candle_kind(kind: TensorKind) -> GgmlDType {
    match kind {
        TensorKind::F32 => GgmlDType::F32,
        TensorKind::F16 => GgmlDType::F16,
        TensorKind::Bf16 => GgmlDType::BF16,
        TensorKind::Q4_0 => GgmlDType::Q4_0,
        TensorKind::Q4_1 => GgmlDType::Q4_1,
        TensorKind::Q5_0 => GgmlDType::Q5_0,
        TensorKind::Q5_1 => GgmlDType::Q5_1,
        TensorKind::Q8_0 => GgmlDType::Q8_0,
        TensorKind::Q2K => GgmlDType::Q2K,
        TensorKind::Q3K => GgmlDType::Q3K,
        TensorKind::Q4K => GgmlDType::Q4K,
        TensorKind::Q5K => GgmlDType::Q5K,
        TensorKind::Q6K => GgmlDType::Q6K,
    }
}
