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
        .cases(of: ConversationKind.self), .cases(of: MessageKind.self),
        .cases(of: Problem.Code.self, as: "Problem"), .number("Problem.none", 0),
        // Numbers returned by a statement.
        .cases(of: SendVerdict.self),
        .string("ChangeKind.memberAdded.name", "\(ChangeKind.memberAdded.name)"),
        .string("ChangeKind.memberRemoved.name", "\(ChangeKind.memberRemoved.name)"),
        .string("ChangeKind.memberChanged.name", "\(ChangeKind.memberChanged.name)"),
        .string("ChangeKind.conversationRenamed.name", "\(ChangeKind.conversationRenamed.name)"),
        .number("ConversationSettings.readReceipts", ConversationSettings.Told.readReceipts),
        .number("ConversationSettings.inherited", ConversationSettings.Told.inherited),
        // Limits.
        .number("ContractLimits.membersPerConversation", ContractLimits.membersPerConversation),
        .interval("ContractLimits.editWindow", ContractLimits.editWindow),
        .interval("TrustedTime.tolerance", .milliseconds(TrustedTime.tolerance)),
        .number("DeleteMessage.waitingLimit", DeleteMessage.waitingLimit),
        .number("PutMember.staysLimit", PutMember.staysLimit),
        .sql("ChangeTime.now", ChangeTime.now),
        .sql("Listing.isListed", Listing.isListed),
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
        .fragment("present_tapback", PackageResources.present_tapback_sql),
        .fragment("early_deletion_has_come", PackageResources.early_deletion_has_come_sql),
        .fragment("conversation_written_to", PackageResources.conversation_written_to_sql),
        .fragment("stay_of_user", PackageResources.stay_of_user_sql),
        .fragment("heir", PackageResources.heir_sql),
        .fragment("move", PackageResources.move_sql),
        .fragment("take_out_member", PackageResources.take_out_member_sql),
        .fragment("keep_outcome", PackageResources.keep_outcome_sql),
        .fragment("show_in_history", PackageResources.show_in_history_sql),
        .fragment("unindex_target", PackageResources.unindex_target_sql),
        .fragment("tell_user", PackageResources.tell_user_sql),
        .fragment("write_result", PackageResources.write_result_sql))
}

extension MessageKind: PostgresEnum {}
extension MemberRole: PostgresEnum {}
