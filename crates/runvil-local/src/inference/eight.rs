//! Matrices of eight-bit numbers, multiplied with the vector instructions of x86-64 processors.
//!
//! The kernels of `candle` for this packing turn the scale of each block through a function call, which takes longer
//! than the products of the block. Here scales are kept in full width.

use std::arch::x86_64::{
    __m256, __m256i, _mm_add_ps, _mm_add_ss, _mm_cvtss_f32, _mm_movehdup_ps, _mm_movehl_ps, _mm256_castps256_ps128,
    _mm256_cvtepi32_ps, _mm256_extractf128_ps, _mm256_fmadd_ps, _mm256_loadu_si256, _mm256_madd_epi16,
    _mm256_maddubs_epi16, _mm256_set1_epi16, _mm256_set1_ps, _mm256_setzero_ps, _mm256_sign_epi8,
};

use rayon::prelude::*;

/// How many numbers share a scale.
pub(super) const BLOCK: usize = 32;

/// The fewest rows that are worth a task of their own.
pub(super) const TASK_ROWS: usize = 32;

/// The largest number of a block. The smallest is its negative: products of pairs fit into 16 bits then.
const LARGEST: f32 = 127.0;

/// Numbers that share a scale.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Block {
    scale: f32,
    numbers: [i8; BLOCK],
}

impl Block {
    /// What its numbers are multiplied with.
    pub(super) fn scale(&self) -> f32 {
        self.scale
    }

    /// The sum of what its numbers stand for.
    pub(super) fn sum(&self) -> f32 {
        let sum: i32 = self.numbers.iter().map(|number| i32::from(*number)).sum();
        sum as f32 * self.scale
    }

    /// Its numbers, each in a byte.
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn load(&self) -> __m256i {
        // SAFETY: the array has the 32 bytes that are read, and they need not be aligned.
        unsafe { _mm256_loadu_si256(self.numbers.as_ptr().cast()) }
    }
}

/// A matrix of eight-bit numbers.
pub(super) struct Eight {
    blocks: Vec<Block>,
    row_blocks: usize,
}

impl Eight {
    /// Whether this processor has the instructions, and rows of that length fit into blocks.
    pub(super) fn works(columns: usize) -> bool {
        columns.is_multiple_of(BLOCK) && is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
    }

    /// Packs a matrix whose rows lie one after the other. [`Self::works`] must hold for its columns.
    pub(super) fn pack(numbers: &[f32], columns: usize) -> Self {
        assert!(Self::works(columns), "the processor has the instructions");
        let mut blocks = vec![Block::default(); numbers.len() / BLOCK];
        let rows = blocks.par_chunks_mut(columns / BLOCK);
        rows.zip(numbers.par_chunks(columns)).for_each(|(row, numbers)| {
            // SAFETY: the instructions are there, as was checked above.
            unsafe { pack(numbers, row) }
        });
        Self {
            blocks,
            row_blocks: columns / BLOCK,
        }
    }

    /// The product with one column.
    pub(super) fn times(&self, column: &[f32]) -> Vec<f32> {
        assert_eq!(column.len(), self.row_blocks * BLOCK, "the column fits the rows");
        let packed = packed(column);
        let mut product = vec![0.0; self.blocks.len() / self.row_blocks];
        product
            .par_chunks_mut(TASK_ROWS)
            .zip(self.blocks.par_chunks(TASK_ROWS * self.row_blocks))
            .for_each(|(product, rows)| {
                // SAFETY: a matrix exists only where the instructions do.
                unsafe { products(rows, &packed, product) }
            });
        product
    }

    /// The numbers of some rows in full width.
    pub(super) fn unpack(&self, rows: std::ops::Range<usize>, numbers: &mut Vec<f32>) {
        numbers.resize(rows.len() * self.row_blocks * BLOCK, 0.0);
        let blocks = &self.blocks[rows.start * self.row_blocks..rows.end * self.row_blocks];
        // SAFETY: a matrix exists only where the instructions do.
        unsafe { unpack(blocks, numbers) }
    }
}

