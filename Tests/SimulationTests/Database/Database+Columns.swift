import Models
import Postgres
import SimulationSupport

/// The columns of a message, in the order of `MessageRow`.
enum MessageColumns {
    /// {whole_message}, of which none is a poll. Without a message there is only the position.
    static func bare(_ message: Tables.Message?, asOf position: Int64) -> SimulatedRow {
        guard let message else { return nothing(asOf: position) }
        return [
            SimulatedValue(message.seq), SimulatedValue(message.id), SimulatedValue(min(message.changed, position)),
            SimulatedValue(message.sender), SimulatedValue(message.kind.rawValue),
            SimulatedValue(message.text(asOf: position)), null(String.self), SimulatedValue(message.sentAt),
            SimulatedValue(message.createdAt), SimulatedValue(message.editedAt(asOf: position)),
            SimulatedValue(message.deletedAt), SimulatedValue(message.parent), SimulatedValue(message.parentSeq),
        ] + unused + [
            SimulatedValue(message.tapbacksJSON(asOf: position)),
            SimulatedValue(message.tapbackCountsJSON(asOf: position)), null(String.self), SimulatedValue(message.event),
        ]
    }

    /// Attachments, what an application adds, pins, lifetimes, and origins of what is forwarded.
    private static var unused: SimulatedRow {
        [
            null(String.self), null(String.self), null(Int64.self), null(UserID.self), null(Timestamp.self),
            null(Bool.self), null(UserID.self), null(Timestamp.self),
        ]
    }

    /// {plain_message}
    static func plain(_ message: Tables.Message?) -> SimulatedRow {
        let row = message.map { bare($0, asOf: .max) } ?? nothing(asOf: nil)
        return row.prefix(21) + [SimulatedValue(message.map(\.hasMore))]
    }

    /// {message_with_parent}
    static func all(_ message: Tables.Message?, _ parent: Tables.Message?, asOf position: Int64) -> SimulatedRow {
        bare(message, asOf: position) + [
            SimulatedValue(parent?.sender), SimulatedValue(parent?.text(asOf: position)),
        ]
    }

    private static func nothing(asOf position: Int64?) -> SimulatedRow {
        [
            null(Int64.self), null(MessageID.self), SimulatedValue(position), null(UserID.self), null(Int16.self),
            null(String.self), null(String.self), null(Timestamp.self), null(Timestamp.self), null(Timestamp.self),
            null(Timestamp.self), null(MessageID.self), null(Int64.self),
        ] + unused + [null(String.self), null(String.self), null(String.self), null(String.self)]
    }
}
