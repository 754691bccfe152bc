extension Call {
    /// Whether the application is asked before a user's call is carried out, if it wants to be: it brings a text into a
    /// conversation that others read as the user's words.
    var asksApplication: Bool {
        switch self {
        case .send, .sendBatch, .edit, .schedule: true
        // Of administrators, who are not asked about.
        case .eraseUser, .revokeTokens, .suspension, .suspend, .liftSuspension, .reports, .report, .resolveReport,
            .importRecords, .dropImport, .exportConversation, .exportUser, .acts:
            false
        // Titles, names and the like, which are no messages.
        case .createConversation, .rename, .createInvitation, .putProfile, .createReport: false
        // A draft is its writer's alone. A message that is pinned was asked about.
        case .putDraft, .removeDraft, .cancelScheduled, .pinMessage, .unpinMessage, .setTapback, .removeTapback,
            .vote, .closePoll, .delete:
            false
        case .unlist, .putMember, .removeMember, .clearHistory, .putPermissions, .putLifetime, .liftBan,
            .revokeInvitation, .join, .declineJoinRequest, .block, .unblock, .acceptRequest, .declineRequest, .mute,
            .unmute, .pin, .unpin, .archive, .unarchive, .markUnread, .unmarkUnread, .putSettings,
            .putConversationSettings, .endDevice, .endOtherDevices, .receipts:
            false
        case .limits, .document, .listConversations, .conversation, .members, .history, .message, .changes, .digest,
            .bans, .invitations, .invitation, .joinRequests, .sync, .search, .unreadTotal, .blocks, .requests,
            .profiles, .settings, .conversationSettings, .devices, .revisions, .tapbacks, .messageReceipts,
            .pinnedMessages, .mentions, .scheduled, .votes:
            false
        }
    }
}
