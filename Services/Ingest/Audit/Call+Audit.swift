extension Call {
    /// Whether an administrator's call is in the audit log.
    enum Audit {
        case always
        /// What a backend does all day for users: it is where `PARLEY_AUDIT_SENDS` says so.
        case ifSendsAre
        /// It changes nothing.
        case never
    }

    var audit: Audit {
        switch self {
        case .eraseUser, .revokeTokens, .suspend, .liftSuspension, .resolveReport, .putRetention, .importRecords,
            .dropImport,
            .createConversation, .rename, .unlist, .putMember, .removeMember, .clearHistory, .putPermissions,
            .putLifetime, .liftBan, .createInvitation, .revokeInvitation, .join, .declineJoinRequest, .block, .unblock,
            .acceptRequest, .declineRequest, .putProfile, .mute, .unmute, .pin, .unpin, .archive, .unarchive,
            .markUnread, .unmarkUnread, .putDraft, .removeDraft, .putSettings, .putConversationSettings, .createReport,
            .endDevice, .endOtherDevices, .edit, .delete, .setTapback, .removeTapback, .pinMessage, .unpinMessage,
            .vote, .closePoll,
            .cancelScheduled:
            .always
        // They change nothing, and take conversations out of the deployment.
        case .exportConversation, .exportUser: .always
        case .send, .sendBatch, .schedule, .receipts: .ifSendsAre
        case .limits, .document, .listConversations, .conversation, .members, .history, .message, .changes, .digest,
            .bans, .invitations, .invitation, .joinRequests, .sync, .search, .unreadTotal, .blocks, .requests,
            .profiles, .settings, .conversationSettings, .suspension, .reports, .report, .acts, .devices, .revisions,
            .tapbacks, .messageReceipts, .pinnedMessages, .mentions, .scheduled, .votes:
            .never
        }
    }
}
