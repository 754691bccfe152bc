import Models
import Postgres
import Slots
import Wire

/// The statements of erasures: their start, their steps, and the queries of their driver.
///
/// Every step may be repeated: it processes what it finds, and counts that in its own transaction. Like all writes,
/// steps on a conversation run under the lock of its row. The first step makes the user leave. From then on no
/// message, edit or tapback is added there in their name, so later steps do not miss any.
enum ErasureStatements {
    static let queries = [
        ofSlots.untyped, names.untyped, nextListing.untyped, nextMention.untyped, nextBlock.untyped,
        nextJoinRequest.untyped,
        isErased.untyped,
    ]

    /// The number of messages that one step changes. At some 20 µs each it holds its conversation for as long as a
    /// large batch.
    static let hitsLimit = 200
    /// The number of messages that one step examines.
    static let scanLimit = 5_000
    /// The number of rows outside of conversations that one step removes.
    static let rowsLimit = 2_000

    // MARK: Commands

    struct MemberInput: NamedFields {
        let key: ConversationInput
        let user: UserInput
    }

    struct ContentInput: NamedFields {
        let member: MemberInput
        let after: Parameter<Int64>
    }

    struct ListingInput: NamedFields {
        let user: UserInput
        let conversation: Parameter<ConversationID>
    }

    struct BlockInput: NamedFields {
        let user: Parameter<UserID>
        let blockerSlot: Parameter<Slot>
        let blocker: Parameter<UserID>
    }

    /// The columns of {erasure}.
    struct ProgressColumns: NamedFields {
        let number: Column<Int64>
        let requestedAt: Column<Timestamp>
        let erasedAt: Column<Timestamp?>
        let messages: Column<Int64>
        let revisions: Column<Int64>
        let tapbacks: Column<Int64>
        let votes: Column<Int64>
        let mentions: Column<Int64>
        let receipts: Column<Int64>
        let memberships: Column<Int64>
        let hidden: Column<Int64>
        let privateChanges: Column<Int64>
        let outcomes: Column<Int64>
    }

    /// The position where the part continues, or 0 when it is done.
    struct StepColumns: NamedFields { let next: Column<Int64> }

    struct ContentColumns: NamedFields {
        let step: StepColumns
        let lastSeq: Column<Int64?>
        let positions: Column<Int64?>
    }

    static let begin = PreparedStatement<UserInput, ProgressColumns>(
        "begin_erasure", PackageResources.begin_erasure_sql, .store)
    static let content = PreparedStatement<ContentInput, ContentColumns>(
        "erase_content", PackageResources.erase_content_sql, .store)
    /// Follows `content` and returns its changes for the announcement.
    static let announced = PreparedStatement<ConversationInput, FeedStatement.Columns>(
        "announced_erasures", PackageResources.announced_erasures_sql, .store)
    static let stays = PreparedStatement<MemberInput, StepColumns>(
        "erase_stays", PackageResources.erase_stays_sql, .store)
    static let listing = PreparedStatement<ListingInput, StepColumns>(
        "erase_listing", PackageResources.erase_listing_sql, .store)
    static let remains = PreparedStatement<UserInput, StepColumns>(
        "erase_remains", PackageResources.erase_remains_sql, .store)
    static let block = PreparedStatement<BlockInput, StepColumns>(
        "erase_block", PackageResources.erase_block_sql, .store)

    // MARK: Queries

    struct SlotColumns: NamedFields {
        let slot: Column<Slot>
        let number: Column<Int64>
        let userId: Column<UserID?>
    }

    struct NameColumns: NamedFields {
        let lastNumber: Column<Int64>
        let userId: Column<UserID?>
    }

    struct NextListingColumns: NamedFields { let conversationId: Column<ConversationID> }

    struct MentionedInput: NamedFields { let user: Parameter<UserID> }

    struct NextBlockColumns: NamedFields { let userId: Column<UserID> }

    struct NextMentionColumns: NamedFields {
        let conversationId: Column<ConversationID>
        let after: Column<Int64>
    }

    static let ofSlots = PreparedStatement<SlotsInput, SlotColumns>(
        "erasures_of_slots", PackageResources.erasures_of_slots_sql, .store)
    static let names = PreparedStatement<AfterNumberInput, NameColumns>(
        "erased_users", PackageResources.erased_users_sql, .store)
    static let nextListing = PreparedStatement<UserInput, NextListingColumns>(
        "next_listing", PackageResources.next_listing_sql, .store)
    static let nextMention = PreparedStatement<MentionedInput, NextMentionColumns>(
        "next_mention", PackageResources.next_mention_sql, .store)
    static let nextJoinRequest = PreparedStatement<MentionedInput, NextListingColumns>(
        "next_join_request", PackageResources.next_join_request_sql, .store)
    static let nextBlock = PreparedStatement<MentionedInput, NextBlockColumns>(
        "next_block", PackageResources.next_block_sql, .store)
    /// Returns a row if the user is erased.
    static let isErased = PreparedStatement<UserInput, NoFields>(
        "is_erased", PackageResources.is_erased_sql, .store)
}
