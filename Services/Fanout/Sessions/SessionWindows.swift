import Models

/// The stays of a session's user in conversations that they see only in part. A change within one of their stays may be
/// about a message that came before it.
///
/// Most users see all of most conversations, so most sessions store nothing here. Entries are kept beyond the end of a
/// stay: a user who rejoins sees again what they saw.
struct SessionWindows {
    private var partial: [ConversationID: Stays] = [:]

    /// Returns whether the user may see the position `seq`, given that they may see something of the conversation now.
    func cover(_ seq: Int64, in conversation: ConversationID) -> Bool {
        guard !partial.isEmpty, let stays = partial[conversation] else { return true }
        return stays.contains(seq)
    }

    /// Returns whether the latest known stay is open, for a conversation that the session takes part in.
    func isMember(of conversation: ConversationID) -> Bool {
        guard !partial.isEmpty, let stays = partial[conversation] else { return true }
        return stays.end == nil
    }

    /// The known stays, in a conversation that the session takes part in.
    func stays(in conversation: ConversationID) -> Stays { partial[conversation] ?? .unlimited }

    /// Sets the known stays in a conversation.
    mutating func set(_ stays: Stays, in conversation: ConversationID) {
        partial[conversation] = stays == .unlimited ? nil : stays
    }

    /// Adds a stay that begins at `seq`. `isMember`: the user is in an earlier stay, whose end is not known yet.
    mutating func open(_ conversation: ConversationID, at seq: Int64, isMember: Bool) {
        guard var stays = partial[conversation] ?? (isMember ? .unlimited : nil) else {
            return set(Stays([.init(from: seq, through: nil)]), in: conversation)
        }
        stays.append(from: seq)
        set(stays, in: conversation)
    }

    /// Ends everything behind `seq`, where no change tells of the end.
    mutating func cut(_ conversation: ConversationID, through seq: Int64) {
        var stays = partial[conversation] ?? .unlimited
        stays.cut(through: seq)
        set(stays, in: conversation)
    }

    /// Ends the current stay with the change at `seq`.
    mutating func close(_ conversation: ConversationID, at seq: Int64) {
        var stays = partial[conversation] ?? .unlimited
        stays.close(at: seq)
        set(stays, in: conversation)
    }
}
