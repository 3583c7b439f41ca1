//! The keys and values of a conversation so far.

/// What every layer remembers of the tokens that were read.
pub(super) struct Past {
    layers: Vec<LayerPast>,
    width: usize,
}

/// What a layer remembers: for each token a row of the numbers of all heads.
#[derive(Default)]
pub(super) struct LayerPast {
    pub(super) keys: Vec<f32>,
    pub(super) values: Vec<f32>,
}

impl Past {
    /// A past of no tokens, for rows of this width.
    pub(super) fn new(layers: usize, width: usize) -> Self {
        Self {
            layers: (0..layers).map(|_| LayerPast::default()).collect(),
            width,
        }
    }

    /// How many tokens were read as a whole.
    pub(super) fn len(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.keys.len() / self.width)
    }

    /// Forgets all but the first tokens.
    pub(super) fn keep(&mut self, tokens: usize) {
        for layer in &mut self.layers {
            layer.keys.truncate(tokens * self.width);
            layer.values.truncate(tokens * self.width);
        }
    }

    /// Adds the keys and values of some tokens, which lie side by side, to a layer.
    pub(super) fn add(&mut self, layer: usize, keys: &[f32], values: &[f32], tokens: usize) {
        let layer = &mut self.layers[layer];
        for token in 0..tokens {
            layer.keys.extend(keys.iter().skip(token).step_by(tokens));
            layer.values.extend(values.iter().skip(token).step_by(tokens));
        }
    }

    /// What a layer remembers.
    pub(super) fn layer(&self, layer: usize) -> &LayerPast {
        &self.layers[layer]
    }
}
