import Models
import Postgres
import Wire

/// Digests of what a reader sees of a conversation, page by page.
enum DigestStatement {
    /// The positions of a page. Every client computes the same pages, so this never changes.
    static let pagePositions: Int64 = 1_000

    struct Input: NamedFields {
        let head: ReaderInput
        let readerSlot: Parameter<Slot>
        let after: Parameter<Int64>
        let pages: Parameter<Int64>
    }

    struct Columns: NamedFields {
        let lastSeq: Column<Int64>
        let lastUseq: Column<Int64>
        let fromSeq: Column<Int64>
        let toSeq: Column<Int64>
        let changes: Column<String>
        let state: Column<String>
    }

    static let statement = PreparedStatement<Input, Columns>("digest", PackageResources.digest_sql, .store)

    /// - Parameter limit: the number of pages, however many the query asks for.
    static func set(
        _ query: AfterPositionQuery, atMost limit: Int, of input: Input, in parameters: inout Parameters
    ) {
        parameters.set(input.head, to: query.head)
        parameters.set(input.readerSlot, to: query.head.reader.slot)
        parameters.set(input.after, to: query.after)
        parameters.set(input.pages, to: Int64(min(Int(query.limit), limit)))
    }
}
