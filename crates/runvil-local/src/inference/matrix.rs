//! A matrix of the model, in the packing that it is computed in.
//!
//! Numbers that belong to several tokens lie side by side: each row holds one number of every token.

use std::ops::Range;

use candle_core::{
    Device, Module as _, Tensor,
    quantized::{GgmlDType, QMatMul, QTensor},
};
use rayon::prelude::*;

#[cfg(target_arch = "x86_64")]
use super::{eight::Eight, four::Four};
use super::{
    failure::Failure,
    listener::Listener,
    product::{View, multiply},
};

/// From how many tokens on it is faster to unpack the matrix than to multiply it packed with each token.
const MANY: usize = 4;

/// The most numbers that are unpacked at a time. They stay in the cache of a core.
const PANEL_NUMBERS: usize = 128 * 1024;

/// A matrix of the model.
pub(super) struct Matrix {
    rows: usize,
    columns: usize,
    packed: Packed,
}

enum Packed {
    /// As `candle` computes it.
    Candle(QMatMul),
    #[cfg(target_arch = "x86_64")]
    Eight(Eight),
    #[cfg(target_arch = "x86_64")]
    Four(Four),
}

impl Matrix {
    /// A matrix as the file has it, to be computed in its own packing or in eight bits.
    pub(super) fn new(tensor: QTensor, in_eight_bits: bool) -> Result<Self, Failure> {
        let (rows, columns) = tensor.shape().dims2()?;
        Ok(Self {
            rows,
            columns,
            packed: Packed::new(tensor, in_eight_bits)?,
        })
    }

    /// The product with the numbers of some tokens.
    pub(super) fn times(&self, x: &[f32], tokens: usize, listener: &Listener) -> Result<Vec<f32>, Failure> {
        if tokens == 1 {
            return self.times_column(x);
        }
        if tokens >= MANY {
            return self.times_many(x, tokens, listener);
        }
        let mut product = vec![0.0; self.rows * tokens];
        for token in 0..tokens {
            let column: Vec<f32> = x.iter().skip(token).step_by(tokens).copied().collect();
            for (row, number) in self.times_column(&column)?.into_iter().enumerate() {
                product[row * tokens + token] = number;
            }
        }
        Ok(product)
    }

    fn times_column(&self, column: &[f32]) -> Result<Vec<f32>, Failure> {
        match &self.packed {
            Packed::Candle(matrix) => {
                let column = Tensor::from_slice(column, (1, self.columns), &Device::Cpu)?;
                Ok(matrix.forward(&column)?.flatten_all()?.to_vec1()?)
            }
            #[cfg(target_arch = "x86_64")]
            Packed::Eight(matrix) => Ok(matrix.times(column)),
            #[cfg(target_arch = "x86_64")]
            Packed::Four(matrix) => Ok(matrix.times(column)),
        }
    }

    /// Unpacks a part of the rows at a time, each part on one thread.
    fn times_many(&self, x: &[f32], tokens: usize, listener: &Listener) -> Result<Vec<f32>, Failure> {
        let mut product = vec![0.0; self.rows * tokens];
        // Every thread has a few parts, so that none waits long for another one.
        let shares = 4 * rayon::current_num_threads();
        let panel = self.rows.div_ceil(shares).min(PANEL_NUMBERS / self.columns).max(16);
        let x = View::rows(x, tokens);
        product
            .par_chunks_mut(panel * tokens)
            .enumerate()
            .try_for_each_init(Vec::new, |unpacked, (at, product)| {
                listener.check()?;
                let first = at * panel;
                self.unpack(first..first + product.len() / tokens, unpacked)?;
                multiply(View::rows(unpacked, self.columns), x, product);
                Ok::<_, Failure>(())
            })?;
        Ok(product)
    }

    /// The numbers of one row in full width.
    pub(super) fn row(&self, row: usize) -> Result<Vec<f32>, Failure> {
        let mut numbers = Vec::new();
        self.unpack(row..row + 1, &mut numbers)?;
        Ok(numbers)
    }

    fn unpack(&self, rows: Range<usize>, numbers: &mut Vec<f32>) -> Result<(), Failure> {
        match &self.packed {
            Packed::Candle(matrix) => {
                let rows = Tensor::arange(rows.start as u32, rows.end as u32, &Device::Cpu)?;
                *numbers = matrix.embedding(&rows)?.flatten_all()?.to_vec1()?;
            }
            #[cfg(target_arch = "x86_64")]
            Packed::Eight(matrix) => matrix.unpack(rows, numbers),
            #[cfg(target_arch = "x86_64")]
            Packed::Four(matrix) => matrix.unpack(rows, numbers),
        }
        Ok(())
    }
}

impl Packed {
    fn new(tensor: QTensor, in_eight_bits: bool) -> Result<Self, Failure> {
        #[cfg(target_arch = "x86_64")]
        {
            let (_, columns) = tensor.shape().dims2()?;
            if tensor.dtype() == GgmlDType::Q4_1 && Four::works(columns) {
                return Ok(Self::Four(Four::from_file(&tensor.data()?, columns)));
            }
            if in_eight_bits && Eight::works(columns) {
                let numbers: Vec<f32> = tensor.dequantize(&Device::Cpu)?.flatten_all()?.to_vec1()?;
                return Ok(Self::Eight(Eight::pack(&numbers, columns)));
            }
        }
        Self::by_candle(tensor, in_eight_bits)
    }

    fn by_candle(tensor: QTensor, in_eight_bits: bool) -> Result<Self, Failure> {
        let tensor = if in_eight_bits && tensor.dtype() != GgmlDType::Q8_0 {
            QTensor::quantize(&tensor.dequantize(&Device::Cpu)?, GgmlDType::Q8_0)?
        } else {
            tensor
        };
        Ok(Self::Candle(QMatMul::from_qtensor(tensor)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(kind: GgmlDType, in_eight_bits: bool) -> Matrix {
        let numbers: Vec<f32> = (0..70 * 64).map(|at| ((at * 37 % 101) as f32 - 50.0) / 50.0).collect();
        let tensor = Tensor::from_vec(numbers, (70, 64), &Device::Cpu).expect("a tensor");
        Matrix::new(QTensor::quantize(&tensor, kind).expect("packed"), in_eight_bits).expect("a matrix")
    }

    #[test]
    fn every_count_of_tokens_has_the_same_products() {
        let listener = Listener::nobody();
        for matrix in [
            matrix(GgmlDType::F32, false),
            matrix(GgmlDType::Q8_0, true),
            matrix(GgmlDType::Q4_1, true),
        ] {
            let column: Vec<f32> = (0..64).map(|at| (at as f32 - 30.0) / 40.0).collect();
            let alone = matrix.times(&column, 1, &listener).expect("a product");
            for tokens in [2, 3, 4, 9] {
                let side_by_side: Vec<f32> = column.iter().flat_map(|number| vec![*number; tokens]).collect();
                let product = matrix.times(&side_by_side, tokens, &listener).expect("a product");
                assert_eq!(product.len(), 70 * tokens);
                for (row, number) in alone.iter().enumerate() {
                    for token in 0..tokens {
                        assert!((product[row * tokens + token] - number).abs() < 0.2, "{tokens}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_product_ends_when_nobody_waits_for_it() {
        let product = matrix(GgmlDType::F32, false).times(&[0.0; 64 * 8], 8, &Listener::gone());
        assert!(matches!(product, Err(Failure::Cancelled)));
    }
}
