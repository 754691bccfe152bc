import Models
import Postgres
import Slots
import Wire

/// The latest messages of a conversation with their senders, and the senders' own horizons.
enum SenderCountsStatement {
    /// Earlier messages are not counted. This bounds the work, and their counts hardly change any more.
    static let latestMessages: Int64 = 1_000
    /// The number of rows examined for them, including those of deleted and system messages.
    static let latestRows: Int64 = 4_096

    struct RecentInput: NamedFields {
        let key: ConversationInput
        let limit: Parameter<Int64>
    }

    struct RecentColumns: NamedFields {
        let statusVersion: Column<Int64>
        let lastAt: Column<Timestamp>
        let seq: Column<Int64?>
        let senderId: Column<UserID>
    }

    /// With the position of the conversation's status.
    static let recent = PreparedStatement<RecentInput, RecentColumns>(
        "recent_senders", PackageResources.recent_senders_sql, .store)

    static func set(_ conversation: ConversationID, of input: RecentInput, in parameters: inout Parameters) {
        parameters.set(input.key, to: conversation)
        parameters.set(input.limit, to: latestMessages)
    }

    struct StaysInput: NamedFields {
        let key: ConversationInput
        let senders: Parameter<[UserID]>
    }

    struct StaysColumns: NamedFields {
        let userId: Column<UserID>
        let joinedSeq: Column<Int64>
        let leftSeq: Column<Int64>
        let deliveredSeq: Column<Int64>
        let shownSeq: Column<Int64>
    }

    static let stays = PreparedStatement<StaysInput, StaysColumns>(
        "sender_stays", PackageResources.sender_stays_sql, .store)

    static func addStays(
        of senders: some Sequence<UserID>, in conversation: ConversationID, to batch: inout Batch
    ) {
        batch.execute(stays) { parameters, input in
            parameters.set(input.key, to: conversation)
            parameters.set(input.senders, to: senders)
        }
    }
}

/// How far the recipients of each sender's latest messages are: everybody's receipts, less the sender's own.
struct SenderReceipts {
    /// Ascending.
    let seqs: [Int64]
    private(set) var bySender: [UserID: [Int]]
    private(set) var receipts: [Receipts] = []

    init(_ messages: [(seq: Int64, sender: UserID)]) {
        seqs = messages.map(\.seq)
        bySender = Dictionary(grouping: messages.indices, by: { messages[$0].sender })
        for (sender, indices) in bySender { bySender[sender] = indices.suffix(ContractLimits.countedMessages) }
    }

    /// Takes the receipts of all members, senders included.
    mutating func count(_ everybody: [Receipts]) { receipts = everybody }

    /// Subtracts a sender's receipts of their own messages.
    mutating func discount(_ sender: UserID, stay: ClosedRange<Int64>, delivered: Int64, read: Int64) {
        for index in bySender[sender] ?? [] where stay.contains(seqs[index]) {
            if delivered >= seqs[index] { receipts[index].delivered -= 1 }
            if read >= seqs[index] { receipts[index].read -= 1 }
        }
    }
}
