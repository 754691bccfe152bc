import Models
import Postgres
import Slots
import Wire

/// The names in braces in the files of `SQL`.
extension SQLNames {
    static let store = SQLNames(values, storeFragments)

    private static let values = SQLNames(
        // Numbers stored in tables.
        .cases(of: ChangeKind.self), .cases(of: PrivateKind.self), .cases(of: MemberRole.self),
        .cases(of: MessageKind.self),
        .cases(of: Problem.Code.self, as: "Problem"), .number("Problem.none", 0),
        // Numbers returned by a statement.
        .cases(of: SendVerdict.self),
        .string("ChangeKind.memberAdded.name", "\(ChangeKind.memberAdded.name)"),
        .string("ChangeKind.memberRemoved.name", "\(ChangeKind.memberRemoved.name)"),
        .string("ChangeKind.memberChanged.name", "\(ChangeKind.memberChanged.name)"),
        .string("ChangeKind.conversationRenamed.name", "\(ChangeKind.conversationRenamed.name)"),
        .sql("ChangeTime.now", ChangeTime.now),
        .number("Int64.max", Int64.max),
        .number("Preview.codePoints", Preview.codePoints))

    private static let storeFragments = SQLNames(
        // Messages
        .fragment("plain_message", PackageResources.plain_message_sql),
        .fragment("whole_message", PackageResources.whole_message_sql),
        .fragment("message_with_parent", PackageResources.message_with_parent_sql),
        .fragment("parent_of_reply", PackageResources.parent_of_reply_sql),
        .fragment("text_as_of", PackageResources.text_as_of_sql),
        .fragment("edited_at_as_of", PackageResources.edited_at_as_of_sql),
        .fragment("is_not_hidden", PackageResources.is_not_hidden_sql),
        // Writes
        .fragment("prior_outcome", PackageResources.prior_outcome_sql),
        .fragment("standing_of_actor", PackageResources.standing_of_actor_sql),
        .fragment("problems_of_actor", PackageResources.problems_of_actor_sql),
        .fragment("visible_target", PackageResources.visible_target_sql),
        .fragment("move", PackageResources.move_sql),
        .fragment("keep_outcome", PackageResources.keep_outcome_sql),
        .fragment("write_result", PackageResources.write_result_sql))
}

extension MessageKind: PostgresEnum {}
