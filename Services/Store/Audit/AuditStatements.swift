import Models
import Postgres
import Slots

/// The statements of the audit log.
enum AuditStatements {
    struct RecordInput: NamedFields {
        let slot: Parameter<Slot>
        let id: Parameter<UUIDBytes>
        let administrator: Parameter<UserID>
        let user: Parameter<UserID?>
        let call: Parameter<String>
        let conversation: Parameter<ConversationID?>
        let target: Parameter<String?>
        let detail: Parameter<String?>
    }

    struct EndInput: NamedFields {
        let slot: Parameter<Slot>
        let id: Parameter<UUIDBytes>
        let status: Parameter<Int16>
    }

    struct PageInput: NamedFields {
        let place: AfterNumberInput
        let limit: Parameter<Int64>
    }

    struct Columns: NamedFields {
        let number: Column<Int64>
        let at: Column<Timestamp>
        let administratorId: Column<UserID>
        let userId: Column<UserID?>
        let call: Column<String>
        let conversationId: Column<ConversationID?>
        let target: Column<String?>
        let detail: Column<String?>
        let status: Column<Int16?>
    }

    static let record = PreparedStatement<RecordInput, NoFields>(
        "record_act", PackageResources.record_act_sql, .store)
    static let end = PreparedStatement<EndInput, NoFields>("end_act", PackageResources.end_act_sql, .store)
    static let page = PreparedStatement<PageInput, Columns>("acts", PackageResources.acts_sql, .store)
}
