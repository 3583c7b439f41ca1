//! The weights of a model, read from its file.

use std::{fs::File, path::Path};

use candle_core::{
    Device,
    quantized::{GgmlDType, QTensor, ggml_file::qtensor_from_ggml},
};

use super::{failure::Failure, listener::Listener, matrix::Matrix};
use crate::{
    Unsupported,
    facts::loaded_kind,
    gguf::{Gguf, TensorKind},
};

/// Reads the weights of a model one after the other.
pub(super) struct Weights<'a> {
    gguf: &'a Gguf,
    path: &'a Path,
    file: File,
    listener: &'a Listener,
}

impl<'a> Weights<'a> {
    pub(super) fn new(gguf: &'a Gguf, path: &'a Path, file: File, listener: &'a Listener) -> Self {
        Self {
            gguf,
            path,
            file,
            listener,
        }
    }

    /// A matrix to multiply with.
    pub(super) fn matrix(&mut self, name: &str) -> Result<Matrix, Failure> {
        let (tensor, kind) = self.packed(name)?;
        Matrix::new(tensor, loaded_kind(kind) == TensorKind::Q8_0)
    }

    /// A matrix that not every model has.
    pub(super) fn matrix_if_any(&mut self, name: &str) -> Result<Option<Matrix>, Failure> {
        self.has(name).then(|| self.matrix(name)).transpose()
    }

    /// A tensor in full width, such as a norm or a bias.
    pub(super) fn full(&mut self, name: &str) -> Result<Vec<f32>, Failure> {
        let (tensor, _) = self.packed(name)?;
        Ok(tensor.dequantize(&Device::Cpu)?.flatten_all()?.to_vec1()?)
    }

    /// A tensor in full width that not every model has.
    pub(super) fn full_if_any(&mut self, name: &str) -> Result<Option<Vec<f32>>, Failure> {
        self.has(name).then(|| self.full(name)).transpose()
    }

    fn has(&self, name: &str) -> bool {
        self.gguf.tensors.contains_key(name)
    }

    fn packed(&mut self, name: &str) -> Result<(QTensor, TensorKind), Failure> {
        self.listener.go_on()?;
        let missing = || Failure::Computation(Unsupported::Tensor(name.to_owned()).to_string());
        let tensor = self.gguf.tensors.get(name).ok_or_else(missing)?;
        let bytes = Gguf::bytes(&mut self.file, tensor).map_err(|error| Failure::Disk {
            path: self.path.to_owned(),
            error,
        })?;
        let packed = qtensor_from_ggml(candle_kind(tensor.kind), &bytes, tensor.shape.clone(), &Device::Cpu)?;
        Ok((packed, tensor.kind))
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
