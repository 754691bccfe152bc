import Models
import Postgres
import Slots
import Wire

/// Moves horizons forward, and decides what others see of it: `advance_horizons.sql`.
enum AdvanceStatement {
    /// The arrays of `SignalLayout`. Subscripts in PostgreSQL count from 1.
    struct Input: NamedFields {
        let conversations: ConversationsInput
        let conversationOfSignal: Parameter<[Int32]>
        let signalUsers: Parameter<[UserID]>
        let signalDeliveredSeqs: Parameter<[Int64]>
        let signalReadSeqs: Parameter<[Int64]>
        let users: UsersInput
        let userOfSignal: Parameter<[Int32]>
    }

    struct Columns: NamedFields {
        // By conversation.
        let versions: Column<[Int64]>
        let times: Column<[Timestamp]>
        let memberCounts: Column<[Int32]>
        // By signal, in the order of `signals`, counted from 1.
        let signals: Column<[Int32]>
        let verdicts: Column<[Int16]>
        let deliveredSeqs: Column<[Int64]>
        let readSeqs: Column<[Int64]>
        let shownSeqs: Column<[Int64]>
    }

    static let statement = PreparedStatement<Input, Columns>(
        "advance_horizons", PackageResources.advance_horizons_sql, .receipt)

    static func add(
        _ signals: [MergedSignal], _ layout: SignalLayout, borrowing borrowed: [[UInt8]], to batch: inout Batch
    ) {
        batch.execute(statement, borrowing: borrowed) { parameters, input in
            parameters.set(input.conversations, to: layout.conversations)
            parameters.set(input.conversationOfSignal, to: layout.conversationOfSignal.lazy.map { Int32($0 + 1) })
            parameters.set(input.signalUsers, to: signals.lazy.map(\.key.user))
            parameters.set(input.signalDeliveredSeqs, to: signals.lazy.map(\.horizons.delivered))
            parameters.set(input.signalReadSeqs, to: signals.lazy.map(\.horizons.read))
            parameters.set(input.users, to: layout.users)
            parameters.set(input.userOfSignal, to: layout.userOfSignal.lazy.map { Int32($0 + 1) })
        }
    }

    /// Returns the outcomes of the signals, in their order.
    static func outcomes(_ rows: Rows, _ layout: SignalLayout) -> [SignalOutcome] {
        OutcomeRow(rows[0]).outcomes(layout)
    }
}

/// The one row that the statement returns.
private struct OutcomeRow {
    // By conversation.
    private let versions: [Int64]
    private let times: [Timestamp]
    private let memberCounts: [Int32]
    // By signal, in the order of `signals`, counted from 1.
    private let signals: [Int32]
    private let verdicts: [Int16]
    private let delivered: [Int64]
    private let read: [Int64]
    private let shown: [Int64]

    init(_ row: Row) {
        let columns = AdvanceStatement.statement.columns
        versions = row[columns.versions]
        times = row[columns.times]
        memberCounts = row[columns.memberCounts]
        signals = row[columns.signals]
        verdicts = row[columns.verdicts]
        delivered = row[columns.deliveredSeqs]
        read = row[columns.readSeqs]
        shown = row[columns.shownSeqs]
    }

    /// Returns the outcomes by signal.
    func outcomes(_ layout: SignalLayout) -> [SignalOutcome] {
        var bySignal = Array(repeating: SignalOutcome.refused(.unknownConversation), count: signals.count)
        for (place, signal) in signals.enumerated() {
            let index = Int(signal) - 1
            bySignal[index] = outcome(place, in: layout.conversationOfSignal[index])
        }
        return bySignal
    }

    private func outcome(_ place: Int, in conversation: Int) -> SignalOutcome {
        let verdict = SignalVerdict(rawValue: verdicts[place])
        guard verdict != .unknownConversation else { return .refused(.unknownConversation) }
        guard verdict != .hasLeft else { return .refused(.notAMember) }
        let reached = Horizons(delivered: delivered[place], read: read[place])
        guard !verdict.isDisjoint(with: .anyMoved) else { return .reached(reached, nil) }
        let advance = SignalOutcome.Advance(
            delivered: verdict.contains(.deliveredMoved) ? reached.delivered : nil,
            shown: verdict.contains(.shownMoved) ? shown[place] : nil,
            read: verdict.contains(.readMoved) ? reached.read : nil, version: versions[conversation],
            at: times[conversation], memberCount: memberCounts[conversation])
        return .reached(reached, advance)
    }
}

/// The outcome of one signal.
enum SignalOutcome {
    case refused(Problem)
    /// The user's horizons, and what of them is new. Nil: the signal moved nothing, or lay beyond the end of the
    /// conversation.
    case reached(Horizons, Advance?)

    /// An advance: the horizons after it, nil where it moved nothing.
    struct Advance {
        let delivered: Int64?
        /// The part of `read` that others see.
        let shown: Int64?
        let read: Int64?
        let version: Int64
        let at: Timestamp
        let memberCount: Int32

        /// Whether others see the advance.
        var isSeen: Bool { delivered != nil || shown != nil }
    }
}

extension Problem {
    static let unknownConversation = Problem(.notFound, "there is no such conversation")
    static let notAMember = Problem(.forbidden, "only members may do this")
}
