import Models
import Postgres
import Slots

/// Reads the rows before those that `ConversationStatement` looks at, a few blocks of positions at a time.
enum UnreadStatement {
    /// Unread messages are counted up to this number.
    static let limit = 100
    /// Unread mentions are looked for among so many of the latest messages of a conversation that mention anybody.
    static let mentioningRows = 256
    /// In so many conversations at once: a few thousand rows.
    static let mentioningRanges = 16

    /// Ranges of positions, each in one block.
    struct Input: NamedFields {
        let reader: Parameter<UserID>
        let conversations: ConversationsInput
        let firstSeqs: Parameter<[Int64]>
        let lastSeqs: Parameter<[Int64]>
    }

    struct BlockColumns: NamedFields {
        let place: Column<Int32>
        let count: Column<Int32>
        let isEmpty: Column<Bool>
    }

    struct LatestColumns: NamedFields {
        let place: Column<Int32>
        let seq: Column<Int64?>
    }

    struct MentionColumns: NamedFields {
        let place: Column<Int32>
        let count: Column<Int32>
    }

    static let all = [blocks.untyped, latest.untyped, mentions.untyped]

    static let blocks = PreparedStatement<Input, BlockColumns>(
        "unread_blocks", PackageResources.unread_blocks_sql, .store)
    static let latest = PreparedStatement<Input, LatestColumns>(
        "latest_visible", PackageResources.latest_visible_sql, .store)
    static let mentions = PreparedStatement<Input, MentionColumns>(
        "unread_mentions", PackageResources.unread_mentions_sql, .store)

    static func set(
        _ ranges: [(conversation: ConversationID, seqs: ClosedRange<Int64>)], for reader: UserID,
        of input: Input, in parameters: inout Parameters
    ) {
        parameters.set(input.reader, to: reader)
        parameters.set(input.conversations, to: ranges.lazy.map(\.conversation))
        parameters.set(input.firstSeqs, to: ranges.lazy.map(\.seqs.lowerBound))
        parameters.set(input.lastSeqs, to: ranges.lazy.map(\.seqs.upperBound))
    }
}
