import Wire

extension Write {
    /// What a key is kept with, and what a user has for themselves, has the user's slot. (So has the erasure of a user, which these
    /// writes look for in vain. It takes their stays away, and with them the right to write.)
    var isOfOneSlot: Bool {
        guard key == nil else { return false }
        return switch action {
        case .edit, .editSealed, .deleteForEveryone, .setTapback, .removeTapback, .pinMessage, .unpinMessage, .vote,
            .closePoll, .rename, .setPermissions, .setLifetime, .setRetention, .liftBan, .declineJoinRequest,
            .createInvitation, .revokeInvitation, .report, .resolveReport:
            true
        case .hide, .putMember, .removeMember, .clearHistory, .putSettings, .unlist, .mark, .block, .draft, .schedule,
            .cancelScheduled, .acceptRequest, .declineRequest, .join:
            false
        }
    }
}
