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
        .cases(of: ConversationKind.self), .cases(of: MessageKind.self), .cases(of: RunKind.self),
        .cases(of: Problem.Code.self, as: "Problem"), .number("Problem.none", 0),
        // Numbers returned by a statement.
        .cases(of: SendVerdict.self), .cases(of: CreationObstacle.self), .cases(of: ImportVerdict.self),
        .number("PutSettings.number", PutSettings.number),
        .number("PutProfile.number", PutProfile.number),
        .string("PutSettings.conversation", ConversationID(.zero).description),
        .contractNames(of: ChangeKind.self),
        .number("ConversationSettings.readReceipts", ConversationSettings.Detail.readReceipts),
        .number("ConversationSettings.inherited", ConversationSettings.Detail.inherited),
        // Limits.
        .number("ContractLimits.membersPerConversation", ContractLimits.membersPerConversation),
        .number("ContractLimits.pinnedConversations", ContractLimits.pinnedConversations),
        .number("ContractLimits.draftsPerUser", ContractLimits.draftsPerUser),
        .number("ContractLimits.waitingRequests", ContractLimits.waitingRequests),
        .number("ContractLimits.requestsPerStranger", ContractLimits.requestsPerStranger),
        .number("ContractLimits.namedTapbacks", ContractLimits.namedTapbacks),
        .number("ContractLimits.blockedUsers", ContractLimits.blockedUsers),
        .interval("ContractLimits.editWindow", ContractLimits.editWindow),
        .interval("TrustedTime.tolerance", .milliseconds(TrustedTime.tolerance)),
        .number("DeleteMessage.waitingLimit", DeleteMessage.waitingLimit),
        .number("PutMember.staysLimit", PutMember.staysLimit),
        .number("DropImport.rowsPerStep", DropImport.rowsPerStep),
        .number("PrivateTail.kept", PrivateTail.kept),
        .number("ConversationStatement.nearbyRows", ConversationStatement.nearbyRows),
        .number("UnreadStatement.limit", UnreadStatement.limit),
        .number("DigestStatement.pagePositions", DigestStatement.pagePositions),
        .number("SenderCountsStatement.latestRows", SenderCountsStatement.latestRows),
        .number("SearchBlock.positions", SearchBlock.positions),
        .number("SearchBlock.partBytes", SearchBlock.partBytes),
        .number("SearchStatements.firstStep", SearchStatements.firstStep),
        .number("SearchStatements.unindexedLimit", SearchStatements.unindexedLimit),
        .number("SearchStatements.unindexedBytes", SearchStatements.unindexedBytes),
        .number("ErasureStatements.hitsLimit", ErasureStatements.hitsLimit),
        .number("ErasureStatements.scanLimit", ErasureStatements.scanLimit),
        .number("ErasureStatements.rowsLimit", ErasureStatements.rowsLimit),
        .number("ExportStatements.rowsPerPage", ExportStatements.rowsPerPage),
        .number("ExportStatements.bytesPerPage", ExportStatements.bytesPerPage),
        .number("ExportStatements.textsPerMessage", ExportStatements.textsPerMessage),
        .number("ExportStatements.textBytesPerMessage", ExportStatements.textBytesPerMessage),
        .number("ExportStatements.positionsPerStep", ExportStatements.positionsPerStep),
        .number("ProfileStatements.fewConversations", ProfileStatements.fewConversations),
        .number("ProfileStatements.audienceLimit", ProfileStatements.audienceLimit),
        .number("RevocationStatements.rowsLimit", RevocationStatements.rowsLimit),
        .interval("RecentOutcomes.keptFor", RecentOutcomes.keptFor),
        .number("RecentOutcomes.rowsPerStep", RecentOutcomes.rowsPerStep),
        .number("Schema.erasureLocks", Schema.erasureLocks),
        .sql("ChangeTime.now", ChangeTime.now),
        .sql("Listing.isListed", Listing.isListed),
        .number("Int64.max", Int64.max),
        .number("RequestsStatement.end", RequestsStatement.end),
        .number("Preview.codePoints", Preview.codePoints))

    private static let storeFragments = SQLNames(
        // Messages
        .fragment("message_row", PackageResources.message_row_sql),
        .fragment("tapbacks_shown", PackageResources.tapbacks_shown_sql),
        .fragment("message_parts", PackageResources.message_parts_sql),
        .fragment("plain_message", PackageResources.plain_message_sql),
        .fragment("whole_message", PackageResources.whole_message_sql),
        .fragment("message_with_parent", PackageResources.message_with_parent_sql),
        .fragment("parent_of_reply", PackageResources.parent_of_reply_sql),
        .fragment("shown_text", PackageResources.shown_text_sql),
        .fragment("media_of", PackageResources.media_of_sql),
        .fragment("carries_file", PackageResources.carries_file_sql),
        .fragment("text_as_of", PackageResources.text_as_of_sql),
        .fragment("edited_at_as_of", PackageResources.edited_at_as_of_sql),
        .fragment("is_not_hidden", PackageResources.is_not_hidden_sql),
        // Views of readers
        .fragment("stays_of_reader", PackageResources.stays_of_reader_sql),
        .fragment("end_of_stays", PackageResources.end_of_stays_sql),
        .fragment("end_of_view", PackageResources.end_of_view_sql),
        .fragment("ended_at", PackageResources.ended_at_sql),
        .fragment("position_of_view", PackageResources.position_of_view_sql),
        .fragment("member_count_as_of", PackageResources.member_count_as_of_sql),
        .fragment("role_as_of", PackageResources.role_as_of_sql),
        .fragment("member_as_of", PackageResources.member_as_of_sql),
        // Messages of readers
        .fragment("visible_message", PackageResources.visible_message_sql),
        .fragment("parent_of_visible", PackageResources.parent_of_visible_sql),
        // Lists of conversations
        .fragment("marks_of_listing", PackageResources.marks_of_listing_sql),
        .fragment("is_shown_in_list", PackageResources.is_shown_in_list_sql),
        .fragment("conversation_count", PackageResources.conversation_count_sql),
        .fragment("shown_requests", PackageResources.shown_requests_sql),
        .fragment("is_present_member", PackageResources.is_present_member_sql),
        .fragment("shown_at", PackageResources.shown_at_sql),
        .fragment("is_recent", PackageResources.is_recent_sql),
        .fragment("recent_deletions", PackageResources.recent_deletions_sql),
        .fragment("present_stay", PackageResources.present_stay_sql),
        .fragment("member_conversation", PackageResources.member_conversation_sql),
        .fragment("listed_conversation", PackageResources.listed_conversation_sql),
        .fragment("nearby_rows", PackageResources.nearby_rows_sql),
        .fragment("is_visible_nearby", PackageResources.is_visible_nearby_sql),
        .fragment("is_visible_in_range", PackageResources.is_visible_in_range_sql),
        // Changes
        .fragment("feed", PackageResources.feed_sql),
        .fragment("latest_feed", PackageResources.latest_feed_sql),
        .fragment("member_count_of_created", PackageResources.member_count_of_created_sql),
        .fragment("end_before_removal", PackageResources.end_before_removal_sql),
        .fragment("digest_of_lines", PackageResources.digest_of_lines_sql),
        // Receipts
        .fragment("receipt_spans", PackageResources.receipt_spans_sql),
        .fragment("dates_of_runs", PackageResources.dates_of_runs_sql),
        .fragment("time_of_receipt", PackageResources.time_of_receipt_sql),
        .fragment("horizon_as_of", PackageResources.horizon_as_of_sql),
        // Searches and erasures
        .fragment("find_messages", PackageResources.find_messages_sql),
        .fragment("unindexed_texts", PackageResources.unindexed_texts_sql),
        .fragment("may_hold_words", PackageResources.may_hold_words_sql),
        .fragment("holds_words", PackageResources.holds_words_sql),
        .fragment("is_as_of", PackageResources.is_as_of_sql),
        .fragment("unindexed", PackageResources.unindexed_sql),
        .fragment("unindexed_before", PackageResources.unindexed_before_sql),
        .fragment("erasure", PackageResources.erasure_sql),
        // Imports
        .fragment("import_state", PackageResources.import_state_sql),
        .fragment("import_refusals", PackageResources.import_refusals_sql),
        .fragment("is_imported_member", PackageResources.is_imported_member_sql),
        // A lone message
        .fragment("presence_of_sender", PackageResources.presence_of_sender_sql),
        .fragment("was_deleted_early", PackageResources.was_deleted_early_sql),
        .fragment("advance_by_one", PackageResources.advance_by_one_sql),
        .fragment("result_of_one", PackageResources.result_of_one_sql),
        // Writes
        .fragment("prior_outcome", PackageResources.prior_outcome_sql),
        .fragment("standing_of_actor", PackageResources.standing_of_actor_sql),
        .fragment("problems_of_actor", PackageResources.problems_of_actor_sql),
        .fragment("is_in_stay_of_actor", PackageResources.is_in_stay_of_actor_sql),
        .fragment("visible_target", PackageResources.visible_target_sql),
        .fragment("present_tapback", PackageResources.present_tapback_sql),
        .fragment("early_deletion_has_come", PackageResources.early_deletion_has_come_sql),
        .fragment("conversation_written_to", PackageResources.conversation_written_to_sql),
        .fragment("stay_of_user", PackageResources.stay_of_user_sql),
        .fragment("heir", PackageResources.heir_sql),
        .fragment("move", PackageResources.move_sql),
        .fragment("drop_draft", PackageResources.drop_draft_sql),
        .fragment("take_out_member", PackageResources.take_out_member_sql),
        .fragment("keep_outcome", PackageResources.keep_outcome_sql),
        .fragment("show_in_history", PackageResources.show_in_history_sql),
        .fragment("tell_user", PackageResources.tell_user_sql),
        .fragment("asks", PackageResources.asks_sql),
        .fragment("may_ask", PackageResources.may_ask_sql),
        .fragment("is_told_of_request", PackageResources.is_told_of_request_sql),
        .fragment("write_result", PackageResources.write_result_sql),
        // Writes of users about themselves
        .fragment("outcome_of_user", PackageResources.outcome_of_user_sql),
        .fragment("tell_of_change", PackageResources.tell_of_change_sql))
}

extension MessageKind: PostgresEnum {}
extension MemberRole: PostgresEnum {}
extension ConversationKind: PostgresEnum {}
