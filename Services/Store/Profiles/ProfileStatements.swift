import Models
import Postgres
import Slots

/// What users are called and look like.
enum ProfileStatements {
    /// With fewer conversations than this, it is a user's own list that is walked for one that they share with the reader.
    static let fewConversations = 256
    /// The conversations in which open clients are told of a change.
    static let audienceLimit = ContractLimits.conversationsPerUser

    struct Change: NamedFields {
        let user: UserInput
        let knownBy: Parameter<[UUIDBytes?]>
        let displayName: Parameter<String?>
        let avatarUrl: Parameter<String?>
        let extra: Parameter<String?>
    }

    struct Outcome: NamedFields {
        let problem: Column<Int16>
        let version: Column<Int64?>
        let useq: Column<Int64?>
        let at: Column<Timestamp?>
    }

    static let put = PreparedStatement<Change, Outcome>("put_profile", PackageResources.put_profile_sql, .store)

    struct Input: NamedFields {
        let reader: UserInput
        let readsAll: Parameter<Bool>
        let users: UsersInput
        let versions: Parameter<[Int64]>
    }

    struct Columns: NamedFields {
        let userId: Column<UserID>
        let version: Column<Int64>
        let displayName: Column<String?>
        let avatarUrl: Column<String?>
        let extra: Column<String?>
    }

    static let profiles = PreparedStatement<Input, Columns>("profiles", PackageResources.profiles_sql, .store)

    struct AudienceColumns: NamedFields { let conversationId: Column<ConversationID> }

    static let audience = PreparedStatement<UserInput, AudienceColumns>(
        "profile_audience", PackageResources.profile_audience_sql, .store)

    static let queries = [profiles.untyped, audience.untyped]
}
