import Models
import Postgres

/// The columns of a message, in the order of `MessageRow`.
enum MessageColumns {
    /// `MessageRow.bareColumns`. All are NULL without a message.
    static func bare(_ message: Tables.Message?, asOf position: Int64) -> SimulatedRow {
        guard let message else { return nothing }
        return [
            SimulatedValue(message.seq), SimulatedValue(message.id), SimulatedValue(min(message.changed, position)),
            SimulatedValue(message.sender), SimulatedValue(message.kind.rawValue),
            SimulatedValue(message.text(asOf: position)), null(String.self), SimulatedValue(message.sentAt),
            SimulatedValue(message.createdAt), SimulatedValue(message.editedAt(asOf: position)),
            SimulatedValue(message.deletedAt), SimulatedValue(message.parent), SimulatedValue(message.parentSeq),
            SimulatedValue(message.tapbacksJSON(asOf: position)),
            SimulatedValue(message.tapbackCountsJSON(asOf: position)), SimulatedValue(message.event),
        ]
    }

    /// `MessageRow.plainColumns`
    static func plain(_ message: Tables.Message?) -> SimulatedRow {
        bare(message, asOf: .max).prefix(13) + [SimulatedValue(message.map(\.hasMore))]
    }

    /// `MessageRow.columns`
    static func all(_ message: Tables.Message?, _ parent: Tables.Message?, asOf position: Int64) -> SimulatedRow {
        bare(message, asOf: position) + [
            SimulatedValue(parent?.sender), SimulatedValue(parent?.text(asOf: position)),
        ]
    }

    private static var nothing: SimulatedRow {
        [
            null(Int64.self), null(MessageID.self), null(Int64.self), null(UserID.self), null(Int16.self),
            null(String.self), null(String.self), null(Timestamp.self), null(Timestamp.self), null(Timestamp.self),
            null(Timestamp.self), null(MessageID.self), null(Int64.self), null(String.self), null(String.self),
            null(String.self),
        ]
    }
}
