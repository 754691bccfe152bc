/// Texts of one conversation that lie in one row of the index (`0019_search_blocks.sql`).
enum SearchBlock {
    /// The number of positions of a conversation that make a block. The migrations know it.
    static let positions = 64
    /// A part of a block that has so many bytes of texts takes no more. So most rows fit into a page.
    static let partBytes = 5 * 1024

    /// A text as its block has it.
    static func text(_ text: FoldedText) -> String { " \(text.text) " }
}
