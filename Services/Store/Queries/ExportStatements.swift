import Models
import Postgres
import Slots
import Wire

/// The statements of exports. Each reads a piece of bounded size.
enum ExportStatements {
    static let all = [
        conversations.untyped, head.untyped, erasedMembers.untyped, page.untyped, state.untyped, receipts.untyped,
    ]

    static let conversationsPerPage = 200
    static let rowsPerPage = 500
    /// At most three times as many runs are read for them, and the horizons of as many users.
    static let receiptsPerPage = 1_000
    static let memberChangesPerPage = 4_000
    /// Texts of a page, beyond which it ends.
    static let bytesPerPage = 256 * 1024
    /// What is exported of a message that was edited often: the first text and the newest, so many and so long in all. The
    /// line stays below `ContractLimits.importLineBytes` with every byte escaped.
    static let textsPerMessage = 100
    static let textBytesPerMessage = 2 * ContractLimits.sealedBytes
    /// How far the state of an export moves on at a time: changes that are looked at.
    static let positionsPerStep = 4_000

    struct ListInput: NamedFields {
        let user: UserInput
        let after: Parameter<ConversationID>
        let limit: Parameter<Int64>
    }

    struct ListColumns: NamedFields { let conversationId: Column<ConversationID> }

    struct HeadInput: NamedFields {
        let key: ConversationInput
        let reader: Parameter<UserID?>
    }

    struct HeadColumns: NamedFields {
        let kind: Column<ConversationKind>
        let creatorId: Column<UserID>
        let createdAt: Column<Timestamp>
        let title: Column<String?>
        let lastSeq: Column<Int64>
        let isOpen: Column<Bool>
        let members: Column<[UserID]>
        let firstSeqs: Column<[Int64]>
        let lastSeqs: Column<[Int64]>
    }

    struct ErasedMembersInput: NamedFields {
        let key: ConversationInput
        let after: Parameter<Int64>
        let limit: Parameter<Int64>
    }

    struct ErasedMembersColumns: NamedFields {
        let covered: Column<Int64>
        let userId: Column<UserID?>
        let kind: Column<Int16>
    }

    struct PageInput: NamedFields {
        let head: HeadInput
        let withMessages: Parameter<Bool>
        let after: Parameter<Int64>
        let through: Parameter<Int64>
        let state: Parameter<Int64>
    }

    struct PageColumns: NamedFields {
        let covered: Column<Int64>
        let isStale: Column<Bool>
        let stayCount: Column<Int64>
        let viewEnd: Column<Int64>
        let seq: Column<Int64?>
        let kind: Column<Int16>
        let at: Column<Timestamp>
        let actorId: Column<UserID>
        let userId: Column<UserID?>
        let role: Column<Int16?>
        let title: Column<String?>
        let messageId: Column<MessageID?>
        let replyTo: Column<MessageID?>
        let deletedAt: Column<Timestamp?>
        let tapback: Column<String?>
        let vote: Column<Int16?>
        let isClosing: Column<Bool?>
        let attachments: Column<UnsafeRawBufferPointer?>
        let extra: Column<UnsafeRawBufferPointer?>
        let isSealed: Column<Bool?>
        let forwardedBy: Column<UserID?>
        let forwardedAt: Column<Timestamp>
        let options: Column<[String]>
        let isMultiple: Column<Bool?>
        let body: Column<UnsafeRawBufferPointer?>
        let bodyAt: Column<Timestamp?>
    }

    struct StateInput: NamedFields {
        let key: ConversationInput
        let after: Parameter<Int64>
        let state: Parameter<Int64>
    }

    struct StateColumns: NamedFields { let state: Column<Int64> }

    struct ReceiptsInput: NamedFields {
        let head: HeadInput
        let state: Parameter<Int64>
        let user: Parameter<String>
        let delivered: Parameter<Int64>
        let read: Parameter<Int64>
        let both: Parameter<Int64>
        let limit: Parameter<Int64>
    }

    struct ReceiptsColumns: NamedFields {
        let userId: Column<UserID>
        let at: Column<Timestamp>
        let kind: Column<Int16>
        let seq: Column<Int64>
        let messageId: Column<MessageID?>
        let createdAt: Column<Timestamp?>
    }

    static let receipts = PreparedStatement<ReceiptsInput, ReceiptsColumns>(
        "export_receipts", PackageResources.export_receipts_sql, .store)
    static let conversations = PreparedStatement<ListInput, ListColumns>(
        "exported_conversations", PackageResources.exported_conversations_sql, .store)
    static let head = PreparedStatement<HeadInput, HeadColumns>(
        "export_head", PackageResources.export_head_sql, .store)
    static let erasedMembers = PreparedStatement<ErasedMembersInput, ErasedMembersColumns>(
        "export_erased_members", PackageResources.export_erased_members_sql, .store)
    static let page = PreparedStatement<PageInput, PageColumns>(
        "export_page", PackageResources.export_page_sql, .store)
    static let state = PreparedStatement<StateInput, StateColumns>(
        "export_state", PackageResources.export_state_sql, .store)
}
