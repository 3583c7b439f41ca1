//! Matrices of four-bit numbers with a least number for each block, multiplied with the vector instructions of x86-64
//! processors. They take two thirds of the memory of eight-bit ones, and so a product waits for less of it.

use std::{
    arch::x86_64::{
        __m256i, _mm_and_si128, _mm_loadu_si128, _mm_set1_epi8, _mm_srli_epi16, _mm256_cvtepi32_ps, _mm256_fmadd_ps,
        _mm256_madd_epi16, _mm256_maddubs_epi16, _mm256_set_m128i, _mm256_set1_epi16, _mm256_set1_ps,
        _mm256_setzero_ps,
    },
    ops::Range,
};

use half::f16;
use rayon::prelude::*;

use super::eight::{self, BLOCK, Eight, TASK_ROWS};

/// The bytes of a block in a file: two numbers of 16 bits before the packed ones.
const FILE_BLOCK: usize = 2 + 2 + BLOCK / 2;

/// Numbers that share a scale and a least number: each is `packed · scale + least`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Block {
    scale: f32,
    least: f32,
    /// Each byte holds a number of the first half of the block and, above it, one of the second.
    pairs: [u8; BLOCK / 2],
}

/// A matrix of four-bit numbers.
pub(super) struct Four {
    blocks: Vec<Block>,
    row_blocks: usize,
}

impl Four {
    /// Whether this processor has the instructions, and rows of that length fit into blocks.
    pub(super) fn works(columns: usize) -> bool {
        Eight::works(columns)
    }

    /// Takes a matrix over from the bytes of a file that has it as `Q4_1`. [`Self::works`] must hold for its columns.
    pub(super) fn from_file(bytes: &[u8], columns: usize) -> Self {
        assert!(Self::works(columns), "the processor has the instructions");
        let half = |bytes: [u8; 2]| f16::from_le_bytes(bytes).to_f32();
        let blocks = bytes.as_chunks::<FILE_BLOCK>().0.iter().map(|block| {
            let [s0, s1, l0, l1, pairs @ ..] = *block;
            Block {
                scale: half([s0, s1]),
                least: half([l0, l1]),
                pairs,
            }
        });
        Self {
            blocks: blocks.collect(),
            row_blocks: columns / BLOCK,
        }
    }

    /// The product with one column.
    pub(super) fn times(&self, column: &[f32]) -> Vec<f32> {
        assert_eq!(column.len(), self.row_blocks * BLOCK, "the column fits the rows");
        let column = eight::packed(column);
        let sums: Vec<f32> = column.iter().map(eight::Block::sum).collect();
        let mut product = vec![0.0; self.blocks.len() / self.row_blocks];
        product
            .par_chunks_mut(TASK_ROWS)
            .zip(self.blocks.par_chunks(TASK_ROWS * self.row_blocks))
            .for_each(|(product, rows)| {
                // SAFETY: a matrix exists only where the instructions do.
                unsafe { products(rows, &column, &sums, product) }
            });
        product
    }

    /// The numbers of some rows in full width.
    pub(super) fn unpack(&self, rows: Range<usize>, numbers: &mut Vec<f32>) {
        numbers.resize(rows.len() * self.row_blocks * BLOCK, 0.0);
        let blocks = &self.blocks[rows.start * self.row_blocks..rows.end * self.row_blocks];
        // SAFETY: a matrix exists only where the instructions do.
        unsafe { unpack(blocks, numbers) }
    }
}

#[target_feature(enable = "avx2,fma")]
fn unpack(blocks: &[Block], numbers: &mut [f32]) {
    for (block, numbers) in blocks.iter().zip(numbers.as_chunks_mut::<BLOCK>().0) {
        let (first, second) = numbers.split_at_mut(BLOCK / 2);
        for ((first, second), pair) in first.iter_mut().zip(second).zip(block.pairs) {
            *first = f32::from(pair & 15) * block.scale + block.least;
            *second = f32::from(pair >> 4) * block.scale + block.least;
        }
    }
}

#[target_feature(enable = "avx2,fma")]
fn products(rows: &[Block], column: &[eight::Block], sums: &[f32], products: &mut [f32]) {
    for (product, row) in products.iter_mut().zip(rows.chunks_exact(column.len())) {
        *product = dot(row, column, sums);
    }
}

/// The product of a row and a column, of whose blocks the sums are known: the least number of a block meets each number.
#[target_feature(enable = "avx2,fma")]
fn dot(row: &[Block], column: &[eight::Block], sums: &[f32]) -> f32 {
    let ones = _mm256_set1_epi16(1);
    let (mut scaled, mut least) = (_mm256_setzero_ps(), 0.0);
    for ((left, right), sum) in row.iter().zip(column).zip(sums) {
        let pairs = _mm256_maddubs_epi16(load(&left.pairs), right.load());
        let scale = _mm256_set1_ps(left.scale * right.scale());
        scaled = _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(_mm256_madd_epi16(pairs, ones)), scaled);
        least += left.least * sum;
    }
    least + eight::sum(scaled)
}

/// The numbers of a block, without a sign, each in a byte.
#[target_feature(enable = "avx2,fma")]
fn load(pairs: &[u8; BLOCK / 2]) -> __m256i {
    // SAFETY: the array has the 16 bytes that are read, and they need not be aligned.
    let pairs = unsafe { _mm_loadu_si128(pairs.as_ptr().cast()) };
    let low = _mm_set1_epi8(15);
    _mm256_set_m128i(
        _mm_and_si128(_mm_srli_epi16::<4>(pairs), low),
        _mm_and_si128(pairs, low),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two rows of two blocks, and what they hold.
    fn matrix() -> (Four, Vec<f32>) {
        let (mut bytes, mut numbers) = (Vec::new(), Vec::new());
        for block in 0..4u8 {
            let (scale, least) = (0.25 * f32::from(block + 1), f32::from(block) - 2.0);
            bytes.extend(f16::from_f32(scale).to_le_bytes());
            bytes.extend(f16::from_f32(least).to_le_bytes());
            let packed = |at: u8| (at * 7 + block * 3) % 16;
            bytes.extend((0..16).map(|at| packed(at) | packed(at + 16) << 4));
            numbers.extend((0..32).map(|at| f32::from(packed(at)) * scale + least));
        }
        (Four::from_file(&bytes, 64), numbers)
    }

    #[test]
    fn what_a_file_holds_is_unpacked() {
        if !Four::works(64) {
            return;
        }
        let (matrix, numbers) = matrix();
        let mut unpacked = Vec::new();
        matrix.unpack(0..2, &mut unpacked);
        assert_eq!(unpacked, numbers);
        matrix.unpack(1..2, &mut unpacked);
        assert_eq!(unpacked, numbers[64..]);
    }

    #[test]
    fn a_product_is_the_sum_of_the_products() {
        if !Four::works(64) {
            return;
        }
        let (matrix, numbers) = matrix();
        let column: Vec<f32> = (0..64).map(|at| (at as f32 - 20.0) / 16.0).collect();
        for (row, product) in numbers.chunks(64).zip(matrix.times(&column)) {
            let exact: f32 = row.iter().zip(&column).map(|(left, right)| left * right).sum();
            assert!((exact - product).abs() < 0.5, "{exact} {product}");
        }
    }
}
