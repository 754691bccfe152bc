import Models
import Postgres
import Slots
import Wire

/// The statement of a kind of write.
typealias PreparedWrite<Own: NamedFields> = PreparedStatement<WriteStatement.Input<Own>, WriteStatement.Columns>

/// What the statements that carry out one `Write` each have in common.
///
/// A statement decides in one place, `verdict`, what is to become of the write, and everything else happens only where the
/// write is due. The conversation's row is locked before, so what it decides on cannot change meanwhile. Keys are locked,
/// too: nobody else keeps an outcome under the same key.
enum WriteStatement {
    /// The parameters of a write: those of all writes, and its own.
    struct Input<Own: NamedFields>: NamedFields {
        let write: Common
        let own: Own
    }

    struct Common: NamedFields {
        let key: ConversationInput
        let actor: Parameter<UserID>
        let actorSlot: Parameter<Slot>
        let knownBy: Parameter<[UUIDBytes?]>
        let action: Parameter<Int16>
        let subject: Parameter<UUIDBytes?>
    }

    /// The columns of {write_result}: all that a write returns.
    struct Columns: NamedFields {
        let problem: Column<Int16>
        let isRepeat: Column<Bool>
        let isDue: Column<Bool>
        let seq: Column<Int64>
        let at: Column<Timestamp>
        let positions: Column<Int64>
        let useq: Column<Int64?>
        let detail: Column<Int64?>
    }

    private static let columns = SQLNames.store.columns(Columns.self, of: "write_result")

    static func decode(_ row: Row) -> Result {
        Result(
            problem: Problem.Code(rawValue: UInt8(row[columns.problem])), isRepeat: row[columns.isRepeat],
            change: row[columns.isDue] ? Result.Change(row, columns) : nil)
    }

    /// What a write is known by when it comes again: two elements, of which one is NULL at least. The client's key is kept
    /// for ever; the request, without a key, for as long as the bus may repeat it.
    static func knownBy(_ key: UUIDBytes?, _ request: RequestKey?) -> [UUIDBytes?] {
        [key, key == nil ? request?.uuid : nil]
    }

    /// What became of a write.
    struct Result {
        let problem: Problem.Code?
        /// The outcome belongs to an earlier request with this key.
        let isRepeat: Bool
        /// Set when something changed.
        let change: Change?

        struct Change {
            /// The conversation's position after the write, and the time of the write.
            let seq: Int64
            let at: Timestamp
            /// The number of positions, ending at `seq`, that the write took.
            let positions: Int64
            /// The positions that the write took.
            var range: Range<Int64> { seq - positions + 1..<seq + 1 }
            /// The new position of the notified private stream.
            let useq: Int64?
            /// The conversation position that the private change reports, or another value that the statement defines.
            let detail: Int64?

            init(_ row: Row, _ columns: Columns) {
                seq = row[columns.seq]
                at = row[columns.at]
                positions = row[columns.positions]
                useq = row[columns.useq]
                detail = row[columns.detail]
            }
        }
    }
}

extension Parameters {
    /// - Parameter request: what makes a write happen once that has no key. Nil: it may be repeated as it is.
    mutating func set(
        _ input: WriteStatement.Common, to write: Write, _ subject: UUIDBytes?, _ request: RequestKey?
    ) {
        set(input.key, to: write.conversation)
        set(input.actor, to: write.actor)
        set(input.actorSlot, to: write.actor.slot)
        set(input.knownBy, to: WriteStatement.knownBy(write.key, request))
        set(input.action, to: Int16(write.action.number))
        set(input.subject, to: subject)
    }
}

extension RequestKey {
    /// The form that the database stores.
    var uuid: UUIDBytes { UUIDBytes(high: origin.number, low: number.rawValue) }
}
