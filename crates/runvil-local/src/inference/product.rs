//! Products of matrices in full width.

use gemm::{Parallelism, gemm};

/// A matrix that lies in a slice.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    numbers: &'a [f32],
    rows: usize,
    columns: usize,
    /// How far it is from one row to the next, and from one column to the next.
    steps: (usize, usize),
}

impl<'a> View<'a> {
    /// A matrix whose rows lie one after the other.
    pub(super) fn rows(numbers: &'a [f32], columns: usize) -> Self {
        Self::spaced(numbers, numbers.len() / columns, columns, columns)
    }

    /// A matrix whose rows begin this far from each other.
    pub(super) fn spaced(numbers: &'a [f32], rows: usize, columns: usize, step: usize) -> Self {
        assert!(rows > 0 && columns > 0, "a matrix has numbers");
        assert!(
            (rows - 1) * step + columns <= numbers.len(),
            "a matrix lies in its slice as a whole"
        );
        Self {
            numbers,
            rows,
            columns,
            steps: (step, 1),
        }
    }

    /// The matrix with its rows as columns.
    pub(super) fn transposed(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            steps: (self.steps.1, self.steps.0),
            ..self
        }
    }
}

/// Multiplies two matrices on this thread. The rows of the product lie one after the other.
pub(super) fn multiply(left: View<'_>, right: View<'_>, product: &mut [f32]) {
    assert_eq!(left.columns, right.rows, "the matrices fit each other");
    assert_eq!(product.len(), left.rows * right.columns, "the product has its size");
    // SAFETY: each view lies in its slice as a whole, which its constructor checks and transposing does not change; the
    // product's length is checked above, and is borrowed by nobody else.
    unsafe {
        gemm(
            left.rows,
            right.columns,
            left.columns,
            product.as_mut_ptr(),
            1,
            right.columns as isize,
            false,
            left.numbers.as_ptr(),
            left.steps.1 as isize,
            left.steps.0 as isize,
            right.numbers.as_ptr(),
            right.steps.1 as isize,
            right.steps.0 as isize,
            0.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_meet_columns_however_they_lie() {
        // Two rows of three, with a number between them that is not theirs.
        let left = [1.0, 2.0, 3.0, 99.0, 4.0, 5.0, 6.0];
        let left = View::spaced(&left, 2, 3, 4);
        let right = [1.0, 0.0, 2.0, 0.0, 1.0, 1.0];
        let mut product = [9.0; 4];
        multiply(left, View::rows(&right, 3).transposed(), &mut product);
        assert_eq!(product, [7.0, 5.0, 16.0, 11.0]);
        multiply(left, View::rows(&right, 2), &mut product);
        assert_eq!(product, [8.0, 3.0, 20.0, 6.0]);
    }
}
