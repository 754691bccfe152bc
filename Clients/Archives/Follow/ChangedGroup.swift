import Models

/// Members and titles of a group that the source shows, and that no row of it told.
struct ChangedGroup {
    private let conversation: FollowedChats.Conversation
    private let known: FollowState.Conversation
    private let me: UserID

    init(_ conversation: FollowedChats.Conversation, _ known: FollowState.Conversation, me: UserID) {
        self.conversation = conversation
        self.known = known
        self.me = me
    }

    var steps: [FollowStep] { [members, title].compactMap(\.self) }

    /// The source lists nobody of a group that one has left long ago.
    private var members: FollowStep? {
        let present = conversation.chat.members.sorted()
        guard !present.isEmpty, present != known.members else { return nil }
        let added = Set(present).subtracting(known.members).sorted()
        let removed = Set(known.members).subtracting(present).sorted()
        let name = "\(known.members.map(\.name))\(present.map(\.name))"
        var note = FollowNote(conversation: conversation.id, members: present)
        for user in added + removed { note.report.note(.inferredMember, 1, user.name) }
        return step(
            added.map { KeyedOperation(.add($0, by: me), "add", name, $0.name) }
                + removed.map { KeyedOperation(.remove($0, by: me), "remove", name, $0.name) }, note)
    }

    private var title: FollowStep? {
        guard let title = conversation.chat.title.flatMap(MessageText.title), title != known.title else { return nil }
        let rename = KeyedOperation(
            .rename(title, by: me), "title", conversation.id.description, known.title ?? "", title)
        return step([rename], FollowNote(conversation: conversation.id, title: title))
    }

    private func step(_ operations: [KeyedOperation], _ note: FollowNote) -> FollowStep {
        FollowStep(place: .chats(conversation.chat.chats), operations: operations, note: note)
    }
}
