import Models

/// The stays of a session's user in the conversations of which they do not see everything: a change in one of their stays
/// may be about a message that came before it.
///
/// Of most conversations most users see everything, so most sessions keep nothing here. Kept beyond the end of a stay:
/// who comes back sees again what they saw.
struct SessionWindows {
    private var partial: [ConversationID: Stays] = [:]

    /// Whether the user may see what came at `seq`, given that they may see something of the conversation now.
    func cover(_ seq: Int64, in conversation: ConversationID) -> Bool {
        guard !partial.isEmpty, let stays = partial[conversation] else { return true }
        return stays.contains(seq)
    }

    /// Whether the latest stay lasts, as far as is known; of a conversation that the session takes part in.
    func isMember(of conversation: ConversationID) -> Bool {
        guard !partial.isEmpty, let stays = partial[conversation] else { return true }
        return stays.end == nil
    }

    /// Takes in all that is known of the stays in a conversation.
    mutating func set(_ stays: Stays, in conversation: ConversationID) {
        partial[conversation] = stays == .unlimited ? nil : stays
    }

    /// Takes in that a stay begins at `seq`. `isMember`: the user is in an earlier one, whose end is not known yet.
    mutating func open(_ conversation: ConversationID, at seq: Int64, isMember: Bool) {
        guard var stays = partial[conversation] ?? (isMember ? .unlimited : nil) else {
            return set(Stays([.init(from: seq, through: nil)]), in: conversation)
        }
        stays.append(from: seq)
        set(stays, in: conversation)
    }

    /// Takes in that the change at `seq` ended a stay.
    mutating func close(_ conversation: ConversationID, at seq: Int64) {
        var stays = partial[conversation] ?? .unlimited
        stays.close(at: seq)
        set(stays, in: conversation)
    }
}
