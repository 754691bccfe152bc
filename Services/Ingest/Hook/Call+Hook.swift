extension Call {
    /// What the application can be asked about.
    enum Asked {
        /// A text that the call brings into a conversation, where others read it as the user's words.
        case messages
        /// People whom it brings into a conversation, without their doing.
        case members
    }

    /// What the application is asked about before a user's call is carried out, if it wants to be.
    var asksApplication: Asked? {
        switch self {
        case .send, .sendBatch, .edit, .schedule: .messages
        case .createConversation, .putMember: .members
        // Of administrators, who are not asked about.
        case .eraseUser, .revokeTokens, .suspension, .suspend, .liftSuspension, .reports, .report, .resolveReport,
            .putRetention,
            .importRecords, .dropImport, .exportConversation, .exportUser, .acts:
            nil
        // Titles, names and the like, which are no messages.
        case .rename, .createInvitation, .putProfile, .createReport: nil
        // A draft is its writer's alone. A message that is pinned was asked about.
        case .putDraft, .removeDraft, .cancelScheduled, .pinMessage, .unpinMessage, .setTapback, .removeTapback,
            .vote, .closePoll, .delete:
            nil
        // Whoever joins does so themselves.
        case .unlist, .removeMember, .clearHistory, .putPermissions, .putLifetime, .liftBan,
            .revokeInvitation, .join, .declineJoinRequest, .block, .unblock, .acceptRequest, .declineRequest, .mute,
            .unmute, .pin, .unpin, .archive, .unarchive, .markUnread, .unmarkUnread, .putSettings,
            .putConversationSettings, .endDevice, .endOtherDevices, .receipts:
            nil
        case .limits, .document, .listConversations, .conversation, .members, .history, .message, .changes, .digest,
            .bans, .invitations, .invitation, .joinRequests, .sync, .search, .unreadTotal, .blocks, .requests,
            .profiles, .settings, .conversationSettings, .devices, .revisions, .tapbacks, .messageReceipts,
            .pinnedMessages, .mentions, .scheduled, .votes:
            nil
        }
    }
}