/// A column in blocks. It is asked for where a matrix is, and so where the instructions are.
pub(super) fn packed(column: &[f32]) -> Vec<Block> {
    assert!(Eight::works(column.len()), "the processor has the instructions");
    let mut packed = vec![Block::default(); column.len() / BLOCK];
    // SAFETY: the instructions are there, as was checked above.
    unsafe { pack(column, &mut packed) };
    packed
}

#[target_feature(enable = "avx2,fma")]
fn pack(numbers: &[f32], blocks: &mut [Block]) {
    for (block, numbers) in blocks.iter_mut().zip(numbers.as_chunks::<BLOCK>().0) {
        let largest = numbers
            .iter()
            .fold(0.0, |largest: f32, number| largest.max(number.abs()));
        block.scale = largest / LARGEST;
        let inverse = if largest > 0.0 { LARGEST / largest } else { 0.0 };
        for (packed, number) in block.numbers.iter_mut().zip(numbers) {
            *packed = (number * inverse).round_ties_even() as i8;
        }
    }
}

#[target_feature(enable = "avx2,fma")]
fn unpack(blocks: &[Block], numbers: &mut [f32]) {
    for (block, numbers) in blocks.iter().zip(numbers.as_chunks_mut::<BLOCK>().0) {
        for (number, packed) in numbers.iter_mut().zip(block.numbers) {
            *number = f32::from(packed) * block.scale;
        }
    }
}

#[target_feature(enable = "avx2,fma")]
fn products(rows: &[Block], column: &[Block], products: &mut [f32]) {
    for (product, row) in products.iter_mut().zip(rows.chunks_exact(column.len())) {
        *product = dot(row, column);
    }
}

#[target_feature(enable = "avx2,fma")]
fn dot(row: &[Block], column: &[Block]) -> f32 {
    let ones = _mm256_set1_epi16(1);
    let mut sums = _mm256_setzero_ps();
    for (left, right) in row.iter().zip(column) {
        let scale = _mm256_set1_ps(left.scale * right.scale);
        let (left, right) = (left.load(), right.load());
        // The instruction takes numbers without a sign on its left: the sign goes over to the right.
        let pairs = _mm256_maddubs_epi16(_mm256_sign_epi8(left, left), _mm256_sign_epi8(right, left));
        sums = _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(_mm256_madd_epi16(pairs, ones)), sums);
    }
    sum(sums)
}

/// The sum of eight numbers.
#[target_feature(enable = "avx2,fma")]
pub(super) fn sum(eight: __m256) -> f32 {
    let four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
    let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of both signs, some of them alike.
    fn numbers(count: usize) -> Vec<f32> {
        (0..count).map(|at| ((at * 37 % 101) as f32 - 50.0) / 25.0).collect()
    }

    #[test]
    fn what_was_packed_comes_back_nearly() {
        if !Eight::works(64) {
            return;
        }
        let mut all = numbers(64 * 3);
        all[64..96].fill(0.0);
        let mut back = Vec::new();
        Eight::pack(&all, 64).unpack(1..3, &mut back);
        assert!(
            back.iter()
                .zip(&all[64..])
                .all(|(left, right)| (left - right).abs() <= 1.0 / 127.0)
        );
        assert_eq!(back[..32], [0.0; 32]);
    }

    #[test]
    fn a_product_is_the_sum_of_the_products() {
        if !Eight::works(96) {
            return;
        }
        let (matrix, column) = (numbers(96 * 70), numbers(96));
        let product = Eight::pack(&matrix, 96).times(&column);
        assert_eq!(product.len(), 70);
        for (row, product) in matrix.chunks(96).zip(product) {
            let exact: f32 = row.iter().zip(&column).map(|(left, right)| left * right).sum();
            assert!((exact - product).abs() < 0.5, "{exact} {product}");
        }
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        if !Eight::works(32) {
            return;
        }
        for (left, right) in [(3.0, 3.0), (-3.0, 3.0), (-3.0, -3.0)] {
            let product = Eight::pack(&[left; 32], 32).times(&[right; 32]);
            assert!((product[0] - left * right * 32.0).abs() < 0.01, "{product:?}");
        }
    }
}
