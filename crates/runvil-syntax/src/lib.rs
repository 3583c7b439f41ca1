//! Text to tree: frontmatter, headings, fences, lists and positions of a prompt file. Pure and total.
