import Models
import Postgres
import Slots
import Wire

/// The statements about what messages carry, besides those that store and delete messages.
enum MediaStatements {
    static let queries = [mayRead.untyped, carries.untyped, hasMedia.untyped]
    static let ofReleases = [releases.untyped, forget.untyped]

    /// The notes that one statement reads.
    static let releasesPerPage = 100

    // MARK: Readers

    struct ReadInput: NamedFields {
        let message: MessageInput
        let sender: Parameter<UserID>
        let media: Parameter<String>
    }

    struct CarriesInput: NamedFields {
        let key: ConversationInput
        let message: Parameter<MessageID>
        let sender: Parameter<UserID>
        let media: Parameter<String>
    }

    struct ReadColumns: NamedFields { let mayRead: Column<Bool> }

    static let mayRead = PreparedStatement<ReadInput, ReadColumns>(
        "may_read_attachment", PackageResources.may_read_attachment_sql, .store)
    static let carries = PreparedStatement<CarriesInput, ReadColumns>(
        "carries_attachment", PackageResources.carries_attachment_sql, .store)

    // MARK: Releases

    struct ReleasesInput: NamedFields {
        let slots: Parameter<[Slot]>
        let afterSlot: Parameter<Slot>
        let afterConversation: Parameter<ConversationID>
        let afterMessage: Parameter<MessageID>
        let limit: Parameter<Int64>
    }

    struct ReleaseColumns: NamedFields {
        let slot: Column<Slot>
        let conversationId: Column<ConversationID>
        let messageId: Column<MessageID>
        let senderId: Column<UserID>
        let media: Column<String>
    }

    struct ForgetInput: NamedFields {
        let key: ConversationsInput
        let messages: Parameter<[MessageID]>
    }

    static let releases = PreparedStatement<ReleasesInput, ReleaseColumns>(
        "media_releases", PackageResources.media_releases_sql, .store)
    static let forget = PreparedStatement<ForgetInput, NoFields>(
        "forget_media_releases", PackageResources.forget_media_releases_sql, .store)

    // MARK: Erasures

    struct HasMediaColumns: NamedFields { let hasMedia: Column<Bool> }

    static let hasMedia = PreparedStatement<NoFields, HasMediaColumns>(
        "has_media", PackageResources.has_media_sql, .store)
}
