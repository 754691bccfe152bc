import Models
import Postgres
import Slots

/// The names in braces in the files of `SQL`.
extension SQLNames {
    static let receipt = SQLNames(
        // Numbers stored in tables.
        .cases(of: RunKind.self), .cases(of: ChangeKind.self), .cases(of: MessageKind.self),
        .cases(of: ConversationKind.self),
        // Numbers returned by a statement.
        SignalVerdict.names, .cases(of: ReceiptVerdict.self),
        // Limits.
        .number("LastSeenStatements.peersLimit", LastSeenStatements.peersLimit),
        .number("LastSeenStatements.conversationsLimit", LastSeenStatements.conversationsLimit),
        .number("ReceiptErasure.rowsLimit", ReceiptErasure.rowsLimit),
        .number("ReceiptRetention.horizonsPerLook", ReceiptRetention.horizonsPerLook),
        .number("ReceiptRetention.runsPerStep", ReceiptRetention.runsPerStep),
        .number("ReceiptRetention.endsLimit", ReceiptRetention.endsLimit),
        .number("ReceiptImports.rowsPerStep", ReceiptImports.rowsPerStep),
        .sql("ChangeTime.now", ChangeTime.now))
}
